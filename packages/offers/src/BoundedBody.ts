/**
 * Reads the text of a JSON answer within its bounds, before it is parsed.
 *
 * @since 0.1.0
 */
import { Data, Effect, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import * as JsonScanner from "./JsonScanner.ts"
import type { Lease } from "./ResponseMemory.ts"

/**
 * What an answer may contain at most.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bounds extends JsonScanner.Limits {
  readonly bytes: number
}

/**
 * An answer contains more. `message` says of what.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutOfBounds extends Data.TaggedError("OutOfBounds")<{ readonly message: string }> {}

const mebibyte = 1024 * 1024

/**
 * The bounds of answers of which no more is known.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaults: Bounds = { bytes: 4 * mebibyte, depth: 64, entries: 1000, values: 20_000 }

/** An answer up to this length has too few values to need a scan before parsing. */
const maxUnscanned = 4096

/**
 * An answer up to this length needs neither memory of the budget nor a turn: as many of them as
 * requests are in flight can be parsed at once.
 */
const maxSmall = 16 * 1024

const tooLong = ({ bytes }: Bounds) => new OutOfBounds({ message: `more than ${bytes} bytes` })

/**
 * Closes the connection of a response whose body is not needed: ending a read closes it.
 *
 * @category running
 * @since 0.1.0
 */
export const discard = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<void> =>
  Stream.runDrain(Stream.take(response.stream, 1)).pipe(Effect.timeoutOption(0), Effect.ignore)

/** The length that a response states. Undefined for one that is encoded, or states none. */
const lengthOf = ({ headers }: HttpClientResponse.HttpClientResponse): number | undefined => {
  const length = headers["content-length"]
  const isPlain = headers["content-encoding"] === undefined
  return isPlain && length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined
}

const issueOf = (bounds: Bounds): ((chunk: Uint8Array) => OutOfBounds | undefined) => {
  const scanner = JsonScanner.make({ limits: bounds, keep: () => {} })
  return (chunk) => {
    const issue = scanner.push(chunk)
    return issue === undefined ? undefined : new OutOfBounds({ message: issue.message })
  }
}

/**
 * The text of an answer. One that exceeds its bounds fails as soon as they are passed, and its
 * connection is closed. For a longer one the lease acquires memory and the turn to parse it.
 *
 * @category running
 * @since 0.1.0
 */
export const readText = (
  response: HttpClientResponse.HttpClientResponse,
  bounds: Bounds,
  { acquire, turn }: Lease
): Effect.Effect<string, HttpClientError.HttpClientError | OutOfBounds> => {
  const length = lengthOf(response)
  if (length !== undefined && length > bounds.bytes) {
    return Effect.andThen(discard(response), Effect.fail(tooLong(bounds)))
  }
  if (length === 0) return Effect.succeed("")
  // Without a stream, which takes more of the processor.
  if (length !== undefined && length <= maxSmall) {
    return Effect.flatMap(response.text, (text) => {
      const issue = text.length <= maxUnscanned ? undefined : issueOf(bounds)(Buffer.from(text))
      return issue === undefined ? Effect.succeed(text) : Effect.fail(issue)
    })
  }
  return Effect.suspend(() => {
    const check = issueOf(bounds)
    const chunks: Array<Uint8Array> = []
    let size = 0
    let isAcquired = false
    const take = (chunk: Uint8Array): Effect.Effect<void, OutOfBounds> => {
      size += chunk.length
      const issue = size > bounds.bytes ? tooLong(bounds) : check(chunk)
      if (issue !== undefined) return Effect.fail(issue)
      chunks.push(chunk)
      if (isAcquired || size <= maxSmall) return Effect.void
      isAcquired = true
      // All that it may become at once: answers that wait for more, each with a part, would wait
      // for each other.
      return acquire(length ?? bounds.bytes)
    }
    const text = () => new TextDecoder().decode(Buffer.concat(chunks))
    return Stream.runForEach(response.stream, take).pipe(
      Effect.catchIf(
        (error) => error._tag === "HttpClientError" && error.reason._tag === "EmptyBodyError",
        () => Effect.void
      ),
      Effect.andThen(Effect.suspend(() => (isAcquired ? Effect.map(turn, text) : Effect.sync(text))))
    )
  })
}
