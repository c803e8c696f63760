/**
 * Reads a `multipart/form-data` body part by part, and rejects one that is malformed or too large.
 *
 * All errors are `MultipartError`s, which `Failures` maps to a 400 or a 413.
 */
import { ByteSize, Effect, type FileSystem, type Path, type Scope, Stream } from "effect"
import { type HttpServerRequest, Multipart } from "effect/http"

/** The number of files and fields. The parser accepts at most 16 KiB of headers per part. */
export const maxParts = 64

/** Limit for fields with JSON. */
const maxJsonFieldBytes = 1024 * 1024

/** Limit for every other field. */
const maxFieldBytes = 64 * 1024

const jsonFields = new Set(["provider", "trace"])

const malformed = (cause: unknown) => Multipart.MultipartError.fromReason("Parse", cause)

const withinBounds = (part: Multipart.Part): Effect.Effect<void, Multipart.MultipartError> =>
  part._tag === "File" || jsonFields.has(part.key) || Buffer.byteLength(part.value) <= maxFieldBytes
    ? Effect.void
    : Effect.fail(Multipart.MultipartError.fromReason("FieldTooLarge"))

/**
 * The parts of a form, from its headers and body. Read a file's content before taking the next
 * part, because it would otherwise accumulate in memory.
 */
export const parse =
  (headers: HttpServerRequest.HttpServerRequest["headers"]) =>
  <E>(body: Stream.Stream<Uint8Array, E>): Stream.Stream<Multipart.Part, Multipart.MultipartError> =>
    body.pipe(
      Stream.mapError(malformed),
      Stream.pipeThroughChannel(Multipart.makeChannel(headers)),
      // Effect 4.1.0's parser throws a TypeError if a boundary directly follows the headers of the
      // first part.
      Stream.catchDefect((cause) => Stream.fail(malformed({ _tag: "UnfinishedHeaders", cause }))),
      Stream.tap(withinBounds),
      Stream.provideService(Multipart.MaxParts, maxParts),
      Stream.provideService(Multipart.MaxFieldSize, ByteSize.bytes(maxJsonFieldBytes))
    )

/**
 * Browsers send a file without a name for an empty file input. Reads that file, so that the next
 * part arrives.
 */
const isNamed = (part: Multipart.Part): Effect.Effect<boolean, Multipart.MultipartError> =>
  part._tag === "File" && part.name === "" ? Effect.as(Stream.runDrain(part.content), false) : Effect.succeed(true)

/**
 * The whole form. Its files are temporary files that are removed with the scope. Files without a
 * name are left out.
 */
export const persist = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Multipart.Persisted, Multipart.MultipartError, FileSystem.FileSystem | Path.Path | Scope.Scope> =>
  request.stream.pipe(parse(request.headers), Stream.filterEffect(isNamed), Multipart.toPersisted)
