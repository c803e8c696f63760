import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import { type ClientRequest, request as httpRequest } from "node:http"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { post } from "../TestEnvelope.ts"
import * as TestStorage from "../TestStorage.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }

/**
 * Assigns a new guardrail with a limit to the gateway's ordinary key, and returns its id.
 */
const guarded = Effect.gen(function* () {
  const { ordinaryKey, workspace } = yield* TestGateway
  const { organizationId } = workspace
  const guardrails = yield* GuardrailStore
  const limit = MicroCredits.make(100_000_000)
  const { id } = yield* guardrails.create({ organizationId, name: "g", limit })
  const { assignedCount } = yield* guardrails.assign(organizationId, id, [KeyFormat.hashKey(ordinaryKey)])
  expect(assignedCount).toBe(1)
  return { id, organizationId }
})

/** Runs over the same database with its own stores and caches, as another process does. */
const inAnotherProcess = <A, E>(effect: Effect.Effect<A, E, GuardrailStore>) =>
  Effect.gen(function* () {
    const { database } = yield* TestGateway
    return yield* Effect.provide(effect, TestStorage.layerAt(database))
  })

it.live("a key keeps working when another process deleted its guardrail", () =>
  Effect.gen(function* () {
    const { id, organizationId } = yield* guarded
    expect((yield* post("/api/v1/rerank", rerank)).status).toBe(200)
    yield* inAnotherProcess(Effect.flatMap(GuardrailStore, ({ remove }) => remove(organizationId, id)))
    // This process has the guardrail in its cache for some seconds.
    expect((yield* post("/api/v1/rerank", rerank)).status).toBe(200)
    expect((yield* post("/api/v1/videos", film)).status).toBe(202)
  }).pipe(Effect.provide(layer()))
)

/**
 * A rerank request that is authenticated and whose body the server waits for. `finish` sends the
 * body and returns the status.
 */
const begin = Effect.gen(function* () {
  const { ordinaryKey, port } = yield* TestGateway
  const status = yield* Deferred.make<number>()
  const request = yield* Effect.callback<ClientRequest>((resume) => {
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      path: "/api/v1/rerank",
      method: "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${ordinaryKey}`,
        "content-type": "application/json",
        expect: "100-continue"
      }
    })
    request.on("continue", () => resume(Effect.succeed(request)))
    request.on("error", (error) => resume(Effect.die(error)))
    request.on("response", (response) => {
      Deferred.doneUnsafe(status, Effect.succeed(response.statusCode ?? 0))
      response.resume()
    })
    request.flushHeaders()
  })
  return {
    finish: Effect.andThen(
      Effect.sync(() => request.end(JSON.stringify(rerank))),
      Deferred.await(status)
    )
  }
})

it.live("requests in flight succeed when the guardrail of their key is deleted", () =>
  Effect.gen(function* () {
    const { ask, managementKey: key, workspace } = yield* TestGateway
    const accounting = yield* Accounting
    const { id } = yield* guarded
    const all = { concurrency: "unbounded" } as const
    const requests = yield* Effect.all(
      Array.from({ length: 20 }, () => begin),
      all
    )
    expect((yield* ask(`/api/v1/guardrails/${id}`, { method: "DELETE", key })).status).toBe(200)
    const statuses = yield* Effect.forEach(requests, ({ finish }) => finish, all)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(yield* TestLedger.openReservations).toEqual([])
    expect(yield* accounting.balanceOf(workspace.id)).toMatchObject({ reserved: 0 })
  }).pipe(Effect.provide(layer()))
)

it.effect("reserves, settles and releases without a guardrail that was deleted", () =>
  Effect.gen(function* () {
    const accounting = yield* Accounting
    const guardrails = yield* GuardrailStore
    const workspace = yield* (yield* WorkspaceStore).ensureDefault({ credits: MicroCredits.make(1000) })
    const { id: workspaceId, organizationId } = workspace
    const { key } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "k" })
    const { id: guardrailId } = yield* guardrails.create({ organizationId, name: "g", limit: MicroCredits.make(10) })
    const reserve = (id: string, amount: number) =>
      accounting.reserve({
        id,
        payer: { keyHash: key.hash, workspaceId, guardrailId },
        operation: "rerank",
        model: "sandbox/bm25",
        amount: MicroCredits.make(amount)
      })
    const outcome = { cost: MicroCredits.make(4), provider: "sandbox", upstreamModel: "bm25" }

    const before = yield* Effect.all([reserve("gen-1", 5), reserve("gen-2", 5)])
    expect(Exit.isFailure(yield* Effect.exit(reserve("gen-3", 1)))).toBe(true)
    yield* guardrails.remove(organizationId, guardrailId)
    const after = yield* reserve("gen-4", 500)
    expect(yield* accounting.settle(before[0], outcome)).toBe("done")
    expect(yield* accounting.release(before[1])).toBe("done")
    expect(yield* accounting.settle(after, outcome)).toBe("done")
    expect(yield* accounting.balanceOf(workspaceId)).toEqual({ balance: 992, reserved: 0, available: 992 })
  }).pipe(Effect.provide(TestStorage.layer))
)
