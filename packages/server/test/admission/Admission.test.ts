/** What a paid request leaves behind besides its answer: one event, with the charge, or nothing. */
import { expect, it } from "@effect/vitest"
import { invalidRequest, ProviderError, Timeout } from "@model-gateway/offers/ProviderError"
import type { Credential } from "@model-gateway/offers/Offer"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Redacted, Schema } from "effect"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { DestinationStore } from "../../src/broadcast/DestinationStore.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { post } from "../TestEnvelope.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const events = TestOutbox.all

const costIn = (text: string) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ usage: Schema.Struct({ cost: Schema.Finite }) })))(
    text
  ).usage.cost

const request = { model: "test/rank", query: "q", documents: ["a", "b"] }

/** A provider that bills 400 times its quote. */
const expensive = scripted({ name: "expensive", rerank: (request) => Effect.succeed(asTheyCame(request)) }).map(
  (offer) =>
    offer.kind !== "rerank"
      ? offer
      : {
          ...offer,
          run: (request: RerankRequest, credential: Credential) =>
            Effect.map(offer.run(request, credential), ({ answer, charge }) => ({
              answer,
              charge: { ...charge, cost: MicroCredits.make(400_000) }
            }))
        }
)

it.layer(layer({}, [expensive]), { excludeTestServices: true })("a provider that bills more than its quote", (it) => {
  it.effect("never takes a key beyond its limit, and stops it there", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { organizationId, id: workspaceId } = workspace
      const made = yield* (yield* KeyStore).create({
        organizationId,
        workspaceId,
        name: "limited",
        limit: MicroCredits.make(100_000)
      })
      const key = Redacted.value(made.plain)
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => post("/api/v1/rerank", request, { key })),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(({ status }) => status !== 200 && status !== 402)).toEqual([])
      const usage = yield* TestLedger.usageOf({ keyHash: made.key.hash })
      expect(usage.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(100_000)
      // A further one takes what is left.
      const last = yield* post("/api/v1/rerank", request, { key })
      expect((yield* post("/api/v1/rerank", request, { key })).status).toBe(402)
      const charged = (yield* TestLedger.usageOf({ keyHash: made.key.hash })).map(({ cost }) => cost)
      expect(charged.reduce((sum, cost) => sum + cost, 0)).toBe(100_000)
      // Every answer says what was charged for it.
      const said = [...answers, last].filter(({ status }) => status === 200).map(({ text }) => costIn(text))
      expect(said.map((cost) => Math.round(cost * 1e6)).toSorted((a, b) => a - b)).toEqual(
        charged.toSorted((a, b) => a - b)
      )
    })
  )
})

it.layer(
  layer({}, [
    scripted({ name: "first", rerank: () => Effect.fail(new ProviderError({ reason: new Timeout() })) }),
    scripted({
      name: "second",
      rerank: (request) =>
        request.query === "wrong" ? Effect.fail(invalidRequest("no")) : Effect.succeed(asTheyCame(request))
    })
  ]),
  { excludeTestServices: true }
)("a paid request", (it) => {
  it.effect("writes one event with its charge, however often it is repeated", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      yield* TestOutbox.broadcast(workspace)
      const body = { ...request, user: "ada", trace: { trace_id: "t-1", tenant: { plan: "pro" } } }
      for (let turn = 0; turn < 3; turn++) {
        expect((yield* post("/api/v1/rerank", body, { headers: { "idempotency-key": "once" } })).status).toBe(200)
      }
      const [row, ...rows] = yield* TestLedger.usageOf()
      expect(rows).toEqual([])
      const [written, ...others] = yield* events
      expect(others).toEqual([])
      expect(written).toMatchObject({
        id: `evt_${row?.id}`,
        type: "rerank.completed",
        workspace_id: workspace.id,
        key_hash: row?.keyHash,
        model: "test/rank",
        generation_id: row?.id,
        provider: "second",
        upstream_model: "rank-1",
        cost_micro: 1000,
        is_byok: false,
        usage: { search_units: 1, total_tokens: 2 },
        user: "ada",
        trace: { trace_id: "t-1", tenant: { plan: "pro" } },
        attempts: [
          { provider: "first", outcome: "Timeout" },
          { provider: "second", outcome: "Success" }
        ],
        job: null,
        callback_url: null
      })
    })
  )

  it.effect("that fails writes one event with its status and attempts, and is charged nothing", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { workspace } = yield* TestGateway
      yield* TestOutbox.broadcast(workspace)
      const before = [(yield* events).length, yield* accounting.balanceOf(workspace.id)]
      expect((yield* post("/api/v1/rerank", { ...request, query: "wrong", user: "ada" })).status).toBe(400)
      const written = yield* events
      expect([written.length - 1, yield* accounting.balanceOf(workspace.id)]).toEqual(before)
      expect(written.at(-1)).toMatchObject({
        type: "rerank.failed",
        workspace_id: workspace.id,
        model: "test/rank",
        provider: "second",
        upstream_model: null,
        error_status: 400,
        cost_micro: 0,
        input: { documents: 2 },
        usage: {},
        user: "ada",
        attempts: [
          { provider: "first", outcome: "Timeout", billed: "unknown" },
          { provider: "second", outcome: "InvalidRequest", billed: "no" }
        ]
      })
    })
  )
})

it.layer(
  layer({}, [
    scripted({
      name: "only",
      rerank: (request) =>
        request.query === "wrong" ? Effect.fail(invalidRequest("no")) : Effect.succeed(asTheyCame(request))
    })
  ]),
  { excludeTestServices: true }
)("a paid request of a workspace", (it) => {
  it.effect("writes an event only while the workspace has an enabled destination, of whichever outcome", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { organizationId } = workspace
      const store = yield* DestinationStore
      const enable = (id: string, enabled: boolean) =>
        store.update(organizationId, id, (present) => Effect.succeed({ ...present, enabled }))
      const once = ["rerank.completed", "rerank.failed"]
      const ask = Effect.fnUntraced(function* () {
        expect((yield* post("/api/v1/rerank", request)).status).toBe(200)
        expect((yield* post("/api/v1/rerank", { ...request, query: "wrong" })).status).toBe(400)
        return (yield* events).map(({ type }) => type)
      })
      const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "other", slug: "other" })
      yield* TestOutbox.broadcast(other)
      expect(yield* ask()).toEqual([])
      const { id } = yield* TestOutbox.broadcast(workspace)
      expect(yield* ask()).toEqual(once)
      yield* enable(id, false)
      expect(yield* ask()).toEqual(once)
      yield* enable(id, true)
      expect(yield* ask()).toEqual([...once, ...once])
      yield* store.remove(organizationId, id)
      expect(yield* ask()).toEqual([...once, ...once])
      expect((yield* TestLedger.usageOf()).length).toBe(5)
    })
  )
})
