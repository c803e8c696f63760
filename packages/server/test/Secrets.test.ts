/**
 * No secret leaves the service where it is not meant to go: requests that succeed and that fail, at
 * upstreams that repeat the key in their errors, with the gateway's keys, with keys of callers, and
 * with broadcast. Then everything that the service wrote is searched for every secret.
 */
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { CreateResponse } from "@model-gateway/core/Destinations"
import { Job } from "@model-gateway/core/Video"
import * as Cohere from "@model-gateway/providers/Cohere"
import * as Deepgram from "@model-gateway/providers/Deepgram"
import * as Fal from "@model-gateway/providers/Fal"
import * as Google from "@model-gateway/providers/Google"
import * as Jina from "@model-gateway/providers/Jina"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import * as OpenAi from "@model-gateway/providers/OpenAi"
import * as Replicate from "@model-gateway/providers/Replicate"
import * as Voyage from "@model-gateway/providers/Voyage"
import { Cause, Duration, Effect, Exit, Layer, Logger, Option, Redacted, References, Schema, Tracer } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { startDeepgramDouble } from "@model-gateway/test-doubles/DeepgramDouble"
import type { Double, Scripted, StartOptions } from "@model-gateway/test-doubles/Double"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { startGoogleDouble } from "@model-gateway/test-doubles/GoogleDouble"
import { start as startJinaDouble } from "@model-gateway/test-doubles/plain/Jina"
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"
import { startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import { startReplicateDouble } from "@model-gateway/test-doubles/ReplicateDouble"
import * as TestOutbox from "./events/TestOutbox.ts"
import { decode as decodeSpans } from "./broadcast/otlp.ts"
import * as TestReceiver from "./broadcast/TestReceiver.ts"
import { keypad } from "./operations/TestAudio.ts"
import { post } from "./TestEnvelope.ts"
import { layer, TestGateway } from "./TestGateway.ts"

/** Text that no secret may be a part of, from each place that the service writes to. */
class Written {
  readonly texts = new Map<string, Array<string>>()

  add(place: string, text: string): void {
    const texts = this.texts.get(place)
    if (texts === undefined) this.texts.set(place, [text])
    else texts.push(text)
  }

  /** The places with one of the secrets, as it is or in base64. */
  placesOf(secrets: Readonly<Record<string, string>>): ReadonlyArray<string> {
    return Object.entries(secrets).flatMap(([name, secret]) => {
      const forms = [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -1)]
      return [...this.texts].flatMap(([place, texts]) =>
        texts.some((text) => forms.some((form) => text.includes(form))) ? [`${name} in ${place}`] : []
      )
    })
  }
}

/** Writes every log, as text and as JSON. */
const logs = (written: Written) =>
  Layer.mergeAll(
    Logger.layer([
      Logger.make((options) => {
        written.add("logs", Logger.formatJson.log(options))
        written.add("logs", Logger.formatLogFmt.log(options))
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "All")
  )

/** Writes every span when it ends, with the cause of its failure. */
const spans = (written: Written) =>
  Layer.succeed(
    Tracer.Tracer,
    Tracer.make({
      span(options) {
        const span = new Tracer.NativeSpan(options)
        const end = span.end.bind(span)
        span.end = (time, exit) => {
          end(time, exit)
          const cause = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
          const details = JSON.stringify([[...span.attributes], span.events], (_, value: unknown) =>
            typeof value === "bigint" ? String(value) : value
          )
          written.add("spans", `${span.name} ${details} ${cause}`)
        }
        return span
      }
    })
  )

const upstreams = [
  { adapter: Cohere.adapter, start: startCohereDouble, path: "", model: "cohere/rerank-v3.5", kind: "rerank" },
  {
    adapter: Jina.adapter,
    start: startJinaDouble,
    path: "/v1",
    model: "jina/jina-reranker-v2-base-multilingual",
    kind: "rerank"
  },
  { adapter: Voyage.adapter, start: startVoyageDouble, path: "/v1", model: "voyage/rerank-2.5", kind: "rerank" },
  { adapter: OpenAi.adapter, start: startOpenAiDouble, path: "/v1", model: "openai/whisper-1", kind: "transcription" },
  {
    adapter: Deepgram.adapter,
    start: startDeepgramDouble,
    path: "/v1",
    model: "deepgram/nova-3",
    kind: "transcription"
  },
  {
    adapter: Replicate.adapter,
    start: startReplicateDouble,
    path: "/v1",
    model: "replicate/google/veo-3.1-fast",
    kind: "video"
  },
  {
    adapter: Google.adapter,
    start: (options: StartOptions) => startGoogleDouble({ ...options, polls: 0 }),
    path: "/v1beta",
    model: "google/gemini-omni-1.1-flash",
    kind: "video"
  },
  { adapter: Fal.adapter, start: startFalDouble, path: "", model: "fal/fal-ai/veo3.1", kind: "video" }
] as const

type Upstream = (typeof upstreams)[number]

const gatewayKeyOf = ({ adapter }: Upstream): string => `gateway-key-of-${adapter.name}-4f1c9e7ab2`
const callerKeyOf = ({ adapter }: Upstream): string => `caller-key-of-${adapter.name}-8d3b6f20c5`

const masterKey = Buffer.alloc(32, "the-master-key-of-this-test").toString("base64")
const collectorToken = "collector-token-5a7e1c94d0"
const hookToken = "hook-token-c2f80b6e13"
/** In the URL of a destination, which its owner sees, and nobody else. */
const urlToken = "url-token-91d4e7f3a8"

const startAll = Effect.forEach(upstreams, (upstream) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => upstream.start({ keys: [gatewayKeyOf(upstream), callerKeyOf(upstream)] })),
      (double) => Effect.promise(() => double.close())
    ),
    (double): readonly [Upstream, Double] => [upstream, double]
  )
)

