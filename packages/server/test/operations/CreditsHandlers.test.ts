import { LedgerResponse, Response } from "@model-gateway/core/Credits"
import { expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Workspaces from "@model-gateway/core/Workspaces"
import { Effect, Redacted, Schema } from "effect"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response), { onExcessProperty: "error" })

const decodeLedger = Schema.decodeUnknownSync(Schema.fromJsonString(LedgerResponse), { onExcessProperty: "error" })

const decodeWorkspace = Schema.decodeUnknownSync(Schema.fromJsonString(Workspaces.Response))

const path = "/api/v1/credits"

it.layer(layer(), { excludeTestServices: true })("GET /credits", (it) => {
  it.effect("counts what was added and used in all workspaces of the organization, or in one", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway
      const store = yield* WorkspaceStore
      const read = (query = "") =>
        Effect.map(ask(`${path}${query}`, { key: managementKey }), ({ text }) => decode(text).data)
      const { balance } = yield* store.find(workspace.id)
      const total_credits = MicroCredits.toCredits(balance)
      expect(yield* read()).toEqual({ total_credits, total_usage: 0 })

      const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
      for (let i = 0; i < 3; i++) expect((yield* post("/api/v1/rerank", rerank)).status).toBe(200)
      expect(yield* read()).toEqual({ total_credits, total_usage: 0.003 })

      const other = yield* store.create(workspace.organizationId, { name: "other", slug: "other-team" })
      yield* (yield* Accounting).addCredits(other.id, MicroCredits.make(2_500_001))
      expect(yield* read(`?workspace_id=${other.id}`)).toEqual({ total_credits: 2.500001, total_usage: 0 })
      expect(yield* read(`?workspace_id=${workspace.id.toUpperCase()}`)).toEqual({ total_credits, total_usage: 0.003 })
      const all = { total_credits: MicroCredits.toCredits(MicroCredits.make(balance + 2_500_001)), total_usage: 0.003 }
      expect(yield* read()).toEqual(all)

      // The credits of a deleted workspace are moved to another one, and are counted once.
      const deleted = yield* ask(`/api/v1/workspaces/${other.id}`, { key: managementKey, method: "DELETE" })
      expect(deleted.status).toBe(200)
      expect(yield* read()).toEqual(all)
    })
  )

  it.effect("has a ledger of what was added, corrected and moved, and by which key", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const read = (query: string) =>
        Effect.map(ask(`${path}/ledger${query}`, { key }), (answer) => {
          inSet("listCreditLedger", answer)
          return decodeLedger(answer.text)
        })
      const made = yield* post("/api/v1/workspaces", { name: "Ledger", slug: "ledger" }, { key })
      const { id } = decodeWorkspace(made.text).data
      const change = (body: unknown) => post("/api/v1/workspaces/ledger/credits", body, { key })
      expect((yield* change({ amount: 25, note: "Invoice 1017" })).status).toBe(200)
      for (const amount of [0, 1e9 + 1, -1e9 - 1, -1e-9]) {
        expect(issuePaths(yield* change({ amount, note: "n" }))).toEqual(["amount"])
      }
      const bare = yield* change({ amount: -5 })
      expect([bare.status, issuePaths(bare)]).toEqual([400, ["amount"]])
      const corrected = yield* change({ amount: -30.000001, note: "Invoice 1017 was void" })
      expect([corrected.status, decodeWorkspace(corrected.text).data.credits]).toEqual([200, -5.000001])

      const { hash } = (yield* (yield* KeyStore).authenticate(Redacted.make(key))).key
      const { data, has_more } = yield* read(`?workspace_id=${id}`)
      expect(has_more).toBe(false)
      const entry = { workspace_id: id, actor: hash }
      expect(data).toMatchObject([
        { ...entry, kind: "correction", amount: -30.000001, balance: -5.000001, note: "Invoice 1017 was void" },
        { ...entry, kind: "added", amount: 25, balance: 25, note: "Invoice 1017" }
      ])
      expect(yield* read(`?workspace_id=${id}&limit=1`)).toEqual({ data: data.slice(0, 1), has_more: true })
      expect(yield* read(`?workspace_id=${id}&after=${data[0]?.id}`)).toEqual({ data: data.slice(1), has_more: false })
      const unknown = yield* ask(`${path}/ledger?after=${data[0]?.id}`, { key })
      expect([unknown.status, issuePaths(unknown)]).toEqual([400, ["after"]])

      expect((yield* ask("/api/v1/workspaces/ledger", { key, method: "DELETE" })).status).toBe(200)
      expect((yield* read(`?workspace_id=${id}`)).data[0]).toMatchObject({
        ...entry,
        kind: "moved",
        amount: 5.000001,
        balance: 0
      })
      // Without a workspace, it is the ledger of the default one.
      expect((yield* read("")).data[0]).toMatchObject({
        kind: "moved",
        workspace_id: workspace.id,
        amount: -5.000001,
        actor: hash
      })
      expect((yield* read("")).data.at(-1)).toMatchObject({ kind: "initial", actor: null })
      const ordinary = yield* ask(`${path}/ledger`)
      expect(ordinary.status).toBe(403)
      inSet("listCreditLedger", ordinary)
    })
  )

  it.effect("is for management keys, and for their own organization", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const ordinary = yield* ask(path)
      expect([ordinary.status, envelopeOf(ordinary).error.message]).toEqual([
        403,
        "only management keys can perform this operation"
      ])
      const foreign = yield* ask(`${path}?workspace_id=6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd`, { key })
      expect(foreign.status).toBe(403)
      const malformed = yield* ask(`${path}?workspace_id=mine`, { key })
      expect([malformed.status, issuePaths(malformed)]).toEqual([400, ["workspace_id"]])
      for (const answer of [ordinary, foreign, malformed]) inSet("getCredits", answer)
    })
  )
})
