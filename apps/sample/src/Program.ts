/**
 * The sample program: six operations, one after another.
 *
 * It depends on neither a platform nor a gateway's address. The terminal, the web page and the
 * tests each provide a `Gateway`, a `ManagementGateway` and a `VideoStore`, and present the events
 * in their own way.
 */
import {
  type CurrentKey,
  type Files,
  Gateway,
  type Guardrails,
  IdempotencyKeySource,
  type Keys,
  type Rerank,
  type Transcription,
  type Video,
  VideoProgress
} from "@model-gateway/core"
import { Context, Data, DateTime, Effect, Option, Stream } from "effect"
import type { Inputs } from "./Inputs.ts"

/**
 * The client with a management key. A management key cannot spend, so the paid operations use
 * another client with an ordinary key.
 */
export class ManagementGateway extends Context.Service<ManagementGateway, Gateway.Gateway["Service"]>()(
  "@model-gateway/sample/Program/ManagementGateway"
) {}

/** Saves finished videos: to a file, to a link in the page, or to memory in tests. */
export class VideoStore extends Context.Service<
  VideoStore,
  {
    /** Saves the bytes as they arrive. Deletes the partial file if the download fails. */
    readonly save: <E>(bytes: Stream.Stream<Uint8Array, E>) => Effect.Effect<SavedVideo, E | VideoNotSaved>
  }
>()("@model-gateway/sample/Program/VideoStore") {}

/** A video that was saved. */
export interface SavedVideo {
  /** A path or a URL. */
  readonly location: string
  /** The size. */
  readonly bytes: number
}

/** The video is finished but could not be saved. */
export class VideoNotSaved extends Data.TaggedError("VideoNotSaved")<{
  readonly location: string
  readonly cause: unknown
}> {}

/** A file that was uploaded and deleted. */
export interface StoredFile {
  readonly file: Files.File
  readonly deletion: Files.Deletion
}

/** Step 1: uploads a file and deletes it again. */
export const storeFile = Effect.fn("Sample.storeFile")(function* (upload: Files.Upload) {
  const gateway = yield* Gateway.Gateway
  const file = yield* gateway.uploadFile(upload)
  const deletion = yield* gateway.deleteFile(file.id)
  return { file, deletion }
})

/** Step 2: reads the limits and the usage of the key. */
export const readKey = Effect.fn("Sample.readKey")(function* () {
  const gateway = yield* Gateway.Gateway
  return yield* gateway.currentKey
})

/** A ranking and its query. */
export interface Ranking {
  readonly query: string
  readonly response: Rerank.Response
}

/** Step 3: ranks documents by their relevance to a query. */
export const rankDocuments = Effect.fn("Sample.rankDocuments")(function* (request: Rerank.Request) {
  const gateway = yield* Gateway.Gateway
  return { query: request.query, response: yield* gateway.rerank(request) }
})

/** Step 4: transcribes a recording. */
export const transcribe = Effect.fn("Sample.transcribe")(function* (input: Transcription.Input) {
  const gateway = yield* Gateway.Gateway
  return yield* gateway.transcribe(input)
})

/** A finished job and its saved video. */
export interface FinishedVideo {
  readonly job: Video.Job
  readonly saved: SavedVideo
}

/** Called when the job's status or progress changes. */
type OnChange = (job: Video.Job) => Effect.Effect<void>

/** Cancels the job of an interrupted caller. Gives up after 5 seconds, so that exiting is quick. */
const cancelVideo = (submitted: Effect.Effect<Pick<Video.Job, "id">, unknown>, onChange: OnChange) =>
  Effect.flatMap(Gateway.Gateway, (gateway) =>
    submitted.pipe(
      Effect.flatMap(({ id }) => gateway.cancelVideo(id)),
      Effect.flatMap(onChange),
      Effect.timeout("5 seconds"),
      Effect.ignore
    )
  )

/** Submits a video job and reports its status. Cancels the job on interruption. */
export const submitVideo = Effect.fn("Sample.submitVideo")(function* (request: Video.Request, onChange: OnChange) {
  const gateway = yield* Gateway.Gateway
  // An interrupted submission may have reached the gateway. Sent again with the same idempotency
  // key, it returns the job that the first attempt created.
  const submit = gateway.submitVideo(request, { idempotencyKey: yield* IdempotencyKeySource.makeKey })
  return yield* submit.pipe(
    Effect.tap(onChange),
    Effect.onInterrupt(() => cancelVideo(submit, onChange))
  )
})

/**
 * Follows a submitted job, reports its status and each change, and saves the video. Cancels the job
 * on interruption, and reports it.
 */
export const followVideo = Effect.fn("Sample.followVideo")(function* (id: string, onChange: OnChange) {
  const gateway = yield* Gateway.Gateway
  const store = yield* VideoStore
  const last = yield* VideoProgress.watch(id, { interval: "500 millis" }).pipe(
    Stream.tap(onChange),
    Stream.runLast,
    Effect.onInterrupt(() => cancelVideo(Effect.succeed({ id }), onChange))
  )
  const final = Option.isSome(last) ? last.value : yield* gateway.getVideo(id)
  if (final.status !== "completed") return yield* new VideoProgress.NotCompleted({ job: final })
  return { job: final, saved: yield* store.save(gateway.videoContent(id)) }
})

/**
 * Step 5: submits a video job, reports each change, and saves the video. Cancels the job on
 * interruption.
 */
export const makeVideo = Effect.fn("Sample.makeVideo")(function* (request: Video.Request, onChange: OnChange) {
  const submitted = yield* submitVideo(request, onChange)
  return yield* followVideo(submitted.id, (job) =>
    job.status === submitted.status && job.progress === submitted.progress ? Effect.void : onChange(job)
  )
})

