/**
 * The program that every runtime runs: a server that calls the gateway with long-lived keys and
 * receives its webhooks. It knows nothing of its runtime but `Request`, `Response` and `fetch`.
 *
 * POST `/checks/<name>` makes one check. All checks run at the same time over one client.
 */
import {
  ClientError,
  FetchGateway,
  Gateway,
  type GatewayClient,
  RetryPolicy,
  VideoProgress,
  Webhook
} from "@model-gateway/core"
import { Cause, ConfigProvider, Data, Effect, Exit, Layer, ManagedRuntime, Redacted, Stream } from "effect"

export interface Settings {
  readonly [name: string]: string | undefined
}

class Unexpected extends Data.TaggedError("Unexpected")<{ readonly message: string }> {}

const expectEqual = (what: string, actual: unknown, expected: unknown) =>
  JSON.stringify(actual) === JSON.stringify(expected)
    ? Effect.void
    : Effect.fail(
        new Unexpected({ message: `${what} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}` })
      )

/** Succeeds if the runtime does what it should. */
type Check = (request: Request) => Effect.Effect<void, unknown, Gateway.Gateway | GatewayClient.GatewayClient>

const ranking = {
  model: "sandbox/bm25",
  query: "forgotten password",
  documents: ["Billing", "Reset a forgotten password"],
  top_n: 1
}

const best = (gateway: Gateway.Gateway["Service"]) =>
  Effect.map(gateway.rerank(ranking), ({ results }) => results[0]?.index)

export const serve = (settings: Settings): ((request: Request) => Promise<Response>) => {
  const setting = (name: string) => settings[name] ?? ""
  /** The test's proxy is told by the path what to do to the requests of this client. */
  const optionsOf = (treatment: string, key = "MODEL_GATEWAY_API_KEY") => ({
    baseUrl: `${setting("GATEWAY_ORIGIN")}/${treatment}/${setting("RUNTIME")}/api/v1`,
    credential: Redacted.make(setting(key))
  })

  const checks: { readonly [name: string]: Check } = {
    deleteFile: () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway.Gateway
        const { id } = yield* gateway.uploadFile({ file: new Blob(["Meeting notes"]), filename: "notes.txt" })
        yield* expectEqual(
          "the content",
          yield* Stream.mkString(Stream.decodeText(gateway.fileContent(id))),
          "Meeting notes"
        )
        yield* gateway.deleteFile(id)
        yield* expectEqual("the error", (yield* Effect.flip(gateway.getFile(id)))._tag, "NotFound")
      }),

    keyInformation: () =>
      Effect.gen(function* () {
        const { is_management_key } = yield* (yield* Gateway.Gateway).currentKey
        yield* expectEqual("is_management_key", is_management_key, false)
      }),

    rerank: () =>
      Effect.gen(function* () {
        yield* expectEqual("the best document", yield* best(yield* Gateway.Gateway), 1)
      }),

    /** The audio is the body of the request. */
    transcription: (request: Request) =>
      Effect.gen(function* () {
        const file = yield* Effect.promise(() => request.blob())
        const { text } = yield* (yield* Gateway.Gateway).transcribe({
          model: "sandbox/tones",
          file,
          filename: "call.wav"
        })
        yield* expectEqual("the text", text.replaceAll(" ", ""), "5550199")
      }),

    /** The gateway reports the end of the job to `/webhook` of this server. */
    submitVideo: () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway.Gateway
        const { id } = yield* gateway.submitVideo({
          model: "sandbox/title-card",
          prompt: setting("RUNTIME"),
          duration: 1,
          resolution: "480p",
          callback_url: setting("CALLBACK_URL")
        })
        const { status } = yield* VideoProgress.awaitFinal(id)
        yield* expectEqual("the status", status, "completed")
        const size = yield* Stream.runFold(
          gateway.videoContent(id),
          () => 0,
          (sum, bytes) => sum + bytes.length
        )
        yield* expectEqual("whether the video has bytes", size > 0, true)
      }),

    assignKeys: () =>
      Effect.gen(function* () {
        const gateway = yield* FetchGateway.make(optionsOf("plain", "MODEL_GATEWAY_MANAGEMENT_KEY"))
        const { data: key } = yield* gateway.createKey({ name: setting("RUNTIME") })
        const { id } = yield* gateway.createGuardrail({ name: setting("RUNTIME"), limit_usd: 5 })
        const { assigned_count } = yield* gateway.assignKeys(id, { key_hashes: [key.hash] })
        yield* expectEqual("assigned_count", assigned_count, 1)
      }),

    /** The proxy reads slower than the time limit of an attempt allows for a response. */
    streamingUpload: () =>
      Effect.gen(function* () {
        const gateway = yield* FetchGateway.make(optionsOf("slow"))
        const file = new Uint8Array(16 * 1024 * 1024)
        const { size_bytes } = yield* gateway.uploadFile({ file: new Blob([file]), filename: "large.bin" })
        yield* expectEqual("the size", size_bytes, file.length)
      }).pipe(Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ attemptTimeout: "3 seconds" }))),

    /** The first of these requests are each answered with a 503. */
    retry: () =>
      Effect.gen(function* () {
        const gateway = yield* FetchGateway.make(optionsOf("busy"))
        yield* expectEqual("the best document", yield* best(gateway), 1)
        const { size_bytes } = yield* gateway.uploadFile({ file: new Uint8Array(300_000), filename: "again.bin" })
        yield* expectEqual("the size", size_bytes, 300_000)
      }),

    /** The proxy never answers, and says when the request has arrived. */
    abort: () =>
      Effect.gen(function* () {
        const gateway = yield* FetchGateway.make(optionsOf("silent"))
        const controller = new AbortController()
        const call = Effect.runPromiseExit(gateway.rerank(ranking), { signal: controller.signal })
        yield* Effect.promise(() => fetch(`${setting("GATEWAY_ORIGIN")}/arrived/${setting("RUNTIME")}`))
        controller.abort()
        const exit = yield* Effect.promise(() => call)
        yield* expectEqual("whether it was interrupted", Exit.hasInterrupts(exit), true)
      }),

    /** The proxy redirects to another origin, which must not get the key. */
    redirect: () =>
      Effect.gen(function* () {
        const gateway = yield* FetchGateway.make(optionsOf("moved"))
        const ofGet = yield* Effect.flip(gateway.currentKey)
        const ofPost = yield* Effect.flip(gateway.rerank(ranking))
        for (const error of [ofGet, ofPost]) {
          yield* expectEqual("the error", error instanceof ClientError.InvalidResponse && error.status, 307)
        }
      })
  }

  const runtime = ManagedRuntime.make(
    FetchGateway.layerConfig().pipe(
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings))),
      Layer.orDie
    )
  )

  const receive = (request: Request) =>
    Webhook.fromRequest(request, { secret: setting("WEBHOOK_SECRET") }).pipe(
      Effect.map(({ event }) => Response.json({ type: event.type })),
      Effect.catchTag("WebhookError", ({ reason }) => Effect.succeed(Response.json({ reason }, { status: 400 })))
    )

  return async (request) => {
    const [, folder, name = ""] = new URL(request.url).pathname.split("/")
    if (folder === "webhook") return runtime.runPromise(receive(request))
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) return new Response(null, { status: 404 })
    const exit = await runtime.runPromiseExit(check(request))
    return Response.json(Exit.isSuccess(exit) ? { passed: true } : { passed: false, problem: Cause.pretty(exit.cause) })
  }
}