const gateway = (doubles: ReadonlyArray<readonly [Upstream, Double]>, written: Written) =>
  Layer.unwrap(
    Effect.map(
      Effect.forEach(doubles, ([upstream, { url }]) => {
        const { adapter, path } = upstream
        const credential = gatewayCredential(Redacted.make(gatewayKeyOf(upstream)))
        return adapter.offers({ name: adapter.name, baseUrl: `${url}${path}`, credential }, adapter.models)
      }),
      (offers) =>
        layer(
          {
            circuits: { failures: 100_000, openFor: Duration.seconds(1) },
            outboundExemptHosts: ["127.0.0.1"],
            byok: { masterKey: Redacted.make(masterKey) }
          },
          offers
        )
    )
  ).pipe(
    Layer.provide([NodeHttpClient.layerUndici, layerWebCrypto, NodeServices.layer]),
    Layer.provide([logs(written), spans(written)])
  )

const audio = keypad("159").toString("base64")

const decodeJob = Schema.decodeUnknownOption(Schema.fromJsonString(Job))

/** One request. A video job is followed to its end. */
const request = Effect.fnUntraced(function* ({ kind, model }: Upstream) {
  const { ask } = yield* TestGateway
  const trace = { trace_id: "secrets", tenant: "acme" }
  switch (kind) {
    case "rerank":
      return [yield* post("/api/v1/rerank", { model, query: "tea", documents: ["tea", "coffee"], trace, user: "ada" })]
    case "transcription":
      return [
        yield* post("/api/v1/audio/transcriptions", { model, input_audio: { data: audio, format: "wav" }, trace })
      ]
    case "video": {
      const answers = [yield* post("/api/v1/videos", { model, prompt: "tea", duration: 8, trace })]
      expect([model, answers[0]?.status]).toEqual([model, 202])
      const job = decodeJob(answers[0]?.text)
      if (Option.isNone(job)) return answers
      for (let status = job.value.status; status === "pending" || status === "in_progress";) {
        const answer = yield* ask(`/api/v1/videos/${job.value.id}?wait=20`)
        answers.push(answer)
        status = Option.match(decodeJob(answer.text), {
          onNone: () => "failed" as const,
          onSome: ({ status }) => status
        })
      }
      return answers
    }
  }
})

/** What an upstream answers that repeats the key of the request wherever an error has text. */
const failures = (key: string, url: string): ReadonlyArray<Scripted> => {
  const text = `The key ${key} (Authorization: Bearer ${key}) is not valid at ${url}/?token=${key}`
  const body = {
    message: text,
    detail: text,
    title: text,
    err_msg: text,
    error: { message: text, type: text, code: text }
  }
  const headers = { "x-echo": key, "retry-after": "0" }
  return [
    { status: 400, headers, body },
    { status: 401, headers, body },
    { status: 422, headers, body },
    { status: 500, headers, body },
    { status: 200, headers, body: `<html>${text}` },
    { fault: "cutBody" }
  ]
}

const filesIn = (folder: string): string =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n")

