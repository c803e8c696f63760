import { AssignmentList, AssignResponse, ListResponse, Response } from "@model-gateway/core/Guardrails"
import { CreateResponse } from "@model-gateway/core/Keys"
import { Response as WorkspaceResponse } from "@model-gateway/core/Workspaces"
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const path = "/api/v1/guardrails"

const one = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

const assigned = Schema.decodeUnknownSync(Schema.fromJsonString(AssignResponse))

const keyOf = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(CreateResponse)))

const workspaceOf = Schema.decodeUnknownSync(Schema.fromJsonString(WorkspaceResponse))

const nobody = "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd"

const make = (name: string) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    return one((yield* post(path, { name }, { key })).text).data.id
  })

const makeKey = (name: string) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    return keyOf((yield* post("/api/v1/keys", { name }, { key })).text).data.hash
  })

it.layer(layer(), { excludeTestServices: true })("/guardrails", (it) => {
  it.effect("assigns many keys to one, each known one counted once", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const [first, second] = [yield* make("first"), yield* make("second")]
      const [a, b] = [yield* makeKey("a"), yield* makeKey("b")]
      const assign = (id: string, hashes: ReadonlyArray<string>) =>
        Effect.map(post(`${path}/${id}/assignments/keys`, { key_hashes: hashes }, { key }), ({ text }) =>
          assigned(text)
        )
      expect(yield* assign(first, [a, b, a, "unknown"])).toEqual({
        assigned_count: 2,
        not_found: ["unknown"],
        replaced: []
      })
      expect(yield* assign(second, [b])).toEqual({
        assigned_count: 1,
        not_found: [],
        replaced: [{ key_hash: b, previous_guardrail_id: first }]
      })
      expect((yield* assign(first.toUpperCase(), [a])).assigned_count).toBe(1)
      const held = yield* ask(`${path}/${first}/assignments/keys`, { key })
      expect(Schema.decodeUnknownSync(Schema.fromJsonString(AssignmentList))(held.text)).toMatchObject({
        data: [{ key_hash: a, key_name: "a", guardrail_id: first }],
        has_more: false
      })
      const removed = yield* post(`${path}/${first}/assignments/keys/remove`, { key_hashes: [a, b] }, { key })
      expect(JSON.parse(removed.text)).toEqual({ unassigned_count: 1 })
    })
  )

  it.effect("says what is wrong with an assignment", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const id = yield* make("strict")
      for (const [body, paths] of [
        [{}, ["key_hashes"]],
        [{ key_hashes: [] }, ["key_hashes.0"]],
        [{ key_hashes: ["", 7] }, ["key_hashes.0", "key_hashes.1"]]
      ] as const) {
        const answer = yield* post(`${path}/${id}/assignments/keys`, body, { key })
        expect([answer.status, issuePaths(answer)]).toEqual([400, paths])
      }
      const malformed = yield* post(`${path}/none/assignments/keys`, { key_hashes: ["a"] }, { key })
      expect([malformed.status, issuePaths(malformed)]).toEqual([400, ["id"]])
      const missing = yield* post(`${path}/${nobody}/assignments/keys`, { key_hashes: ["a"] }, { key })
      expect([missing.status, envelopeOf(missing).error.message]).toEqual([
        404,
        "resource not found: there is no such guardrail"
      ])
    })
  )

  it.effect("are made, read, changed, listed and deleted", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const request = {
        name: "team",
        description: "the team's",
        limit: 2.5,
        limit_reset: "monthly",
        allowed_models: ["sandbox/bm25"]
      }
      const { data } = one((yield* post(path, request, { key })).text)
      expect(data).toMatchObject({ ...request, allowed_providers: null })
      const named = `${path}/${data.id}`
      const changed = yield* post(named, { limit: null, allowed_models: null }, { key, method: "PATCH" })
      expect(one(changed.text).data).toMatchObject({
        name: "team",
        limit: null,
        allowed_models: null,
        description: "the team's"
      })
      const list = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))((yield* ask(path, { key })).text)
      expect(list.data[0]?.id).toBe(data.id)
      expect(JSON.parse((yield* ask(named, { key, method: "DELETE" })).text)).toEqual({ deleted: true })
      expect((yield* ask(named, { key })).status).toBe(404)
    })
  )
})

it.layer(layer(), { excludeTestServices: true })("/workspaces", (it) => {
  it.effect("are read and changed", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const named = `/api/v1/workspaces/${workspace.id}`
      expect(workspaceOf((yield* ask(named, { key })).text).data).toMatchObject({
        is_default: true,
        file_shape: "native"
      })
      const change = { name: "lab", file_shape: "compat_a", default_callback_url: "https://example.com/hook" }
      expect(workspaceOf((yield* post(named, change, { key, method: "PATCH" })).text).data).toMatchObject(change)
      const wrong = yield* post(
        named,
        { default_callback_url: "http://insecure", file_shape: "round" },
        { key, method: "PATCH" }
      )
      expect([wrong.status, issuePaths(wrong).toSorted()]).toEqual([400, ["default_callback_url", "file_shape"]])
      expect((yield* ask(`/api/v1/workspaces/${nobody}`, { key })).status).toBe(404)
    })
  )

  it.effect("get credits once under one idempotency key", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const named = `/api/v1/workspaces/${workspace.id}`
      const before = workspaceOf((yield* ask(named, { key })).text).data.credits
      const add = (amount: unknown, idempotencyKey: string) =>
        post(`${named}/credits`, { amount }, { key, headers: { "idempotency-key": idempotencyKey } })
      const [first, second] = yield* Effect.all([add(2.5, "a"), add(2.5, "a")], { concurrency: 2 })
      expect(first.text).toBe(second.text)
      expect(workspaceOf(first.text).data.credits).toBe(before + 2.5)
      expect(workspaceOf((yield* ask(named, { key })).text).data.credits).toBe(before + 2.5)
      expect((yield* add(3, "a")).status).toBe(400)
      for (const amount of [0, -1, 1e10, "7", 1e-9]) {
        const wrong = yield* add(amount, "b")
        expect([amount, wrong.status, issuePaths(wrong)[0]]).toEqual([amount, 400, "amount"])
      }
      expect((yield* post(`/api/v1/workspaces/${nobody}/credits`, { amount: 1 }, { key })).status).toBe(404)
      expect(workspaceOf((yield* ask(named, { key })).text).data.credits).toBe(before + 2.5)
    })
  )
})
