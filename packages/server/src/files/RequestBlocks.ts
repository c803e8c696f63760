/**
 * The body of a request in the very blocks that came from the socket, one at a time as they are asked for.
 *
 * The request's own stream joins whatever has come in since it was last read into a new block, so that the blocks of the socket are left to the garbage collector; here
 * each passes through one pair of hands, which may free it (see SpentBlocks).
 */
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Cause, Data, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Readable } from "node:stream"

/** The sender went away before the body's end. */
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

/** Reads the body. Fails when the sender goes away before its end. A request that is not Node's is read as it reads itself. */
export const stream = (request: HttpServerRequest.HttpServerRequest): Stream.Stream<Uint8Array, BodyCutShort> => {
  const { source } = request
  if (!(source instanceof Readable)) return Stream.mapError(request.stream, (cause) => new BodyCutShort({ cause }))
  return Stream.fromPull(
    Effect.sync(() => {
      // What the request's own stream would say to a client that waits for leave to send.
      if (request.headers["expect"] !== undefined) NodeHttpServerRequest.toServerResponse(request).writeContinue()
      return next(source)
    })
  )
}
