/**
 * The body of a request as the original blocks from the socket, read one at a time.
 *
 * The request's own stream joins all data that has arrived into a new block and leaves the socket's
 * blocks to the garbage collector. Here each block has one owner, which may free it (see
 * SpentBlocks).
 */
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Cause, Data, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Readable } from "node:stream"

/** The sender disconnected before the end of the body. */
export class BodyCutShort extends Data.TaggedError("BodyCutShort")<{ readonly cause?: unknown }> {}

type Next = Effect.Effect<readonly [Uint8Array], BodyCutShort | Cause.Done>

const next = (source: Readable): Next =>
  Effect.callback((resume) => {
    if (source.readableEnded) return resume(Cause.done())
    if (source.destroyed) return resume(Effect.fail(new BodyCutShort({})))
    const stop = () => {
      source.pause()
      source.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose)
    }
    const settle = (result: Next) => {
      stop()
      resume(result)
    }
    const onData = (block: Uint8Array) => settle(Effect.succeed([block]))
    const onEnd = () => settle(Cause.done())
    const onError = (cause: unknown) => settle(Effect.fail(new BodyCutShort({ cause })))
    const onClose = () => settle(Effect.fail(new BodyCutShort({})))
    source.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose)
    source.resume()
    return Effect.sync(stop)
  })

/**
 * Reads the body. Fails if the sender disconnects before the end. A request that does not come from
 * Node is read by its own stream.
 */
export const stream = (request: HttpServerRequest.HttpServerRequest): Stream.Stream<Uint8Array, BodyCutShort> => {
  const { source } = request
  if (!(source instanceof Readable)) return Stream.mapError(request.stream, (cause) => new BodyCutShort({ cause }))
  return Stream.fromPull(
    Effect.sync(() => {
      // The request's own stream would send this to a client that waits for `100 Continue`.
      if (request.headers["expect"] !== undefined) NodeHttpServerRequest.toServerResponse(request).writeContinue()
      return next(source)
    })
  )
}