/** The guardrail, the keys and the response of an assignment. */
export interface Assignment {
  readonly guardrail: Guardrails.Guardrail
  readonly keys: ReadonlyArray<Keys.Key>
  readonly response: Guardrails.AssignResponse
}

/**
 * Step 6: assigns two keys to a guardrail. It creates keys and guardrail, and deletes them
 * afterward. If deleting fails, the keys cannot spend anything and expire after 10 minutes.
 */
export const assignKeys = Effect.fn("Sample.assignKeys")(function* () {
  const gateway = yield* ManagementGateway
  const expires_at = DateTime.formatIso(DateTime.add(yield* DateTime.now, { minutes: 10 }))
  const key = (name: string) =>
    Effect.acquireRelease(
      gateway.createKey({ name, limit: 0, expires_at }),
      ({ data }) => Effect.ignore(gateway.deleteKey(data.hash)),
      { interruptible: true }
    )

  const guardrail = yield* Effect.acquireRelease(
    gateway.createGuardrail({ name: "Sample guardrail", limit_usd: 1, reset_interval: "daily" }),
    ({ id }) => Effect.ignore(gateway.deleteGuardrail(id)),
    { interruptible: true }
  )
  const first = yield* key("Sample key 1")
  const second = yield* key("Sample key 2")
  const response = yield* gateway.assignKeys(guardrail.id, { key_hashes: [first.data.hash, second.data.hash] })
  return { guardrail, keys: [first.data, second.data], response }
}, Effect.scoped)

/** The result of each step. */
export interface Results {
  readonly file: StoredFile
  readonly key: CurrentKey.KeyRecord
  readonly rerank: Ranking
  readonly transcription: Transcription.Response
  readonly video: FinishedVideo
  readonly guardrail: Assignment
}

/** The name of a step. */
export type Step = keyof Results

/** All errors of the steps. */
export type StepError = Effect.Error<
  ReturnType<
    typeof storeFile | typeof readKey | typeof rankDocuments | typeof transcribe | typeof makeVideo | typeof assignKeys
  >
>

/** A successful step. */
export type Done = {
  readonly [S in Step]: { readonly _tag: "Done"; readonly step: S; readonly result: Results[S] }
}[Step]

/**
 * How a step ended. `Skipped`: it was not started, because it would fail for the same reason as
 * `failedStep`.
 */
export type Outcome =
  | Done
  | { readonly _tag: "Failed"; readonly step: Step; readonly error: StepError }
  | { readonly _tag: "Skipped"; readonly step: Step; readonly failedStep: Step }

/** An event of a run. */
export type Event =
  | { readonly _tag: "Started"; readonly step: Step }
  | { readonly _tag: "VideoChanged"; readonly job: Video.Job }
  | Outcome

/** Whether every step succeeded. */
export const succeeded = (outcomes: ReadonlyArray<Outcome>): boolean => outcomes.every(({ _tag }) => _tag === "Done")

/**
 * Runs the six steps, one after another. After a failed step the others run, unless they would fail
 * for the same reason: no connection to the gateway, or a missing or invalid key.
 *
 * `present` receives every event in order, also during an interruption.
 */
export const program = Effect.fn("Sample.program")(function* (
  inputs: Inputs,
  present: (event: Event) => Effect.Effect<void>
) {
  const outcomes: Array<Outcome> = []

  const attempt = <R>(step: Step, work: Effect.Effect<Done, StepError, R>): Effect.Effect<void, never, R> => {
    const blocker = outcomes.find((outcome) => outcome._tag === "Failed" && blocks(outcome.step, outcome.error, step))
    const outcome: Effect.Effect<Outcome, never, R> =
      blocker === undefined
        ? present({ _tag: "Started", step }).pipe(
            Effect.andThen(work),
            Effect.catch((error) => Effect.succeed<Outcome>({ _tag: "Failed", step, error }))
          )
        : Effect.succeed({ _tag: "Skipped", step, failedStep: blocker.step })
    return Effect.flatMap(outcome, (ended) => {
      outcomes.push(ended)
      return present(ended)
    })
  }

  yield* attempt(
    "file",
    Effect.map(storeFile(inputs.upload), (result) => ({ _tag: "Done", step: "file", result }))
  )
  yield* attempt(
    "key",
    Effect.map(readKey(), (result) => ({ _tag: "Done", step: "key", result }))
  )
  yield* attempt(
    "rerank",
    Effect.map(rankDocuments(inputs.rerank), (result) => ({ _tag: "Done", step: "rerank", result }))
  )
  yield* attempt(
    "transcription",
    Effect.map(transcribe(inputs.transcription), (result) => ({ _tag: "Done", step: "transcription", result }))
  )
  yield* attempt(
    "video",
    Effect.map(
      makeVideo(inputs.video, (job) => present({ _tag: "VideoChanged", job })),
      (result) => ({ _tag: "Done", step: "video", result })
    )
  )
  yield* attempt(
    "guardrail",
    Effect.map(assignKeys(), (result) => ({ _tag: "Done", step: "guardrail", result }))
  )
  const all: ReadonlyArray<Outcome> = outcomes
  return all
})

/** Whether the error of one step would also fail another step. */
const blocks = (failed: Step, error: StepError, next: Step): boolean => {
  const sameKey = (failed === "guardrail") === (next === "guardrail")
  if (error._tag === "TransportError") return error.reason === "connection" || sameKey
  return error._tag === "Unauthorized" && sameKey
}
