/**
 * Reads the text of a JSON body within its limits, and lists the issues of one that does not match
 * its schema.
 *
 * No body may stop the event loop for long: `pnpm hostile bodies` measures that, and the attacks
 * `empty-texts` and `empty-documents` try it.
 */
import { Effect, Stream } from "effect"
import { HttpServerError, type HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { Readable } from "node:stream"
import { firstRoom, type Room } from "./BodyMemory.ts"
import * as Issues from "../internal/Issues.ts"
import * as JsonScanner from "./JsonScanner.ts"
import type * as PayloadIssues from "./PayloadIssues.ts"

/** A body up to this length has too few values to need a scan before parsing. */
const maxUnscanned = 4096

/** The defect for a body that exceeds its limit. */
export const tooLarge = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.die(
    new HttpServerError.HttpServerError({
      reason: new HttpServerError.RequestParseError({ request, reason: "BodyTooLarge" })
    })
  )

/** The declared length of the body, or undefined if it is not declared. */
export const lengthOf = ({ headers }: HttpServerRequest.HttpServerRequest): number | undefined => {
  const length = headers["content-length"]
  if (length !== undefined) return Number(length)
  return headers["transfer-encoding"] === undefined ? 0 : undefined
}

/** Passes each chunk of the body to `push`. A body above `maxBytes` is a 413. */
export const forEachChunk = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number,
  push: (chunk: Uint8Array) => Effect.Effect<void, E, R>,
  body: Stream.Stream<Uint8Array, Error> = request.stream
): Effect.Effect<void, E, R> => {
  let received = 0
  return Stream.runForEach(Stream.orDie(body), (chunk) => {
    received += chunk.length
    return received > maxBytes ? tooLarge(request) : push(chunk)
  })
}

const parseError = (request: HttpServerRequest.HttpServerRequest, cause: unknown) =>
  new HttpServerError.HttpServerError({
    reason: new HttpServerError.RequestParseError({ request, reason: "Parse", cause })
  })

/**
 * Reads a body of a stated length at once. Effect's own reader was measured as a twentieth of a
 * request's processor time. A client that waits for `100 Continue` gets it from that reader only.
 */
const readBytes = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Uint8Array, HttpServerError.HttpServerError> => {
  const { headers, source } = request
  if (!(source instanceof Readable) || headers["expect"] !== undefined) {
    return Effect.map(request.arrayBuffer, (bytes) => new Uint8Array(bytes))
  }
  return Effect.callback((resume) => {
    const chunks: Array<Uint8Array> = []
    const keep = (chunk: Uint8Array) => void chunks.push(chunk)
    const end = () => {
      const [first] = chunks
      done(Effect.succeed(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)))
    }
    const fail = (cause: Error) => done(Effect.fail(parseError(request, cause)))
    const stop = () => void source.off("data", keep).off("end", end).off("error", fail).pause()
    const done = (result: Effect.Effect<Uint8Array, HttpServerError.HttpServerError>) => {
      stop()
      resume(result)
    }
    source.on("data", keep).on("end", end).on("error", fail)
    return Effect.sync(stop)
  })
}

const utf8 = new TextDecoder()

/**
 * The text of a JSON body of at most `maxBytes`. A body with more values than its operation accepts
 * is a 400. A body of some length is scanned as it arrives, so that other requests can run in
 * between.
 */
export const readText = (
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number,
  payload: PayloadIssues.JsonPayload,
  room: Room
): Effect.Effect<string, HttpServerError.HttpServerError> => {
  const length = lengthOf(request)
  if (length !== undefined && length <= maxUnscanned) {
    return Effect.map(readBytes(request), (bytes) => utf8.decode(bytes))
  }
  const chunks: Array<Uint8Array> = []
  const scanner = JsonScanner.make({ maxItems: payload.maxItems, keep: (bytes) => void chunks.push(bytes) })
  const scan = (chunk: Uint8Array): Effect.Effect<void> => {
    const issue = scanner.push(chunk)
    return issue === undefined ? Effect.void : Effect.die(Issues.invalid([issue]))
  }
  const text = () => utf8.decode(Buffer.concat(chunks))
  // Without a stream, which takes more of the processor.
  if (length !== undefined && length <= firstRoom) {
    return Effect.catchTag(room.reading(readBytes(request)), "BodyMemoryFull", Effect.die).pipe(
      Effect.flatMap(scan),
      Effect.map(text)
    )
  }
  return forEachChunk(request, maxBytes, scan, room.arriving(request.stream)).pipe(
    Effect.map(text),
    Effect.tap(() => Effect.yieldNow)
  )
}

/** Whether a body did not match its schema. */
export const isPayloadError = <E>(error: E): error is Extract<E, HttpApiError.HttpApiSchemaError> =>
  HttpApiError.HttpApiSchemaError.is(error) && error.kind === "Payload"

/** Adds all other issues of the body to the error of its first one. */
export const withAllIssues = (
  payload: PayloadIssues.JsonPayload,
  error: HttpApiError.HttpApiSchemaError,
  text: string
): HttpApiError.HttpApiSchemaError => {
  const value = parse(text)
  const cause = value === undefined ? undefined : payload.check(value)
  return cause === undefined ? error : new HttpApiError.HttpApiSchemaError({ kind: "Payload", cause })
}

/** Parses a text. Undefined if it is not JSON. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
