/**
 * The calls on one bucket that the service makes, over the client of AWS.
 *
 * The client signs, finds credentials (variables, files, container and instance roles) and renews
 * them, and repeats a call after a 500, a 503 or a lost connection, at most twice, with a growing
 * delay. It is imported when it is used, because that takes 0.1 s.
 */
import type { S3ClientConfig } from "@aws-sdk/client-s3"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Duration, Effect, Option, Stream } from "effect"
import { Readable } from "node:stream"
import type { S3Location } from "./ObjectStoreUrl.ts"
import { fromUnknown, type S3Error } from "./S3Error.ts"

/** Time limits, and the size of a page. */
export interface Options {
  /** For opening a connection. Default: 5 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
  /**
   * For one attempt of a call, from its start to the headers of the response, including a body of a
   * few MiB. Default: 1 minute.
   */
  readonly callTimeout?: Duration.Input | undefined
  /** For the next bytes of an object that is read. Default: 30 seconds. */
  readonly silenceTimeout?: Duration.Input | undefined
  /** How many objects or uploads one request lists. Default: 1000. */
  readonly pageSize?: number | undefined
}

/** An object. */
export interface Head {
  readonly bytes: number
  readonly etag: string
}

/** A listed object, or an upload that is not complete. */
export interface Listed {
  readonly key: string
  /** How long ago it was begun, by the clock of the store. */
  readonly age: Duration.Duration
}

/** An upload in parts that is not complete. */
export interface Upload extends Listed {
  readonly uploadId: string
}

/** A part that was stored. */
export interface Part {
  readonly PartNumber: number
  readonly ETag: string | undefined
}

const noAnswer = { name: "TimeoutError" }

/** For calls whose response has headers first and its end much later. */
const wholeCall = Duration.minutes(5)

/**
 * Makes the calls. Keys do not include the prefix of the location: it is added here. Closing the
 * scope closes the connections.
 */
