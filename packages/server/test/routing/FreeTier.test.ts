/** What keys of the free tier may use, for each kind of request, and what it costs. */
import { expect, it } from "@effect/vitest"
import type * as Byok from "@model-gateway/core/Byok"
import { Response as KeyResponse } from "@model-gateway/core/CurrentKey"
import { EphemeralResponse } from "@model-gateway/core/Keys"
import { Job } from "@model-gateway/core/Video"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { type Credential, gatewayCredential } from "@model-gateway/offers/Offer"
import { ProviderError, Unavailable } from "@model-gateway/offers/ProviderError"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { Effect, Redacted, Schema } from "effect"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { keypad } from "../operations/TestAudio.ts"
import { envelopeOf, inSet, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { makeUpstream, model as film } from "../video/TestVideo.ts"

/** Each call at a provider, with its credential. */
const calls: Array<string> = []

const called = (name: string, { secret }: Credential) =>
  void calls.push(secret === undefined ? name : `${name} ${Redacted.value(secret)}`)

const provider = (name: string, price: number) =>
  scripted({
    name,
    price,
    credential: gatewayCredential(),
    rerank: (request, credential) => {
      called(name, credential)
      return request.query === "down"
        ? Effect.fail(new ProviderError({ reason: new Unavailable({}) }))
        : Effect.succeed(asTheyCame(request))
    },
    transcribe: (_, credential) => {
      called(name, credential)
      return Effect.succeed({ text: "hello", duration: 1, segments: [] })
    }
  })

/** A provider that bills, although its price is 0. */
const surprising = provider("surprising", 0).map((offer) =>
  offer.kind !== "rerank"
    ? offer
    : {
        ...offer,
        run: (request: RerankRequest, credential: Credential) =>
          Effect.map(offer.run(request, credential), ({ answer, charge }) => ({
            answer,
            charge: { ...charge, cost: MicroCredits.make(500) }
          }))
      }
)

const films = makeUpstream([film], "paid")
const freeFilms = makeUpstream([{ ...film, pricing: { unit: "second", microCredits: 0 } }], "gratis")

const offers = [provider("paid", 1000), provider("gratis", 0), surprising, films.offers, freeFilms.offers]

let made = 0

/** A key of the free tier in a new workspace, which has no credits unless the options say so. */
const newKey = Effect.fnUntraced(function* (
  options: { readonly credits?: number; readonly freeDailyLimit?: number; readonly isFreeTier?: boolean } = {}
) {
  const { managementKey, workspace } = yield* TestGateway
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).create(workspace.organizationId, {
    name: "free",
    slug: `free-${made++}`
  })
  if (options.credits !== undefined) {
    yield* (yield* Accounting).addCredits(workspaceId, MicroCredits.make(options.credits))
  }
  const created = yield* (yield* KeyStore).create({
    organizationId,
    workspaceId,
    name: "k",
    isFreeTier: options.isFreeTier ?? true,
    freeDailyLimit: options.freeDailyLimit
  })
  const { hash } = created.key
  calls.splice(0)
  return {
    workspaceId,
    hash,
    key: Redacted.value(created.plain),
    change: (body: object) => post(`/api/v1/keys/${hash}`, body, { key: managementKey, method: "PATCH" })
  }
})

/** Stores a provider key for `paid` in the workspace. */
const store = Effect.fnUntraced(function* (workspaceId: string, more: Partial<Byok.CreateRequest> = {}) {
  const { managementKey: key } = yield* TestGateway
  const body = { provider: "paid", key: "own", workspace_id: workspaceId, ...more }
  expect((yield* post("/api/v1/byok", body, { key })).status).toBe(201)
})

interface Options {
  readonly only?: string
  readonly provider?: object
  readonly query?: string
  readonly headers?: Record<string, string>
}

const preferences = ({ only, provider = {} }: Options) => ({
  provider: { ...provider, ...(only === undefined ? {} : { only: [only] }) }
})

const rerank = (key: string, options: Options = {}) =>
  post(
    "/api/v1/rerank",
    { model: "test/rank", query: options.query ?? "tea", documents: ["tea"], ...preferences(options) },
    { key, headers: options.headers ?? {} }
  )

const speech = keypad("1").toString("base64")

const transcribe = (key: string, options: Options = {}, data = speech) =>
  post(
    "/api/v1/audio/transcriptions",
    { model: "test/hear", input_audio: { data, format: "wav" }, ...preferences(options) },
    { key, headers: options.headers ?? {} }
  )

const video = (key: string, options: Options = {}) =>
  post(
    "/api/v1/videos",
    { model: film.id, prompt: "a harbor", ...preferences(options) },
    { key, headers: options.headers ?? {} }
  )

