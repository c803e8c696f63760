/** A real S3-compatible server for the tests of one file, and the store over it. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Option, Result, Stream } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { randomUUID } from "node:crypto"
import { vi } from "vitest"
import {
  credentials,
  type S3Credentials,
  type S3Faults,
  type S3Server,
  startFaults,
  startS3
} from "@model-gateway/test-services/S3"
import * as ObjectStoreUrl from "../../src/storage/s3/ObjectStoreUrl.ts"
import * as S3ObjectStore from "../../src/objects/S3ObjectStore.ts"
import * as UploadFolder from "../../src/objects/UploadFolder.ts"
import * as S3Client from "../../src/storage/s3/S3Client.ts"

/** The smallest part that S3 allows. */
export const partSize = 5 * 1024 * 1024

/** The place that a URL names. */
export const locationOf = (url: string): ObjectStoreUrl.S3Location => Result.getOrThrow(ObjectStoreUrl.parse(url))

/** The client reads its credentials from the environment of the process. */
export const useCredentials = (of: S3Credentials): void => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", of.AWS_ACCESS_KEY_ID)
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", of.AWS_SECRET_ACCESS_KEY)
}

/** A server, and a proxy in front of it that fails on demand. */
export interface TestS3 {
  readonly server: S3Server
  readonly faults: S3Faults
  readonly stop: () => Promise<void>
}

/** Starts both. */
export const start = async (): Promise<TestS3> => {
  useCredentials(credentials)
  // No other source of credentials than the variables.
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true")
  const server = await startS3()
  const faults = await startFaults(server.origin)
  return {
    server,
    faults,
    stop: async () => {
      vi.unstubAllEnvs()
      await faults.stop()
      await server.stop()
    }
  }
}

/** A prefix that no other test uses. */
export const ownPrefix = (): string => randomUUID()

/** The store at the URL, whose parts in progress are in `folder`. */
export const storeAt = (url: string, folder: string, options?: S3ObjectStore.Options) =>
  S3ObjectStore.layer(locationOf(url), { partSize, ...options }).pipe(
    Layer.provide(UploadFolder.layer(folder)),
    Layer.provide([NodeServices.layer, layerWebCrypto]),
    Layer.fresh
  )

/**
 * The keys of the objects and of the incomplete uploads at the URL, without the mark of a database.
 */
export const keptAt = Effect.fnUntraced(function* (url: string) {
  const bucket = yield* S3Client.make(locationOf(url))
  const objects = yield* Stream.runCollect(
    Stream.filter(bucket.listObjects(""), ({ key }) => !key.startsWith("owner/"))
  )
  const uploads = yield* Stream.runCollect(bucket.listUploads)
  return [...objects.map(({ key }) => key), ...uploads.map(({ key }) => `${key} (incomplete)`)]
}, Effect.scoped)

/** Bytes that repeat only after 251, so that shifted ones differ. */
export const pattern = (length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i++) bytes[i] = i % 251
  return bytes
}

/** The bytes in chunks, as a network delivers them. */
export const chunked = (bytes: Uint8Array, size = 65_536): Stream.Stream<Uint8Array> =>
  Stream.paginate(0, (offset) => {
    const end = Math.min(offset + size, bytes.length)
    return Effect.succeed([
      [bytes.subarray(offset, end)],
      end < bytes.length ? Option.some(end) : Option.none()
    ] as const)
  })