export const make = Effect.fnUntraced(function* (location: S3Location, options?: Options) {
  const sdk = yield* Effect.promise(() => import("@aws-sdk/client-s3"))
  const millis = (input: Duration.Input) => Duration.toMillis(Duration.fromInputUnsafe(input))
  const { bucket: Bucket, prefix } = location
  const pageSize = options?.pageSize ?? 1000
  const silence = Duration.fromInputUnsafe(options?.silenceTimeout ?? "30 seconds")

  const config: S3ClientConfig = {
    ...(location.region === undefined ? {} : { region: location.region }),
    ...(location.endpoint === undefined ? {} : { endpoint: location.endpoint }),
    forcePathStyle: location.pathStyle,
    maxAttempts: 3,
    // Many services other than AWS do not know the checksums that the client adds. Each body is
    // covered by the signature.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: millis(options?.connectTimeout ?? "5 seconds"),
      requestTimeout: millis(options?.callTimeout ?? "1 minute"),
      throwOnRequestTimeout: true,
      // A caller who reads slowly must not take a connection away from the others.
      httpAgent: { maxSockets: Number.POSITIVE_INFINITY },
      httpsAgent: { maxSockets: Number.POSITIVE_INFINITY }
    }
  }
  const makeClient = (config: S3ClientConfig) =>
    Effect.acquireRelease(
      Effect.sync(() => new sdk.S3Client(config)),
      (client) => Effect.sync(() => client.destroy())
    )
  const client = yield* makeClient(config)
  // For a check that is repeated soon.
  const withoutRetries = yield* makeClient({ ...config, maxAttempts: 1 })

  const call = <A>(send: (options: { readonly abortSignal: AbortSignal }) => Promise<A>): Effect.Effect<A, S3Error> =>
    Effect.tryPromise({ try: (abortSignal) => send({ abortSignal }), catch: fromUnknown }).pipe(
      Effect.timeoutOrElse({
        duration: wholeCall,
        orElse: () => Effect.fail(fromUnknown(noAnswer))
      })
    )

  const at = (key: string) => ({ Bucket, Key: prefix + key })

  /** By the store's clock, which the client compares with the system's at each response. */
  const ageOf = (time: Date | undefined): Effect.Effect<Duration.Duration> =>
    Effect.map(
      Effect.clockWith((clock) => clock.currentTimeMillis),
      (now) => Duration.millis(Math.max(0, now + client.config.systemClockOffset - (time?.getTime() ?? now)))
    )

  const relative = (key: string | undefined): string => (key ?? "").slice(prefix.length)

  const listObjects = (keyPrefix: string): Stream.Stream<Listed, S3Error> =>
    Stream.paginate(
      undefined,
      Effect.fnUntraced(function* (token: string | undefined) {
        const page = yield* call((options) =>
          client.send(
            new sdk.ListObjectsV2Command({
              Bucket,
              Prefix: prefix + keyPrefix,
              MaxKeys: pageSize,
              ...(token === undefined ? {} : { ContinuationToken: token })
            }),
            options
          )
        )
        const listed = yield* Effect.forEach(page.Contents ?? [], ({ Key, LastModified }) =>
          Effect.map(ageOf(LastModified), (age): Listed => ({ key: relative(Key), age }))
        )
        return [listed, page.IsTruncated === true ? Option.fromUndefinedOr(page.NextContinuationToken) : Option.none()]
      })
    )

  const listUploads: Stream.Stream<Upload, S3Error> = Stream.paginate(
    { key: undefined, id: undefined },
    Effect.fnUntraced(function* (after: { readonly key: string | undefined; readonly id: string | undefined }) {
      const page = yield* call((options) =>
        client.send(
          new sdk.ListMultipartUploadsCommand({
            Bucket,
            Prefix: prefix,
            MaxUploads: pageSize,
            ...(after.key === undefined ? {} : { KeyMarker: after.key }),
            ...(after.id === undefined ? {} : { UploadIdMarker: after.id })
          }),
          options
        )
      )
      const listed = yield* Effect.forEach(page.Uploads ?? [], ({ Initiated, Key, UploadId = "" }) =>
        Effect.map(ageOf(Initiated), (age): Upload => ({ key: relative(Key), age, uploadId: UploadId }))
      )
      const next = { key: page.NextKeyMarker, id: page.NextUploadIdMarker }
      return [listed, page.IsTruncated === true ? Option.some(next) : Option.none()]
    })
  )

  return {
    /** Whether the bucket can be used now. Says why not, after one attempt. */
    check: Effect.asVoid(
      call((options) =>
        withoutRetries.send(new sdk.ListObjectsV2Command({ Bucket, Prefix: prefix, MaxKeys: 1 }), options)
      )
    ),

    put: (key: string, Body: Uint8Array): Effect.Effect<void, S3Error> =>
      Effect.asVoid(call((options) => client.send(new sdk.PutObjectCommand({ ...at(key), Body }), options))),

    beginUpload: (key: string): Effect.Effect<string, S3Error> =>
      call((options) => client.send(new sdk.CreateMultipartUploadCommand(at(key)), options)).pipe(
        Effect.map(({ UploadId = "" }) => UploadId)
      ),

    putPart: (key: string, UploadId: string, PartNumber: number, Body: Uint8Array): Effect.Effect<Part, S3Error> =>
      call((options) =>
        client.send(new sdk.UploadPartCommand({ ...at(key), UploadId, PartNumber, Body }), options)
      ).pipe(Effect.map(({ ETag }) => ({ PartNumber, ETag }))),

    completeUpload: (key: string, UploadId: string, parts: ReadonlyArray<Part>): Effect.Effect<void, S3Error> =>
      Effect.asVoid(
        call((options) =>
          client.send(
            new sdk.CompleteMultipartUploadCommand({ ...at(key), UploadId, MultipartUpload: { Parts: [...parts] } }),
            options
          )
        )
      ),

    /** Removes the parts. Also succeeds if there is no such upload. */
    abortUpload: (key: string, UploadId: string): Effect.Effect<void, S3Error> =>
      call((options) => client.send(new sdk.AbortMultipartUploadCommand({ ...at(key), UploadId }), options)).pipe(
        Effect.asVoid,
        Effect.catchIf(
          ({ reason }) => reason === "missing",
          () => Effect.void
        )
      ),

    head: (key: string): Effect.Effect<Head, S3Error> =>
      call((options) => client.send(new sdk.HeadObjectCommand(at(key)), options)).pipe(
        Effect.map(({ ContentLength = 0, ETag = "" }) => ({ bytes: ContentLength, etag: ETag }))
      ),

    /**
     * The bytes from offset `start` up to and without `end`, of the object with this tag. Fails if
     * the connection ends before the last byte.
     */
    read: (
      key: string,
      { end, etag, start }: { readonly start: number; readonly end: number; readonly etag: string }
    ): Stream.Stream<Uint8Array, S3Error> =>
      Stream.unwrap(
        Effect.map(
          call((options) =>
            client.send(
              new sdk.GetObjectCommand({ ...at(key), Range: `bytes=${start}-${end - 1}`, IfMatch: etag }),
              options
            )
          ),
          ({ Body }) =>
            Body instanceof Readable
              ? NodeStream.fromReadable({ evaluate: () => Body, onError: fromUnknown }).pipe(
                  Stream.timeoutOrElse({ duration: silence, orElse: () => Stream.fail(fromUnknown(noAnswer)) })
                )
              : Stream.fail(fromUnknown(noAnswer))
        )
      ),

    /** Also succeeds if there is no such object. */
    remove: (key: string): Effect.Effect<void, S3Error> =>
      call((options) => client.send(new sdk.DeleteObjectCommand(at(key)), options)).pipe(
        Effect.asVoid,
        Effect.catchIf(
          ({ reason }) => reason === "missing",
          () => Effect.void
        )
      ),

    listObjects,
    listUploads
  }
})

/** The calls on one bucket. */
export interface Bucket extends Effect.Success<ReturnType<typeof make>> {}