const operations = [
  { name: "rerank", model: "test/rank", send: rerank },
  { name: "transcribe", model: "test/hear", send: transcribe },
  { name: "submitVideo", model: film.id, send: video }
] as const

const decodeJob = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

/** Follows the job of a 202 until it is over. */
const follow = Effect.fnUntraced(function* (key: string, text: string) {
  const { ask } = yield* TestGateway
  let job = decodeJob(text)
  while (job.status === "pending" || job.status === "in_progress") {
    job = decodeJob((yield* ask(`${job.polling_url}?wait=20`, { key })).text)
  }
  return job
})

const recordOf = Effect.fnUntraced(function* (key: string) {
  const { ask } = yield* TestGateway
  return Schema.decodeUnknownSync(Schema.fromJsonString(KeyResponse))((yield* ask("/api/v1/key", { key })).text).data
})

const costIn = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ usage: Schema.Struct({ cost: Schema.Finite }) }))
)

it.layer(layer({}, offers), { excludeTestServices: true })("a key of the free tier", (it) => {
  for (const { model, name, send } of operations) {
    it.effect(`gets a 402 that names both ways out for a model with a price: ${name}`, () =>
      Effect.gen(function* () {
        const { hash, key } = yield* newKey({ credits: 10_000_000 })
        const refused = yield* send(key, { only: "paid" })
        inSet(name, refused)
        expect([refused.status, envelopeOf(refused).error.message]).toEqual([
          402,
          `insufficient credits: this key is in the free tier, and the model "${model}" is not free. ` +
            "Use a model whose price is 0 in GET /models, or ask for a key outside the free tier."
        ])
        expect([calls, films.submitted]).toEqual([[], []])
        expect((yield* recordOf(key)).free_model_daily_requests.used).toBe(0)
        expect(yield* TestLedger.usageOf({ keyHash: hash })).toEqual([])
      })
    )

    it.effect(`gets the answer that its key had before it was one: ${name}`, () =>
      Effect.gen(function* () {
        const { change, key } = yield* newKey({ credits: 10_000_000, isFreeTier: false })
        const again = { only: "paid", headers: { "idempotency-key": "once" } }
        const first = yield* send(key, again)
        expect(first.status).toBe(name === "submitVideo" ? 202 : 200)
        if (name === "submitVideo") {
          yield* follow(key, first.text)
          films.submitted.splice(0)
        }
        expect((yield* change({ is_free_tier: true })).status).toBe(200)
        const second = yield* send(key, again)
        expect([second.status, second.text, second.headers["idempotent-replayed"]]).toEqual([
          first.status,
          first.text,
          "true"
        ])
        expect((yield* send(key, { only: "paid" })).status).toBe(402)
        expect((yield* change({ is_free_tier: false })).status).toBe(200)
        const paid = yield* send(key, { only: "paid" })
        expect(paid.status).toBe(first.status)
        if (name === "submitVideo") {
          yield* follow(key, paid.text)
          films.submitted.splice(0)
        }
      })
    )
  }

  it.effect("uses offers without a price, in a workspace without credits, as often as its day allows", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey({ freeDailyLimit: 3 })
      expect(costIn((yield* rerank(key)).text).usage.cost).toBe(0)
      expect(costIn((yield* transcribe(key)).text).usage.cost).toBe(0)
      const job = yield* video(key)
      expect(job.status).toBe(202)
      expect(yield* follow(key, job.text)).toMatchObject({ status: "completed", usage: { cost: 0 } })
      expect((yield* recordOf(key)).free_model_daily_requests).toEqual({ limit: 3, used: 3, remaining: 0 })
      for (const { name, send } of operations) {
        const usedUp = yield* send(key)
        inSet(name, usedUp)
        expect([usedUp.status, envelopeOf(usedUp).error.message]).toEqual([
          429,
          "rate limit exceeded: all 3 free model requests of this UTC day are used"
        ])
      }
      const usage = yield* TestLedger.usageOf({ keyHash: hash })
      expect(usage.map(({ cost, provider }) => [provider, cost])).toEqual(Array(3).fill(["gratis", 0]))
      expect([calls, films.submitted]).toEqual([["gratis", "gratis"], []])
    })
  )

  it.effect("is routed to offers without a price only, also as a fallback and if it prefers others", () =>
    Effect.gen(function* () {
      const { key } = yield* newKey({ credits: 10_000_000 })
      const ordinary = yield* newKey({ credits: 10_000_000, isFreeTier: false })
      const preferred = { provider: { order: ["paid", "gratis"], ignore: ["surprising"], allow_fallbacks: false } }
      yield* rerank(key, preferred)
      yield* rerank(ordinary.key, preferred)
      expect(calls.splice(0)).toEqual(["gratis", "paid"])
      const down = { query: "down", provider: { ignore: ["surprising"] } }
      const statuses = [(yield* rerank(key, down)).status, (yield* rerank(ordinary.key, down)).status]
      expect([statuses, calls]).toEqual([
        [502, 502],
        ["gratis", "paid", "gratis"]
      ])
    })
  )

  it.effect("uses the caller's provider keys for every model, which are not counted", () =>
    Effect.gen(function* () {
      const { hash, key, workspaceId } = yield* newKey({ freeDailyLimit: 1 })
      yield* store(workspaceId)
      expect((yield* rerank(key, { only: "paid" })).status).toBe(200)
      expect((yield* transcribe(key, { only: "paid" })).status).toBe(200)
      const job = yield* video(key, { only: "paid" })
      expect(yield* follow(key, job.text)).toMatchObject({ status: "completed", usage: { is_byok: true } })
      films.submitted.splice(0)
      // The gateway's credential of the same provider has a price.
      expect((yield* rerank(key, { only: "paid", query: "down" })).status).toBe(502)
      expect(calls.splice(0)).toEqual(["paid own", "paid own", "paid own"])
      expect(yield* recordOf(key)).toMatchObject({ usage: 0, free_model_daily_requests: { used: 0 } })
      const usage = yield* TestLedger.usageOf({ keyHash: hash })
      expect(usage.map(({ isByok }) => isByok)).toEqual([true, true, true])
    })
  )

  it.effect("goes on with the caller's provider keys when its day is used up", () =>
    Effect.gen(function* () {
      const { key, workspaceId } = yield* newKey({ freeDailyLimit: 1 })
      expect((yield* rerank(key, { only: "gratis" })).status).toBe(200)
      expect((yield* rerank(key)).status).toBe(429)
      yield* store(workspaceId, { is_fallback: true })
      calls.splice(0)
      expect((yield* rerank(key)).status).toBe(200)
      expect((yield* transcribe(key)).status).toBe(200)
      const job = yield* video(key)
      expect(yield* follow(key, job.text)).toMatchObject({ status: "completed", usage: { is_byok: true } })
      films.submitted.splice(0)
      expect(calls).toEqual(["paid own", "paid own"])
      expect((yield* recordOf(key)).free_model_daily_requests.used).toBe(1)
    })
  )

  it.effect("pays nothing if a provider bills more than its price of 0", () =>
    Effect.gen(function* () {
      const { hash, key, workspaceId } = yield* newKey({ credits: 10_000_000 })
      const answer = yield* rerank(key, { only: "surprising" })
      expect([answer.status, costIn(answer.text).usage.cost]).toEqual([200, 0])
      const { poll } = freeFilms
      freeFilms.poll = () =>
        Effect.succeed({ status: "completed", outputs: 1, charge: { cost: MicroCredits.make(500), usage: {} } })
      const job = yield* follow(key, (yield* video(key)).text)
      freeFilms.poll = poll
      expect(job).toMatchObject({ status: "completed", usage: { cost: 0 } })
      expect((yield* TestLedger.usageOf({ keyHash: hash })).map(({ cost }) => cost)).toEqual([0, 0])
      const balance = yield* (yield* Accounting).balanceOf(workspaceId)
      expect(balance).toMatchObject({ balance: 10_000_000, reserved: 0 })
    })
  )

  it.effect("gives its ephemeral keys its own bounds", () =>
    Effect.gen(function* () {
      const { key: parent } = yield* newKey({ credits: 10_000_000, freeDailyLimit: 1 })
      const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(EphemeralResponse)))
      const { key } = decode((yield* post("/api/v1/keys/ephemeral", {}, { key: parent })).text)
      expect((yield* recordOf(key)).is_free_tier).toBe(true)
      expect((yield* rerank(key, { only: "paid" })).status).toBe(402)
      expect((yield* rerank(key, { only: "gratis" })).status).toBe(200)
      expect((yield* rerank(parent, { only: "gratis" })).status).toBe(429)
    })
  )

  it.effect("learns of the price before its audio is measured, and sends large bodies without credits", () =>
    Effect.gen(function* () {
      const { key } = yield* newKey()
      expect((yield* transcribe(key, { only: "paid" }, "AAAA")).status).toBe(402)
      expect((yield* transcribe(key, { only: "gratis" }, "AAAA")).status).toBe(400)
      const documents = Array.from({ length: 3 }, () => "t".repeat(600_000))
      const body = { model: "test/rank", query: "tea", documents, provider: { only: ["gratis"] } }
      expect((yield* post("/api/v1/rerank", body, { key })).status).toBe(200)
    })
  )
})