it.live(
  "no secret is in a log, an error, a span, an event, broadcast, the metrics or the database",
  () =>
    Effect.gen(function* () {
      const written = new Written()
      const collector = yield* TestReceiver.make()
      const hook = yield* TestReceiver.make()
      const doubles = yield* startAll
      yield* Effect.gen(function* () {
        const { ask, folder, managementKey: key, ordinaryKey, workspace } = yield* TestGateway
        const credits = yield* post(`/api/v1/workspaces/${workspace.id}/credits`, { amount: 100 }, { key })
        expect(credits.status).toBe(200)
        const destination = (body: object) =>
          post("/api/v1/observability/destinations", { name: "d", ...body }, { key })
        yield* destination({
          type: "otel-collector",
          broadcast_generation_cost: true,
          broadcast_generation_identity: true,
          config: { endpoint: collector.url, headers: { authorization: `Bearer ${collectorToken}` } }
        })
        const made = yield* destination({
          type: "webhook",
          broadcast_generation_request_context: true,
          config: { url: `${hook.url}/in?key=${urlToken}`, headers: { "x-token": hookToken } }
        })
        const { signing_secret = "" } = Schema.decodeUnknownSync(Schema.fromJsonString(CreateResponse))(made.text)
        expect(signing_secret).toMatch(/^whsec_/)

        const round = Effect.fnUntraced(function* (keyOf: (upstream: Upstream) => string) {
          yield* Effect.forEach(
            doubles,
            Effect.fnUntraced(function* ([upstream, double]) {
              for (const failure of [undefined, ...failures(keyOf(upstream), double.url)]) {
                double.always(failure)
                for (const { text } of yield* request(upstream)) written.add("answers", text)
              }
              double.always(undefined)
            }),
            { concurrency: "unbounded", discard: true }
          )
        })
        yield* round(gatewayKeyOf)
        for (const upstream of upstreams) {
          const body = { provider: upstream.adapter.name, key: callerKeyOf(upstream), is_required: true }
          const stored = yield* post("/api/v1/byok", body, { key })
          expect(stored.status).toBe(201)
          written.add("answers", stored.text)
        }
        yield* round(callerKeyOf)

        const reported = () => collector.received.flatMap(({ body }) => decodeSpans(body))
        const { events } = yield* TestOutbox.read(workspace.id)
        expect(new Set(events.map(({ type }) => type))).toEqual(
          new Set([
            "rerank.completed",
            "rerank.failed",
            "transcription.completed",
            "transcription.failed",
            "video.completed",
            "video.failed"
          ])
        )
        for (const { id } of events) {
          yield* TestReceiver.until(() => hook.received.find(({ headers }) => headers["webhook-id"] === id))
          yield* TestReceiver.until(() =>
            reported().find(({ attributes }) => attributes["model_gateway.event.id"] === id)
          )
        }
        written.add("broadcast spans", JSON.stringify(reported()))
        for (const { body } of hook.received) written.add("webhooks", body.toString())
        for (const path of ["/metrics", "/readyz", "/openapi.json"]) {
          written.add(path, (yield* ask(path, { key: null })).text)
        }
        for (const path of ["observability/destinations", "byok", "keys", "generations", "models"]) {
          const answer = yield* ask(`/api/v1/${path}`, { key })
          expect([path, answer.status]).toEqual([path, 200])
          written.add(path, answer.text)
        }
        written.add("files", filesIn(folder))

        // What is searched is there, and the secrets were used.
        const places = ["logs", "spans", "answers", "broadcast spans", "webhooks", "generations", "files"] as const
        for (const place of places) {
          const marker = place === "logs" ? "cohere" : place === "spans" ? "/api/v1/rerank" : "rerank-v3.5"
          expect([place, written.texts.get(place)?.some((text) => text.includes(marker))]).toEqual([place, true])
        }
        for (const [upstream, { state }] of doubles) {
          const sent = JSON.stringify(state.requests.map(({ headers }) => headers))
          expect(sent).toContain(gatewayKeyOf(upstream))
          expect(sent).toContain(callerKeyOf(upstream))
        }
        expect(collector.received[0]?.headers.authorization).toBe(`Bearer ${collectorToken}`)
        expect(hook.received[0]?.headers["x-token"]).toBe(hookToken)

        const secrets = {
          managementKey: key,
          ordinaryKey,
          masterKey,
          collectorToken,
          hookToken,
          signing_secret: signing_secret.slice("whsec_".length),
          ...Object.fromEntries(
            upstreams.flatMap((upstream) => [
              [`gateway's ${upstream.adapter.name}`, gatewayKeyOf(upstream)],
              [`caller's ${upstream.adapter.name}`, callerKeyOf(upstream)]
            ])
          )
        }
        expect(written.placesOf(secrets)).toEqual([])
        // Management keys read the URL of a destination. In the database it is encrypted.
        expect(written.placesOf({ urlToken })).toEqual(["urlToken in observability/destinations"])
      }).pipe(Effect.provide(gateway(doubles, written)))
    }).pipe(Effect.scoped),
  60_000
)
