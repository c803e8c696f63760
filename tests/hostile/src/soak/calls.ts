/** The calls of the soak, in the mix of a program that uses everything. */
import {
  CurrentKey,
  Files,
  Gateway,
  type GatewayClient,
  Guardrails,
  type Operation,
  Rerank,
  Transcription,
  Video,
  VideoProgress
} from "@model-gateway/core"
import { NodeFile } from "@model-gateway/node"
import { keyRecord } from "@model-gateway/testing/Samples"
import { Effect, Stream } from "effect"
import type { Random } from "../fuzz/random.ts"
import { bytesOf, digestOf } from "./payload.ts"

export type Client = Gateway.Gateway | GatewayClient.GatewayClient

/** One call, and how to check it. */
export interface Call<A, E> {
  readonly name: string
  /** The operation whose errors it may fail with. */
  readonly operation: Operation.Operation
  readonly effect: Effect.Effect<A, E, Client>
  /** Which limit applies to it. */
  readonly limit: "call" | "watch" | "download"
  /** The same call with the idempotency key of its error. */
  readonly repeat?: (idempotencyKey: string) => Effect.Effect<A, E, Client>
  /** The identifier of the charge in the answer. */
  readonly answer?: (value: A) => string | undefined
  readonly problem: (value: A) => string | undefined
}

/** Runs a call and reports it. Undefined: it did not succeed. */
export type Run = <A, E>(id: string, call: Call<A, E>) => Effect.Effect<A | undefined, never, Client>

const unless = (isRight: boolean, problem: string): string | undefined => (isRight ? undefined : problem)

const use = <A, E>(
  run: (gateway: Gateway.Gateway["Service"]) => Effect.Effect<A, E>
): Effect.Effect<A, E, Gateway.Gateway> => Effect.flatMap(Gateway.Gateway, run)

const useBytes = <E>(
  run: (gateway: Gateway.Gateway["Service"]) => Stream.Stream<Uint8Array, E>
): Stream.Stream<Uint8Array, E, Gateway.Gateway> => Stream.unwrap(Effect.map(Gateway.Gateway, run))

const collected = <E, R>(stream: Stream.Stream<Uint8Array, E, R>): Effect.Effect<Uint8Array, E, R> =>
  Effect.map(Stream.runCollect(stream), (chunks) => Buffer.concat(chunks))

/** Mostly small, sometimes large. */
const sizeOf = (random: Random, maxSize: number): number => 1 + Math.floor(maxSize * random.fraction() ** 4)

const rerank = (id: string, random: Random) => {
  const documents: [string, ...Array<string>] = [`document of ${id}`]
  for (let more = random.below(30); more > 0; more--) documents.push(`another document, number ${more}`)
  const request: Rerank.Request = { user: id, model: "soak", query: "which document", documents }
  const call = (options?: { readonly idempotencyKey: string }) => use((gateway) => gateway.rerank(request, options))
  return {
    name: "rerank",
    operation: Rerank.rerankOperation,
    effect: call(),
    repeat: (idempotencyKey: string) => call({ idempotencyKey }),
    limit: "call",
    answer: (response: Rerank.Response) => response.id,
    problem: ({ results }: Rerank.Response) =>
      unless(
        results.length === documents.length && results[0]?.document.text === documents[0],
        "the answer is of another call"
      )
  } satisfies Call<Rerank.Response, Rerank.Failure>
}

const transcription = (
  name: string,
  id: string,
  bytes: Buffer,
  request: Transcription.Input
): Call<Transcription.Response, Transcription.Failure> => {
  const call = (options?: { readonly idempotencyKey: string }) => use((gateway) => gateway.transcribe(request, options))
  return {
    name,
    operation: Transcription.transcribeOperation,
    effect: call(),
    repeat: (idempotencyKey) => call({ idempotencyKey }),
    limit: "call",
    answer: ({ text }) => text.split(" ")[1],
    problem: ({ text }) => {
      const [call, , size, digest] = text.split(" ")
      if (call !== id) return "the answer is of another call"
      return unless(
        digest === digestOf(bytes),
        `the service received ${size} other bytes than the ${bytes.length} sent`
      )
    }
  }
}

const transcribeBase64 = (id: string, random: Random) => {
  const bytes = bytesOf(id, sizeOf(random, 1_000_000))
  const input_audio = { data: bytes.toString("base64"), format: "wav" } as const
  return transcription("transcription (base64)", id, bytes, { user: id, model: "soak", input_audio })
}

const transcribeFile = (id: string, random: Random) => {
  const bytes = bytesOf(id, sizeOf(random, 4_000_000))
  const file = random.chance(0.5) ? bytes : new Blob([bytes])
  return transcription("transcription (file)", id, bytes, { user: id, model: "soak", file, filename: `${id}.wav` })
}

const transcribeFromDisk = (id: string, { blob, bytes }: OnDisk) =>
  transcription("transcription (disk)", id, bytes, { user: id, model: "soak", file: blob, filename: `${id}.wav` })

