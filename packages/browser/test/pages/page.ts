// The page that the browser tests control: it calls the gateway and exposes the results.
import {
  Audio,
  AudioRecorder,
  BrowserGateway,
  type LongLivedKey,
  Settings,
  UploadProgress
} from "@model-gateway/browser"
import { Gateway, type GatewayConfig, RetryPolicy } from "@model-gateway/core"
import { Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Cause, Effect, Exit, Fiber, Layer, ManagedRuntime, Redacted, Stream } from "effect"
import { FetchHttpClient } from "effect/http"

type GatewayLayer = Layer.Layer<
  Gateway.Gateway,
  Settings.InvalidSettings | LongLivedKey.LongLivedKeyRefused | GatewayConfig.InvalidBaseUrl
>

/** `ok: …` with the value, `interrupted`, or the name and message of the error and of its cause. */
const describeExit = Exit.match({
  onSuccess: (value: unknown) => `ok: ${JSON.stringify(value)}`,
  onFailure: (cause: Cause.Cause<unknown>) => {
    if (Cause.hasInterruptsOnly(cause)) return "interrupted"
    const error = Cause.squash(cause)
    if (!(error instanceof Error)) return `thrown: ${String(error)}`
    const source = "underlying" in error ? error.underlying : error.cause
    const inner = source instanceof Error ? ` < ${source.name}: ${source.message}` : ""
    return `${error.name}: ${error.message}${inner}`
  }
})

/** The reported progress, in bytes. */
const progress: Array<UploadProgress.Progress> = []
const levels: Array<number> = []
let fiber: Fiber.Fiber<unknown, unknown> | undefined
let outcome: Promise<string> | undefined

const start = <A, E>(program: Effect.Effect<A, E, Gateway.Gateway>, layer: GatewayLayer) => {
  progress.length = 0
  const running = Effect.runFork(Effect.provide(program, layer))
  fiber = running
  outcome = Effect.runPromise(Fiber.await(running)).then(describeExit)
}

const rank = (document: string) =>
  Effect.flatMap(Gateway.Gateway, (gateway) =>
    gateway.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", document] })
  )

const rerank = rank("pears")

const upload = (bytes: number) =>
  Effect.flatMap(Gateway.Gateway, (gateway) =>
    gateway.uploadFile({ file: new Blob([new Uint8Array(bytes)]), filename: "zeros.bin", purpose: "test" })
  )

/** Reads a file's content in pieces, and reports the length of each as progress. */
const download = Stream.unwrap(Effect.map(Gateway.Gateway, (gateway) => gateway.fileContent("file-1"))).pipe(
  Stream.runForEach((bytes) =>
    Effect.sync(() => {
      progress.push({ loaded: bytes.length, total: undefined })
    })
  )
)

const withTokens = BrowserGateway.layer({ tokenEndpoint: "/token" })

/** The services of `withTokens`, built once. */
const lasting = Layer.effectContext(ManagedRuntime.make(withTokens).contextEffect)

const within = (limits: RetryPolicy.Options) =>
  BrowserGateway.layer({ tokenEndpoint: "/token", retryPolicy: RetryPolicy.make({ maxRetries: 0, ...limits }) })

const actions = {
  /** The outcome of the last call. */
  outcome: () => outcome,
  progress: () => progress,
  levels: () => levels,
  cancel: () => {
    if (fiber !== undefined) Effect.runFork(Fiber.interrupt(fiber))
  },
  rerank: () => start(rerank, withTokens),
  rerankFromMeta: () => start(rerank, BrowserGateway.layerSettings(Settings.fromMeta)),
  rerankFromJson: (url: string) => start(rerank, BrowserGateway.layerSettings(Settings.fromJson(url))),
  rerankWithKey: (key: string, dangerouslyAllowLongLivedKey: boolean) =>
    start(rerank, BrowserGateway.layer({ credential: Redacted.make(key), dangerouslyAllowLongLivedKey })),
  rerankAt: (baseUrl: string) => start(rerank, BrowserGateway.layer({ baseUrl, tokenEndpoint: "/token" })),
  /** Makes concurrent calls over one layer, so that they share its token. */
  rerankTimes: (times: number) =>
    start(
      Effect.all(
        Array.from({ length: times }, () => rerank),
        { concurrency: "unbounded" }
      ),
      withTokens
    ),
  listModels: () =>
    start(
      Effect.flatMap(Gateway.Gateway, (gateway) => gateway.listModels()),
      withTokens
    ),
  /** Calls without retries and with these limits, which the layer gets. */
  rerankWithin: (limits: RetryPolicy.Options) => start(rerank, within(limits)),
  /** A form and JSON at the same time. */
  uploadBothWithin: (bytes: number, limits: RetryPolicy.Options) =>
    start(Effect.all([upload(bytes), rank("pears".repeat(bytes / 5))], { concurrency: 2 }), within(limits)),
  uploadWithin: (bytes: number, limits: RetryPolicy.Options) => start(upload(bytes), within(limits)),
  /** Three calls at once, over a layer that lives as long as the page. */
  rerankTogether: () => start(Effect.all([rerank, rerank, rerank], { concurrency: 3 }), lasting),
  upload: (bytes: number) => start(upload(bytes), withTokens),
  uploadWith: (init: RequestInit) =>
    start(Effect.provideService(upload(10), FetchHttpClient.RequestInit, init), withTokens),
  uploadWatched: (bytes: number) =>
    start(upload(bytes).pipe(UploadProgress.withUploadProgress((step) => progress.push(step))), withTokens),
  uploadStreamed: (bytes: number) =>
    start(
      UploadProgress.stream(upload(bytes)).pipe(
        Stream.runFold(
          () => "",
          (last, event) => {
            if (event._tag === "Done") return event.value.id
            progress.push(event)
            return last
          }
        )
      ),
      withTokens
    ),
  download: () => start(download, withTokens),
  downloadWithin: (limits: RetryPolicy.Options) => start(download, within(limits)),
  /** Records until it hears a sound, and sends the recording. */
  record: () =>
    start(
      Effect.scoped(
        Effect.gen(function* () {
          const recording = yield* AudioRecorder.start()
          yield* recording.level.pipe(
            Stream.takeUntil((level) => level > 0.01),
            Stream.runForEach((level) =>
              Effect.sync(() => {
                levels.push(level)
              })
            )
          )
          const audio = yield* recording.stop
          const gateway = yield* Gateway.Gateway
          const { text } = yield* gateway.transcribe({ model: "sandbox/tones", ...audio })
          return { text, type: audio.file.type, filename: audio.filename, size: audio.file.size }
        })
      ),
      withTokens
    ),
  /** The scripted gateway in the page: a 503 twice, then a response. Sends no network request. */
  scripted: () =>
    start(
      Effect.gen(function* () {
        const gateway = yield* Gateway.Gateway
        const ranked = yield* gateway.rerank({ model: "m", query: "q", documents: ["d"] })
        const sent = yield* Recorder.requests
        return { results: ranked.results.length, attempts: sent.map(({ attempt }) => attempt) }
      }).pipe(
        Effect.provide([
          GatewayTest.layer(
            { rerank: Samples.rerankResponse },
            { faults: { rerank: Faults.first(2, Faults.status(503)) } }
          ),
          GatewayTest.layerNoWaits
        ])
      ),
      withTokens
    ),
  dropped: (name: string, type: string) =>
    start(Audio.fromBlob(new File([new Uint8Array(4)], name, { type })), withTokens)
}

export type Actions = typeof actions

Object.assign(globalThis, { actions })
