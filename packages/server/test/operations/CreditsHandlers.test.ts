import { Response } from "@model-gateway/core/Credits"
import { expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Schema } from "effect"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response), { onExcessProperty: "error" })

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
