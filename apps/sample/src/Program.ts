/**
 * The sample program: what one does with a model gateway, in six steps.
 *
 * It knows neither the platform it runs on nor the gateway it talks to. A terminal, a web page and
 * a test each give it their own `Gateway`, `ManagementGateway` and `VideoStore`, and present its
 * events in their own way.
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
 * The gateway as a management key sees it. Such a key manages and does not spend, so what ranks and
 * transcribes is another client with another key.
 */
export class ManagementGateway extends Context.Service<ManagementGateway, Gateway.Gateway["Service"]>()(
  "@model-gateway/sample/ManagementGateway"
) {}

/** Where finished videos go: a file on disk, a link in a page, the memory of a test. */
export class VideoStore extends Context.Service<
  VideoStore,
  {
    /** Takes the bytes as they come. What it has of a video that breaks off, it throws away. */
    readonly save: <E>(bytes: Stream.Stream<Uint8Array, E>) => Effect.Effect<SavedVideo, E | VideoNotSaved>
  }
>()("@model-gateway/sample/VideoStore") {}

/** A video that was saved. */
export interface SavedVideo {
  /** A path, a link: what helps the person to find it. */
  readonly location: string
  /** Its size. */
  readonly bytes: number
}

/** The video is made, but there was no way to keep it. */
export class VideoNotSaved extends Data.TaggedError("VideoNotSaved")<{
  readonly location: string
  readonly cause: unknown
}> {}

/** A file that came and went. */
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

/** Step 2: what the key may spend and has spent. */
export const readKey = Effect.fn("Sample.readKey")(function* () {
  const gateway = yield* Gateway.Gateway
  return yield* gateway.currentKey
})

/** A ranking, and what was asked. */
export interface Ranking {
  readonly query: string
  readonly response: Rerank.Response
}

/** Step 3: ranks documents by what they have to do with a question. */
export const rankDocuments = Effect.fn("Sample.rankDocuments")(function* (request: Rerank.Request) {
  const gateway = yield* Gateway.Gateway
  return { query: request.query, response: yield* gateway.rerank(request) }
})

/** Step 4: turns a recording into text. */
export const transcribe = Effect.fn("Sample.transcribe")(function* (input: Transcription.Input) {
  const gateway = yield* Gateway.Gateway
  return yield* gateway.transcribe(input)
})

/** A finished job, and where its video is now. */
export interface FinishedVideo {
  readonly job: Video.Job
  readonly saved: SavedVideo
}

/** Is told how a job stands. */
type OnChange = (job: Video.Job) => Effect.Effect<void>

/** Cancels a job because its caller was interrupted, and gives up quickly. */
const cancelVideo = (submitted: Effect.Effect<Pick<Video.Job, "id">, unknown>, onChange: OnChange) =>
  Effect.flatMap(Gateway.Gateway, (gateway) =>
    submitted.pipe(
      Effect.flatMap(({ id }) => gateway.cancelVideo(id)),
      Effect.flatMap(onChange),
      Effect.timeout("5 seconds"),
      Effect.ignore
    )
  )

/** Submits a video job and tells how it stands. Interrupted, it cancels the job. */
export const submitVideo = Effect.fn("Sample.submitVideo")(function* (request: Video.Request, onChange: OnChange) {
  const gateway = yield* Gateway.Gateway
  // An interrupted submission may have arrived all the same. Sent again under its key, it answers
  // which job it is.
  const submit = gateway.submitVideo(request, { idempotencyKey: yield* IdempotencyKeySource.makeKey })
  return yield* submit.pipe(
    Effect.tap(onChange),
    Effect.onInterrupt(() => cancelVideo(submit, onChange))
  )
})

/**
 * Follows a job that was submitted, now or earlier: tells how it stands and each change of it, and
 * saves the video. Interrupted, it cancels the job and tells that too.
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
 * Step 5: has a video made, tells each change of the job, and saves the result. Interrupted, it
 * cancels the job.
 */
export const makeVideo = Effect.fn("Sample.makeVideo")(function* (request: Video.Request, onChange: OnChange) {
  const submitted = yield* submitVideo(request, onChange)
  return yield* followVideo(submitted.id, (job) =>
    job.status === submitted.status && job.progress === submitted.progress ? Effect.void : onChange(job)
  )
})

/** What came of the assignment. */
export interface Assignment {
  readonly guardrail: Guardrails.Guardrail
  readonly keys: ReadonlyArray<Keys.Key>
  readonly response: Guardrails.AssignResponse
}

/**
 * Step 6: assigns two keys to a guardrail. Keys and guardrail are made for it and deleted
 * afterwards; should that fail, the keys spend nothing and expire within minutes.
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

/** The steps in their order, each with what it yields. */
export interface Results {
  readonly file: StoredFile
  readonly key: CurrentKey.KeyRecord
  readonly rerank: Ranking
  readonly transcription: Transcription.Response
  readonly video: FinishedVideo
  readonly guardrail: Assignment
}

/** @see Results */
export type Step = keyof Results

/** Everything that a step can fail with. */
export type StepError = Effect.Error<
  ReturnType<
    typeof storeFile | typeof readKey | typeof rankDocuments | typeof transcribe | typeof makeVideo | typeof assignKeys
  >
>

/** A step that worked. */
export type Done = {
  readonly [S in Step]: { readonly _tag: "Done"; readonly step: S; readonly result: Results[S] }
}[Step]

/** How a step ended. `Skipped`: not begun, as it needs what another step found missing. */
export type Outcome =
  | Done
  | { readonly _tag: "Failed"; readonly step: Step; readonly error: StepError }
  | { readonly _tag: "Skipped"; readonly step: Step; readonly because: Step }

/** What happens, as it happens. */
export type Event =
  | { readonly _tag: "Started"; readonly step: Step }
  | { readonly _tag: "VideoChanged"; readonly job: Video.Job }
  | Outcome

/** Whether every step worked. */
export const succeeded = (outcomes: ReadonlyArray<Outcome>): boolean => outcomes.every(({ _tag }) => _tag === "Done")

/**
 * All six steps, one after the other. A step that fails leaves those after it alone, unless they
 * need what it found missing: a gateway that answers, a key that it takes.
 *
 * `present` is told everything in order, also what happens while the program is being interrupted.
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
        : Effect.succeed({ _tag: "Skipped", step, because: blocker.step })
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

/** Whether what one step failed with is what another needs. */
const blocks = (failed: Step, error: StepError, next: Step): boolean => {
  const sameKey = (failed === "guardrail") === (next === "guardrail")
  if (error._tag === "TransportError") return error.reason === "connection" || sameKey
  return error._tag === "Unauthorized" && sameKey
}
