import { ClosedResponse, ListResponse } from "@model-gateway/core/Reservations"
import { expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const listed = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse), { onExcessProperty: "error" })

const closed = Schema.decodeUnknownSync(Schema.fromJsonString(ClosedResponse), { onExcessProperty: "error" })

const path = "/api/v1/reservations"

it.layer(layer(), { excludeTestServices: true })("/reservations", (it) => {
  it.effect("lists what a crash left, and settles or dismisses each once", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, ordinaryKey, workspace } = yield* TestGateway
      const accounting = yield* Accounting
      const sql = yield* SqlClient
      const keyHash = KeyFormat.hashKey(ordinaryKey)
      const payer = { keyHash, workspaceId: workspace.id, guardrailId: null }
      // As a video job does: no process owns it, so that nothing releases it meanwhile.
      for (const id of ["gen-1", "gen-2", "gen-open"]) {
        const amount = MicroCredits.make(2000)
        yield* accounting.reserve({ id, payer, operation: "video", model: "m", amount, jobId: `video-${id}` })
      }
      yield* sql`UPDATE reservations SET owner = 'proc_dead', job_id = NULL WHERE id <> 'gen-open'`
      yield* accounting.reap
      const read = (query: string) =>
        Effect.map(ask(`${path}${query}`, { key }), (answer) => {
          inSet("listReservations", answer)
          return listed(answer.text)
        })
      const { data, has_more } = yield* read("")
      expect([data.map(({ id }) => id).toSorted(), has_more]).toEqual([["gen-1", "gen-2"], false])
      expect(data[0]).toMatchObject({
        state: "abandoned",
        holder: null,
        workspace_id: workspace.id,
        key_hash: keyHash,
        amount: 0.002
      })
      expect((yield* read("?state=open")).data).toMatchObject([{ id: "gen-open", holder: "job", abandoned_at: null }])

      const balance = Effect.map((yield* WorkspaceStore).find(workspace.id), (found) => found.balance)
      const before = yield* balance
      for (const [body, field] of [
        [{}, "cost"],
        [{ cost: -1 }, "cost"],
        [{ cost: 1e9 + 1 }, "cost"],
        [{ cost: 0.0000001 }, "cost"],
        [{ cost: 1, provider: "" }, "provider"],
        [{ cost: 1, prvider: "p" }, "prvider"]
      ] as const) {
        const wrong = yield* post(`${path}/gen-1/settle`, body, { key })
        expect([wrong.status, issuePaths(wrong)]).toEqual([400, [field]])
      }
      const settled = yield* post(`${path}/gen-1/settle`, { cost: 0.0015, provider: "cohere" }, { key })
      expect(closed(settled.text)).toEqual({ data: { id: "gen-1", workspace_id: workspace.id, cost: 0.0015 } })
      const dismissed = yield* ask(`${path}/gen-2/dismiss`, { key, method: "POST" })
      expect(closed(dismissed.text)).toEqual({ data: { id: "gen-2", workspace_id: workspace.id, cost: 0 } })
      expect(before - (yield* balance)).toBe(1500)
      expect((yield* read("")).data).toEqual([])
      const log: unknown = JSON.parse((yield* ask("/api/v1/generation?id=gen-1", { key })).text)
      expect(log).toMatchObject({ data: { total_cost: 0.0015, provider_name: "cohere" } })

      for (const [id, status] of [
        ["gen-1", 404],
        ["gen-2", 404],
        ["gen-open", 400]
      ] as const) {
        const again = yield* post(`${path}/${id}/settle`, { cost: 1 }, { key })
        inSet("settleReservation", again)
        const alike = yield* ask(`${path}/${id}/dismiss`, { key, method: "POST" })
        inSet("dismissReservation", alike)
        expect([again.status, alike.status]).toEqual([status, status])
      }
      expect(before - (yield* balance)).toBe(1500)
      expect((yield* ask(path)).status).toBe(403)
      expect((yield* post(`${path}/gen-open/settle`, { cost: 1 })).status).toBe(403)
    })
  )
})