/** A file on disk and its content. */
export interface OnDisk {
  readonly blob: Blob
  readonly bytes: Buffer
}

export const onDisk = (path: string, bytes: Buffer): Effect.Effect<OnDisk> =>
  NodeFile.fromPath(path).pipe(
    Effect.map(({ blob }) => ({ blob, bytes })),
    Effect.orDie
  )

const currentKey: Call<CurrentKey.KeyRecord, CurrentKey.Failure> = {
  name: "key information",
  operation: CurrentKey.currentKeyOperation,
  effect: use((gateway) => gateway.currentKey),
  limit: "call",
  problem: ({ usage }) => unless(usage === keyRecord.usage, "the record is another")
}

const assignKeys = (random: Random): Call<Guardrails.AssignResponse, Guardrails.Failure> => {
  const key_hashes: [string, ...Array<string>] = ["0".repeat(64)]
  for (let more = random.below(50); more > 0; more--) key_hashes.push("1".repeat(64))
  return {
    name: "guardrail assignment",
    operation: Guardrails.assignKeysOperation,
    effect: use((gateway) => gateway.assignKeys("2f3c1f5e-1111-4222-8333-444455556666", { key_hashes })),
    limit: "call",
    problem: ({ assigned_count }) => unless(assigned_count === key_hashes.length, "the answer is of another call")
  }
}

const video = Effect.fnUntraced(function* (id: string, run: Run) {
  const request: Video.Request = { user: id, model: "soak", prompt: "dawn" }
  const submit = (options?: { readonly idempotencyKey: string }) =>
    use((gateway) => gateway.submitVideo(request, options))
  const job = yield* run<Video.Job, Video.SubmitFailure>(id, {
    name: "video submission",
    operation: Video.submitVideoOperation,
    effect: submit(),
    repeat: (idempotencyKey) => submit({ idempotencyKey }),
    limit: "call",
    answer: (job) => job.id.split("_")[1],
    problem: (job) => unless(job.id.startsWith(`${id}_`), "the answer is of another call")
  })
  if (job === undefined) return
  const final = yield* run<Video.Job | undefined, Video.Failure>(`${id}w`, {
    name: "video watch",
    operation: Video.getVideoOperation,
    effect: VideoProgress.watch(job.id).pipe(
      Stream.runFold(
        () => job,
        (_, next) => next
      )
    ),
    limit: "watch",
    problem: (last) => unless(last?.id === job.id && Video.isFinal(last.status), "the watch ended before the job")
  })
  if (final?.status !== "completed") return
  yield* run<Uint8Array, Video.Failure>(`${id}c`, {
    name: "video download",
    operation: Video.videoContentOperation,
    effect: collected(useBytes((gateway) => gateway.videoContent(job.id))),
    limit: "download",
    problem: (bytes) => sameBytes(bytes, bytesOf(job.id, bytes.length))
  })
})

const sameBytes = (actual: Uint8Array, expected: Buffer): string | undefined =>
  unless(expected.equals(actual), `the download has ${actual.length} wrong bytes instead of ${expected.length}`)

const files = Effect.fnUntraced(function* (id: string, random: Random, run: Run) {
  const bytes = bytesOf(id, sizeOf(random, 3_000_000))
  const upload = (options?: { readonly idempotencyKey: string }) =>
    use((gateway) => gateway.uploadFile({ file: bytes, filename: `${id}.bin`, purpose: id }, options))
  const file = yield* run<Files.File, Files.UploadFailure>(id, {
    name: "file upload",
    operation: Files.uploadFileOperation,
    effect: upload(),
    repeat: (idempotencyKey) => upload({ idempotencyKey }),
    limit: "call",
    answer: (file) => file.id,
    problem: (file) => unless(file.purpose === id && file.size_bytes === bytes.length, "the answer is of another call")
  })
  if (file === undefined) return
  yield* run<Uint8Array, Files.Failure>(`${id}c`, {
    name: "file download",
    operation: Files.fileContentOperation,
    effect: collected(useBytes((gateway) => gateway.fileContent(file.id))),
    limit: "download",
    problem: (actual) => sameBytes(actual, bytes)
  })
  yield* run<Files.Deletion, Files.DeleteFailure>(`${id}d`, {
    name: "file deletion",
    operation: Files.deleteFileOperation,
    effect: use((gateway) => gateway.deleteFile(file.id)),
    limit: "call",
    problem: (deletion) => unless(deletion.id === file.id, "the answer is of another call")
  })
})

/** Makes one call, or the calls of one video or file. */
export const next = (id: string, random: Random, disk: OnDisk, run: Run): Effect.Effect<unknown, never, Client> => {
  const share = random.below(100)
  if (share < 35) return run(id, rerank(id, random))
  if (share < 45) return run(id, transcribeFile(id, random))
  if (share < 48) return run(id, transcribeFromDisk(id, disk))
  if (share < 56) return run(id, transcribeBase64(id, random))
  if (share < 66) return video(id, run)
  if (share < 76) return files(id, random, run)
  if (share < 90) return run(id, currentKey)
  return run(id, assignKeys(random))
}
