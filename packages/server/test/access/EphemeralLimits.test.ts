/** Ephemeral keys that may do less than their parent. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { EphemeralResponse, ephemeralOperations, Response } from "@model-gateway/core/Keys"
import * as Operation from "@model-gateway/core/Operation"
import { expect, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { all } from "../../src/http/Routes.ts"
import { form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const path = "/api/v1/keys/ephemeral"

const made = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(EphemeralResponse)))

const identified = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

const listed = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))
)

const ephemeral = (limits: object) => Effect.map(post(path, limits), (answer) => made(answer.text).key)

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["tea"] }

const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }

/** Uploads a file with the key and answers its identifier. */
const upload = (key: string) =>
  Effect.gen(function* () {
    const { ask } = yield* TestGateway
    const answer = yield* ask("/api/v1/files", {
      method: "POST",
      key,
      headers: formHeaders,
      body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a", value: "a" })
    })
    return identified(answer.text).id
  })

it("can be limited to each operation of an ordinary key except creating ephemeral keys", () => {
  const callable: Array<string> = []
  HttpApi.reflect(GatewayApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      if (Operation.of(endpoint)?.access !== "management key") callable.push(endpoint.identifier)
    }
  })
  expect(new Set([...ephemeralOperations, "createEphemeralKey"])).toEqual(new Set(callable))
})

it.layer(layer(), { excludeTestServices: true })("an ephemeral key that is limited", (it) => {
  it.effect("to operations gets a 403 with the reason for every other operation, before its body is read", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const key = yield* ephemeral({ operations: ["rerank", "listFiles"] })
      expect((yield* post("/api/v1/rerank", rerank, { key })).status).toBe(200)
      expect((yield* ask("/api/v1/files", { key })).status).toBe(200)
      expect((yield* ask("/api/v1/key", { key })).status).toBe(200)
      const others = all.filter(
        ({ name }) =>
          ephemeralOperations.some((known) => known === name) && !["rerank", "listFiles", "currentKey"].includes(name)
      )
      expect(others.length).toBe(ephemeralOperations.length - 3)
      for (const { method, name, path } of others) {
        const body = method === "POST" ? "{" : undefined
        const answer = yield* ask(path.replaceAll(/:\w+/g, "x"), { method, key, body })
        expect([name, answer.status]).toEqual([name, 403])
        expect(envelopeOf(answer).error.message).toContain(`this ephemeral key may not call ${name}`)
      }
    })
  )

  it.effect("to unknown operations is rejected with a 400 that names them", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, { operations: ["rerank", "createKey", "flyToTheMoon"] })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["operations.1", "operations.2"]])
      expect(answer.text).toContain("createKey")
      expect(answer.text).toContain("flyToTheMoon")
    })
  )

  it.effect("to its own files lists, reads and deletes only those", () =>
    Effect.gen(function* () {
      const { ask, ordinaryKey } = yield* TestGateway
      const [key, sibling] = [yield* ephemeral({ own_files: true }), yield* ephemeral({ own_files: true })]
      const own = yield* upload(key)
      const foreign = [yield* upload(ordinaryKey), yield* upload(sibling), yield* upload(yield* ephemeral({}))]
      expect(listed((yield* ask("/api/v1/files", { key })).text).data.map(({ id }) => id)).toEqual([own])
      for (const id of foreign) {
        for (const [method, suffix] of [
          ["GET", ""],
          ["GET", "/content"],
          ["DELETE", ""]
        ] as const) {
          expect((yield* ask(`/api/v1/files/${id}${suffix}`, { method, key })).status).toBe(404)
        }
        // A key without that limit sees it.
        expect((yield* ask(`/api/v1/files/${id}`)).status).toBe(200)
      }
      expect((yield* ask(`/api/v1/files/${own}/content`, { key })).text).toBe("a")
      expect((yield* ask(`/api/v1/files/${own}`)).status).toBe(200)
      expect((yield* ask(`/api/v1/files/${own}`, { method: "DELETE", key })).status).toBe(200)
    })
  )

  it.effect("to its own files sees only the requests that it made", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const [key, sibling] = [yield* ephemeral({ own_files: true }), yield* ephemeral({ own_files: true })]
      const paid = (from: string) =>
        Effect.map(post("/api/v1/rerank", rerank, { key: from }), ({ text }) => identified(text).id)
      const status = (id: string, reader: string) =>
        Effect.map(ask(`/api/v1/generation?id=${id}`, { key: reader }), (answer) => answer.status)
      const own = yield* paid(key)
      const foreign = [yield* paid(ordinaryKey), yield* paid(sibling), yield* paid(yield* ephemeral({}))]
      expect(yield* status(own, key)).toBe(200)
      for (const id of foreign) expect(yield* status(id, key)).toBe(404)
      // Keys without that limit see all of them.
      for (const id of [own, ...foreign]) {
        for (const reader of [ordinaryKey, managementKey, yield* ephemeral({})]) {
          expect(yield* status(id, reader)).toBe(200)
        }
      }
    })
  )

  it.effect("to its own files reads, lists and cancels only its own video jobs", () =>
    Effect.gen(function* () {
      const { ask, ordinaryKey } = yield* TestGateway
      const key = yield* ephemeral({ own_files: true })
      const submit = (from: string) =>
        Effect.map(post("/api/v1/videos", film, { key: from }), ({ text }) => identified(text).id)
      const [own, foreign] = [yield* submit(key), yield* submit(ordinaryKey)]
      expect((yield* ask(`/api/v1/videos/${own}`, { key })).status).toBe(200)
      const list = (query: string) =>
        Effect.map(ask(`/api/v1/videos${query}`, { key }), ({ text }) => listed(text).data)
      expect((yield* list("")).map(({ id }) => id)).toEqual([own])
      expect(yield* list("?status=expired")).toEqual([])
      for (const [method, suffix] of [
        ["GET", ""],
        ["GET", "?wait=1"],
        ["GET", "/content"],
        ["POST", "/cancel"]
      ] as const) {
        expect((yield* ask(`/api/v1/videos/${foreign}${suffix}`, { method, key })).status).toBe(404)
      }
      expect((yield* ask(`/api/v1/videos/${own}`)).status).toBe(200)
    })
  )

  it.effect("shows its limits to a management key", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const key = yield* ephemeral({ operations: ["rerank", "rerank", "getFile"], own_files: true })
      const shown = Effect.fnUntraced(function* (plain: string) {
        const hash = Result.getOrThrow(KeyFormat.parse(plain)).hash
        const { text } = yield* ask(`/api/v1/keys/${hash}`, { key: managementKey })
        return Schema.decodeUnknownSync(Schema.fromJsonString(Response))(text).data
      })
      expect(yield* shown(key)).toMatchObject({ operations: ["rerank", "getFile"], own_files: true })
      const unlimited = yield* shown(yield* ephemeral({}))
      expect([unlimited.operations, unlimited.own_files]).toEqual([undefined, false])
      expect((yield* shown(ordinaryKey)).own_files).toBeUndefined()
    })
  )
})
