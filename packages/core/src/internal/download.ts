/** Streams the bytes of a response, and continues with another request after an interruption. */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpClientError } from "effect/http/HttpClientError"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ClientError, TimeoutError, TransportError } from "../ClientError.ts"
import { GatewayClient, type RangeOptions, type Request } from "../GatewayClient.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import * as ByteRange from "./byteRange.ts"
import { makeNextDelay } from "./delays.ts"
import { invalid } from "./response.ts"
import type { Opened, Source } from "./source.ts"

/**
 * Sends a request and streams the bytes of the response.
 *
 * The body as a whole has no time limit. If the connection fails, if the body ends early, or if no
 * byte arrives for the policy's `stallTimeout` while the stream is read, the rest is requested with
 * `Range` and `If-Range`. That needs a strong entity tag: the bytes of two contents are never
 * mixed. Requests that bring no new byte count as retries of the policy.
 */
export const download = <E extends Operation>(
  operation: E,
  request: Request,
  range: RangeOptions["range"]
): Stream.Stream<Uint8Array, ErrorOf<E> | ClientError, GatewayClient> =>
  Stream.unwrap(
    Effect.flatMap(GatewayClient, (client) => client.open(operation, request, (source) => read(source, request, range)))
  )

type Bytes = Arr.NonEmptyReadonlyArray<Uint8Array>

/** The body of a response. */
interface Body extends Opened {
  readonly part: ByteRange.Part
  /** The position of its first byte. */
  readonly start: number
  readonly pull: Pull.Pull<Bytes, HttpClientError>
  /** Closes the connection, if bytes are left on it. */
  readonly close: Effect.Effect<void>
}

const read = Effect.fnUntraced(function* <E>(
  { onRetry, policy, send }: Source<E>,
  request: Request,
  range: RangeOptions["range"]
): Effect.fn.Return<Stream.Stream<Uint8Array, E | ClientError>, E> {
  const stall = Duration.toMillis(policy.stallTimeout)
  const wanted = ByteRange.header(range)
  const headersOf = (range: string | undefined, etag?: string): Request["headers"] => ({
    ...request.headers,
    // Positions are those of the stored bytes, not of compressed ones.
    "accept-encoding": "identity",
    range,
    "if-range": etag
  })

  let attempts = 0
  let retries = policy.maxRetries
  let nextDelay = makeNextDelay(policy)

  // The reader of the stream requests the rest. Its requests have the context of the call.
  const context = yield* Effect.context<never>()
  const open = (headers: Request["headers"]) =>
    Effect.map(Effect.provideContext(send({ ...request, headers }, attempts, retries), context), (next) => {
      retries -= next.call.attempts - attempts - 1
      attempts = next.call.attempts
      return next
    })

  let opened: Opened | undefined = yield* open(headersOf(wanted))

  /** The part that the first byte came from. Undefined: no byte has been returned. */
  let first: ByteRange.Part | undefined
  /** The position of the next byte. */
  let position = 0
  let body: Body | undefined

  const connect = (scope: Scope.Scope) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        if (opened === undefined) {
          const last = first?.isWhole === false ? (range?.end ?? "") : ""
          opened = yield* restore(
            open(first === undefined ? headersOf(wanted) : headersOf(`bytes=${position}-${last}`, first.etag))
          )
        }
        const { call, response } = opened
        opened = undefined
        const bodyScope = yield* Scope.fork(scope)
        const pull = yield* Scope.provide(Stream.toPull(response.stream), bodyScope)
        const part = ByteRange.partOf(response)
        const isExpected =
          part !== undefined &&
          (first === undefined ? ByteRange.isWithin(part, range) : ByteRange.continues(part, first, position))
        if (!isExpected) {
          yield* Scope.close(bodyScope, Exit.void)
          const problem =
            first !== undefined && part?.isWhole === true
              ? "the whole content instead of its rest, because it has changed. Start the download again"
              : "another range of bytes than was requested"
          return yield* Effect.flatMap(invalid(response, problem).error(call), Effect.fail)
        }
        if (first === undefined) position = part.start
        return { call, response, part, start: position, pull, close: Scope.close(bodyScope, Exit.void) } satisfies Body
      })
    )

  const pull = (scope: Scope.Scope) =>
    Effect.gen(function* () {
      for (;;) {
        body ??= yield* connect(scope)
        const { call, close, part, response, start } = body
        const result = yield* Effect.timeoutOrElse(body.pull, {
          duration: stall,
          orElse: () => Effect.fail(new TimeoutError({ ...call, limit: "stall", milliseconds: stall }))
        }).pipe(Effect.result)
        if (Result.isSuccess(result)) {
          for (const { length } of result.success) position += length
          if (position > (part.end ?? position)) {
            const problem = "more bytes than its headers say"
            return yield* Effect.flatMap(invalid(response, problem).error(call), Effect.fail)
          }
          first ??= part
          return result.success
        }
        const failure = result.failure
        const isEnd = !(failure instanceof TimeoutError) && (Cause.isDone(failure) || isEmpty(failure))
        const end = ByteRange.endOf(first ?? part, part, range)
        if (position === end || (isEnd && end === undefined)) return yield* Cause.done()

        body = undefined
        yield* close
        if (position > start) {
          retries = policy.maxRetries
          nextDelay = makeNextDelay(policy)
        }
        const isStalled = failure instanceof TimeoutError
        const error = isStalled
          ? failure
          : new TransportError({
              ...call,
              reason: "connection",
              underlying: isEnd
                ? new Error(`the response ended after ${position - start} bytes, before its end`)
                : failure.reason.cause
            })
        const reason = isStalled ? "timeout" : "transport"
        const canContinue = retries > 0 && (first === undefined || first.etag !== undefined)
        const wait = canContinue ? yield* nextDelay(reason, undefined) : undefined
        if (wait === undefined) return yield* Effect.fail(error)
        retries--
        yield* onRetry({ reason, wait, attempt: attempts })
        yield* Effect.sleep(wait)
      }
    })

  return Stream.fromChannel(Channel.fromTransform((_, scope: Scope.Scope) => Effect.sync(() => pull(scope))))
})

/** The platform has no body for a response without bytes. */
const isEmpty = ({ reason }: HttpClientError): boolean => reason._tag === "EmptyBodyError"
