/**
 * Requests with provider keys: which credential calls which provider, and who pays.
 */
import { describe, expect, it } from "@effect/vitest"
import type { CreateRequest } from "@model-gateway/core/Byok"
import * as Byok from "@model-gateway/core/Byok"
import * as CurrentKey from "@model-gateway/core/CurrentKey"
import { Job } from "@model-gateway/core/Video"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { type Credential, gatewayCredential } from "@model-gateway/offers/Offer"
import { ProviderError, Unauthorized } from "@model-gateway/offers/ProviderError"
import { Effect, Logger, Redacted, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { makeUpstream } from "../video/TestVideo.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

/** Rejects secrets that start with `wrong`, and records every call. */
const world = () => {
  const calls: Array<string> = []
  const offer = (name: string, price: number, credential: Credential | null) =>
    scripted({
      name,
      price,
      credential,
      rerank: (request, { secret }) => {
        const used = secret === undefined ? "none" : Redacted.value(secret)
        calls.push(`${name} ${used}`)
        return used.startsWith("wrong")
          ? Effect.fail(new ProviderError({ reason: new Unauthorized(), status: 401 }))
          : Effect.succeed(asTheyCame(request))
      }
    })
  const offers = [
    offer("a", 1000, gatewayCredential(Redacted.make("gateway-a"))),
    offer("b", 3000, gatewayCredential(Redacted.make("gateway-b")))
  ]
  const keyless = [offer("a", 1000, null)]
  return { calls, offers, keyless }
}

const rerank = (body?: object, key?: string) =>
  post(
    "/api/v1/rerank",
    { model: "test/rank", query: "q", documents: ["a", "b"], ...body },
    key === undefined ? {} : { key }
  )

const decodeKey = Schema.decodeUnknownEffect(Schema.fromJsonString(Byok.Response))

const store = Effect.fnUntraced(function* (request: Partial<CreateRequest> = {}) {
  const { managementKey: key } = yield* TestGateway
  const answer = yield* post("/api/v1/byok", { provider: "a", key: "own-a", ...request }, { key })
  expect(answer.status).toBe(201)
  return (yield* decodeKey(answer.text)).data
})

const record = Effect.gen(function* () {
  const { ask } = yield* TestGateway
  const answer = yield* ask("/api/v1/key")
  return (yield* Schema.decodeUnknownEffect(Schema.fromJsonString(CurrentKey.Response))(answer.text)).data
})

const balance = Effect.gen(function* () {
  const { workspace } = yield* TestGateway
  const balance = yield* (yield* Accounting).balanceOf(workspace.id)
  return { balance: balance?.balance, reserved: balance?.reserved }
})

const removeCredits = Effect.gen(function* () {
  const { workspace } = yield* TestGateway
  yield* (yield* Accounting).addCredits(workspace.id, MicroCredits.subtract(0, workspace.balance))
})

describe("a caller's provider key", () => {
  it.live(
    "is used first and billed by the provider: it costs no credits and counts as BYOK usage [spec D1 D2 D3 D4]",
    () => {
      const { calls, offers } = world()
      return Effect.gen(function* () {
        yield* store()
        yield* TestOutbox.broadcast((yield* TestGateway).workspace)
        const before = yield* balance
        const answer = yield* rerank()
        expect(answer.status).toBe(200)
        expect(calls).toEqual(["a own-a"])
        expect(yield* balance).toEqual(before)
        expect(yield* record).toMatchObject({
          usage: 0,
          byok_usage: 0.001,
          byok_usage_daily: 0.001,
          byok_usage_weekly: 0.001,
          byok_usage_monthly: 0.001
        })
        const { ask, managementKey } = yield* TestGateway
        expect(JSON.parse((yield* ask("/api/v1/activity", { key: managementKey })).text)).toMatchObject({
          data: [{ requests: 1, usage: 0, byok_usage_inference: 0.001 }]
        })
        expect(yield* TestLedger.usageOf()).toMatchObject([{ isByok: true, cost: 1000, provider: "a" }])
        const { events } = yield* TestOutbox.read((yield* TestGateway).workspace.id)
        expect(events[0]).toMatchObject({ is_byok: true, cost_micro: 1000 })
      }).pipe(Effect.provide(layer({}, offers)))
    }
  )

  it.live("comes before cheaper and preferred credentials of the gateway", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      yield* store({ provider: "b", key: "own-b" })
      yield* rerank({ provider: { sort: "price" } })
      yield* rerank({ provider: { order: ["a"] } })
      yield* rerank({ provider: { only: ["a"] } })
      expect(calls).toEqual(["b own-b", "b own-b", "a gateway-a"])
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live(
    "that is rejected falls back to the gateway's, which costs credits, unless fallbacks are forbidden [spec L10]",
    () => {
      const { calls, offers } = world()
      return Effect.gen(function* () {
        yield* store({ key: "wrong-a" })
        const rejected = yield* rerank({ provider: { allow_fallbacks: false } })
        expect([rejected.status, rejected.text]).toEqual([502, expect.stringContaining("a rejected your provider key")])
        expect(calls).toEqual(["a wrong-a"])
        expect((yield* rerank()).status).toBe(200)
        expect(calls.slice(1)).toEqual(["a wrong-a", "a gateway-a"])
        expect(yield* record).toMatchObject({ usage: 0.001, byok_usage: 0 })
        expect(yield* TestLedger.openReservations).toEqual([])
      }).pipe(Effect.provide(layer({}, offers)))
    }
  )

  it.live("is named by each attempt that uses it, and by a failure that it was used for last", () => {
    const { offers } = world()
    return Effect.gen(function* () {
      yield* store({ key: "wrong-a" })
      yield* TestOutbox.broadcast((yield* TestGateway).workspace)
      const rejected = yield* rerank({ provider: { allow_fallbacks: false } })
      yield* rerank()
      const own = { provider: "a", outcome: "Unauthorized", status: 401, is_byok: true }
      expect(envelopeOf(rejected).error.metadata?.["attempts"]).toMatchObject([own])
      const { events } = yield* TestOutbox.read((yield* TestGateway).workspace.id)
      expect(events).toMatchObject([
        { type: "rerank.failed", is_byok: true, attempts: [own] },
        { type: "rerank.completed", is_byok: false, attempts: [own, { provider: "a", outcome: "Success" }] }
      ])
      expect(events[1]?.attempts[1]).not.toHaveProperty("is_byok")
      expect(yield* TestLedger.failures).toMatchObject([{ isByok: true, attempts: [own] }])
      expect(yield* TestLedger.usageOf()).toMatchObject([{ isByok: false }])
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live("opens no circuit of the gateway's credential, nor of another key", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      const { id } = yield* store({ key: "wrong-a", is_required: true })
      const only = { provider: { only: ["a"] } }
      for (let turn = 0; turn < 7; turn++) yield* rerank(only)
      // The circuit of the wrong key is open.
      expect(calls).toHaveLength(5)
      yield* store({ key: "own-a" })
      expect((yield* rerank(only)).status).toBe(200)
      expect(calls.at(-1)).toBe("a own-a")
      const { managementKey: key } = yield* TestGateway
      yield* post(`/api/v1/byok/${id}`, { is_required: false }, { key, method: "PATCH" })
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live("can exclude the gateway's credential of its provider, for its models or for all", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      const { id } = yield* store({ key: "wrong-a", is_required: true })
      const only = { provider: { only: ["a"] } }
      const { managementKey: key } = yield* TestGateway
      const change = (body: Byok.UpdateRequest) => post(`/api/v1/byok/${id}`, body, { key, method: "PATCH" })
      expect((yield* rerank(only)).status).toBe(502)
      expect(calls.splice(0)).toEqual(["a wrong-a"])
      yield* change({ allowed_models: ["test/other"] })
      expect((yield* rerank(only)).status).toBe(200)
      expect(calls.splice(0)).toEqual(["a gateway-a"])
      yield* change({ is_byok_only: true })
      expect((yield* rerank(only)).status).toBe(404)
      expect(calls.splice(0)).toEqual([])
      yield* change({ disabled: true })
      expect((yield* rerank(only)).status).toBe(200)
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live("marked as fallback is used after the gateway's", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      yield* store({ is_fallback: true })
      yield* rerank()
      expect(calls).toEqual(["a gateway-a"])
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live("is for the API keys and users that it names", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const made = yield* (yield* KeyStore).create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: "k",
        creatorUserId: "ada"
      })
      const plain = Redacted.value(made.plain)
      yield* store({ key: "own-hash", allowed_api_key_hashes: [made.key.hash] })
      yield* rerank()
      yield* rerank({}, plain)
      yield* store({ key: "own-user", provider: "b", allowed_user_ids: ["ada"] })
      yield* rerank({ provider: { only: ["b"] } })
      yield* rerank({ provider: { only: ["b"] } }, plain)
      expect(calls).toEqual(["a gateway-a", "a own-hash", "b gateway-b", "b own-user"])
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live("works without any credits; the gateway's own credentials are then not used", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      yield* removeCredits
      expect((yield* rerank()).status).toBe(402)
      const { id } = yield* store()
      expect((yield* rerank()).status).toBe(200)
      const { managementKey: key } = yield* TestGateway
      yield* post(`/api/v1/byok/${id}`, { key: "wrong-a" }, { key, method: "PATCH" })
      expect((yield* rerank()).status).toBe(502)
      expect(calls).toEqual(["a own-a", "a wrong-a"])
      expect(yield* balance).toEqual({ balance: 0, reserved: 0 })
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live("counts toward the key's limit if the key says so [spec D10 T9]", () => {
    const { calls, offers } = world()
    return Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const limited = (includeByokInLimit: boolean) =>
        Effect.flatMap(KeyStore, (keys) =>
          keys.create({
            organizationId: workspace.organizationId,
            workspaceId: workspace.id,
            name: "k",
            limit: MicroCredits.make(1500),
            includeByokInLimit
          })
        )
      yield* store({ is_required: true })
      const only = { provider: { only: ["a"] } }
      const counting = Redacted.value((yield* limited(true)).plain)
      expect((yield* rerank(only, counting)).status).toBe(200)
      expect((yield* rerank(only, counting)).status).toBe(402)
      const other = Redacted.value((yield* limited(false)).plain)
      for (let turn = 0; turn < 3; turn++) expect((yield* rerank(only, other)).status).toBe(200)
      expect(calls).toHaveLength(4)
    }).pipe(Effect.provide(layer({}, offers)))
  })

  it.live(
    "makes a model usable and listed for which the gateway has no credential, and only where it is stored",
    () => {
      const { calls, keyless } = world()
      return Effect.gen(function* () {
        const { ask, managementKey } = yield* TestGateway
        const listed = Effect.map(ask("/api/v1/models"), ({ text }) => text.includes("test/rank"))
        const refused = yield* rerank()
        expect([refused.status, yield* listed]).toEqual([404, false])
        expect(refused.text).toContain("Store a provider key for a with POST /byok")
        const { id } = yield* store()
        expect([(yield* rerank()).status, yield* listed]).toEqual([200, true])
        yield* ask(`/api/v1/byok/${id}`, { key: managementKey, method: "DELETE" })
        expect([(yield* rerank()).status, yield* listed]).toEqual([404, false])
        expect(calls).toEqual(["a own-a"])
      }).pipe(Effect.provide(layer({}, [keyless[0] ?? []])))
    }
  )

  it.live("makes videos without any credits; a job then has no candidate with the gateway's credential", () => {
    const upstream = makeUpstream()
    return Effect.gen(function* () {
      const film = { model: "test/film", prompt: "a harbor" }
      yield* removeCredits
      expect((yield* post("/api/v1/videos", film)).status).toBe(402)
      const { id } = yield* store({ provider: "test" })
      const answer = yield* post("/api/v1/videos", film)
      expect(answer.status).toBe(202)
      const { id: jobId } = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Job))(answer.text)
      const job = yield* (yield* VideoJobs).find(jobId)
      expect(job?.candidates.map(({ credential }) => credential)).toEqual([`byok_${id}`])
      expect(yield* balance).toEqual({ balance: 0, reserved: 0 })
    }).pipe(Effect.provide(layer({}, [upstream.offers])))
  })

  it.live("is in no answer, event, log or file in the clear", () => {
    const { offers } = world()
    const logs: Array<string> = []
    const logger = Logger.make((options) => {
      logs.push(JSON.stringify([options.message, String(options.cause)]))
    })
    return Effect.gen(function* () {
      const { ask, folder, managementKey: key, workspace } = yield* TestGateway
      yield* TestOutbox.broadcast(workspace)
      const secret = "wrong-secret-9f8e7d6c5b4a"
      const { id } = yield* store({ key: secret })
      const answers = [
        yield* rerank({ provider: { allow_fallbacks: false } }),
        yield* rerank(),
        yield* ask("/api/v1/byok", { key }),
        yield* ask(`/api/v1/byok/${id}`, { key }),
        yield* ask("/metrics")
      ]
      const events = yield* TestOutbox.read((yield* TestGateway).workspace.id)
      const files = readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
      const everything = [...answers.map(({ text }) => text), JSON.stringify(events), ...logs, ...files].join("\n")
      expect(logs.length).toBeGreaterThan(0)
      expect(everything).toContain(id)
      expect(everything).not.toContain("secret-9f8e7d6c5b4a")
    }).pipe(Effect.provide(layer({}, offers)), Effect.provide(Logger.layer([logger])))
  })
})
