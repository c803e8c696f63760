import { CreateResponse, type Destination, ListResponse, Response } from "@model-gateway/core/Destinations"
import { expect, it } from "@effect/vitest"
import { OpenRouter } from "@openrouter/sdk"
import { Effect, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { kind } from "../TestStorage.ts"

const path = "/api/v1/observability/destinations"

const created = Schema.decodeUnknownSync(Schema.fromJsonString(CreateResponse))
const one = Schema.decodeUnknownSync(Schema.fromJsonString(Response))
const listed = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))

const collector = { endpoint: "https://collector.example/v1/traces" }

const make = (body: object) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    return yield* post(path, { name: "n", type: "otel-collector", config: collector, ...body }, { key })
  })

const change = (id: string, body: object) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    return yield* post(`${path}/${id}`, body, { key, method: "PATCH" })
  })

/** A signing secret of this many bytes. */
const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes).toString("base64")}`

const remove = ({ id }: Destination) =>
  Effect.gen(function* () {
    const { ask, managementKey: key } = yield* TestGateway
    const { status, text } = yield* ask(`${path}/${id}`, { key, method: "DELETE" })
    expect([status, JSON.parse(text)]).toEqual([200, { deleted: true }])
  })

it.layer(layer(), { excludeTestServices: true })("/observability/destinations", (it) => {
  it.effect("are created with defaults, listed, read, changed and deleted", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const answer = yield* make({})
      expect(answer.status).toBe(201)
      const { data, signing_secret } = created(answer.text)
      expect(signing_secret).toBeUndefined()
      expect(data).toMatchObject({
        name: "n",
        type: "otel-collector",
        workspace_id: workspace.id,
        enabled: true,
        config: { ...collector, headers: {} },
        api_key_hashes: null,
        broadcast_generation_cost: false,
        broadcast_generation_identity: false,
        broadcast_generation_request_context: false,
        filter_rules: null,
        privacy_mode: false,
        regions: ["global"],
        sampling_rate: 1
      })
      const second = created((yield* make({ name: "m" })).text).data
      const all = listed((yield* ask(path, { key })).text)
      expect(all.total_count).toBe(2)
      expect(all.data.map(({ name }) => name)).toEqual(["m", "n"])
      expect(listed((yield* ask(`${path}?offset=1&limit=1`, { key })).text)).toEqual({ data: [data], total_count: 2 })
      expect(one((yield* ask(`${path}/${data.id.toUpperCase()}`, { key })).text)).toEqual({ data })
      const changes = { name: "o", enabled: false, sampling_rate: 0.5, api_key_hashes: ["h"], filter_rules: null }
      expect(one((yield* change(data.id, changes)).text).data).toMatchObject({ ...changes, config: collector })
      yield* remove(data)
      yield* remove(second)
      expect((yield* ask(`${path}/${data.id}`, { key })).status).toBe(404)
      expect((yield* change(data.id, {})).status).toBe(404)
    })
  )

  it.effect("never show their secrets again, and keep those that are masked in a change", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const headers = { Authorization: "Bearer top-secret", "X-Dataset": "hidden-dataset" }
      const config = { url: "https://hooks.example/in", headers }
      const answer = created((yield* make({ type: "webhook", config })).text)
      expect(answer.signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      const masked = { Authorization: "********", "X-Dataset": "********" }
      const shown = { url: config.url, method: "POST", headers: masked, signing_secret: "********" }
      expect(answer.data.config).toEqual(shown)
      const { id } = answer.data
      const read = yield* ask(`${path}/${id}`, { key })
      const list = yield* ask(path, { key })
      // As a person edits what was read.
      const changed = yield* change(id, {
        config: { ...shown, method: "PUT", headers: { ...masked, "X-Dataset": "other" } }
      })
      expect(one(changed.text).data.config).toEqual({ ...shown, method: "PUT" })
      for (const { text } of [read, list, changed]) {
        expect(text).not.toMatch(/top-secret|hidden-dataset|other|whsec_/)
      }
      const unknown = yield* change(id, { config: { headers: { "X-New": "***" } } })
      expect([unknown.status, issuePaths(unknown)]).toEqual([400, ["config.headers.X-New"]])
      yield* remove(answer.data)
    })
  )

  it.effect("do not send their headers to another origin unless their values are given again", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const headers = { Authorization: "Bearer top-secret" }
      const masked = { Authorization: "********" }
      const { data } = created((yield* make({ config: { ...collector, headers } })).text)
      const moves: ReadonlyArray<readonly [object, string]> = [
        [{ endpoint: "https://elsewhere.example/v1/traces" }, "config.headers"],
        [{ endpoint: "https://collector.example:8443/v1/traces" }, "config.headers"],
        [{ endpoint: "https://elsewhere.example", headers: masked }, "config.headers.Authorization"]
      ]
      for (const [config, at] of moves) {
        const answer = yield* change(data.id, { config })
        expect([answer.status, issuePaths(answer)]).toEqual([400, [at]])
        expect(envelopeOf(answer).error.message).toMatch(/again/)
        expect(one((yield* ask(`${path}/${data.id}`, { key })).text).data.config).toEqual({
          ...collector,
          headers: masked
        })
      }
      const allowed: ReadonlyArray<readonly [object, object]> = [
        [{ endpoint: "https://collector.example/other" }, masked],
        [{ endpoint: "https://elsewhere.example/a", headers }, masked],
        [{ endpoint: "https://third.example/a", headers: {} }, {}],
        [{ endpoint: "https://fourth.example/a" }, {}]
      ]
      for (const [config, left] of allowed) {
        const answer = yield* change(data.id, { config })
        expect(one(answer.text).data.config).toEqual({ ...config, headers: left })
      }
      yield* remove(data)
    })
  )

  it.effect("a mistake is a 400 that names the field, and changes nothing", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const hook = { type: "webhook" }
      const mistakes: ReadonlyArray<readonly [object, string, RegExp]> = [
        [{ type: "datadog" }, "type", /"otel-collector" \| "webhook"/],
        [{ config: {} }, "config.endpoint", /required for otel-collector/],
        [{ ...hook, config: collector }, "config.url", /required for webhook/],
        [{ config: { endpoint: "http://collector.example" } }, "config.endpoint", /https/],
        [{ config: { endpoint: "https://a:b@collector.example" } }, "config.endpoint", /password/],
        [{ config: { endpoint: "https://0x7f.1/v1/traces" } }, "config.endpoint", /public address/],
        [{ ...hook, config: { url: "https://[::ffff:10.0.0.1]/" } }, "config.url", /public address/],
        [{ ...hook, config: { url: "https://h.example", method: "GET" } }, "config.method", /POST/],
        [{ ...hook, config: { url: "https://h.example", signing_secret: "short" } }, "config.signing_secret", /whsec_/],
        [
          { ...hook, config: { url: "https://h.example", signing_secret: secretOf(65) } },
          "config.signing_secret",
          /24 to 64 bytes/
        ],
        [{ config: { ...collector, headers: { Host: "a" } } }, "config.headers.Host", /sets? itself/],
        [{ config: { ...collector, headers: { a: "b\nc" } } }, "config.headers.a", /ASCII/],
        [{ config: { ...collector, headers: { "a b": "c" } } }, "config.headers.a b", /name of an HTTP header/],
        [
          { config: { ...collector, headers: { ["x".repeat(129)]: "c" } } },
          `config.headers.${"x".repeat(129)}`,
          /at most 128/
        ],
        [{ config: { ...collector, headers: { constructor: "***" } } }, "config.headers.constructor", /no such header/],
        [{ sampling_rate: 0 }, "sampling_rate", /0\.0001/],
        [{ api_key_hashes: [] }, "api_key_hashes", /1/],
        [{ regions: ["europe"] }, "regions.0", /global/],
        [
          { filter_rules: { groups: [{ rules: [{ field: "input", operator: "exists" }] }] } },
          "filter_rules.groups.0.rules.0.field",
          /total_cost/
        ],
        [
          { filter_rules: { groups: [{ rules: [{ field: "model", operator: "regex", value: "(a+)+" }] }] } },
          "filter_rules.groups.0.rules.0.operator",
          /starts_with/
        ],
        [
          { filter_rules: { groups: [{ rules: [{ field: "model", operator: "equals" }] }] } },
          "filter_rules.groups.0.rules.0",
          /value/
        ]
      ]
      for (const [body, at, message] of mistakes) {
        const answer = yield* make(body)
        expect([answer.status, issuePaths(answer)], JSON.stringify(body)).toEqual([400, [at]])
        expect(envelopeOf(answer).error.message).toMatch(message)
      }
      for (const bytes of [24, 25, 26, 64]) {
        const answer = yield* make({ ...hook, config: { url: "https://h.example", signing_secret: secretOf(bytes) } })
        yield* remove(created(answer.text).data)
      }
      expect(listed((yield* ask(path, { key })).text).total_count).toBe(0)
    })
  )

  it.effect("belong to their organization and to management keys, and are limited in number", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      expect((yield* ask(path)).status).toBe(403)
      expect((yield* ask(path, { key: null })).status).toBe(401)
      expect((yield* make({ workspace_id: "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd" })).status).toBe(403)
      const all = yield* Effect.forEach(Array.from({ length: 20 }), () => make({}))
      const full = yield* make({})
      expect(full.status).toBe(400)
      expect(envelopeOf(full).error.message).toMatch(/at most 20 destinations/)
      yield* Effect.forEach(all, ({ text }) => remove(created(text).data))
    })
  )

  it.effect("work with OpenRouter's SDK", () =>
    Effect.gen(function* () {
      const { managementKey, port } = yield* TestGateway
      const sdk = new OpenRouter({ apiKey: managementKey, serverURL: `http://127.0.0.1:${port}/api/v1` })
      const destinations = sdk.observability
      const headers = { authorization: "Bearer x" }
      const { data } = yield* Effect.promise(() =>
        destinations.create({
          createObservabilityDestinationRequest: {
            name: "hook",
            type: "webhook",
            config: { url: "https://hooks.example", headers },
            filterRules: { groups: [{ rules: [{ field: "total_cost", operator: "gt", value: 0.5 }] }] },
            samplingRate: 0.5
          }
        })
      )
      expect(data).toMatchObject({
        type: "webhook",
        name: "hook",
        samplingRate: 0.5,
        config: { url: "https://hooks.example", method: "POST", headers: { authorization: "********" } },
        filterRules: { groups: [{ logic: "and", rules: [{ field: "total_cost", operator: "gt", value: 0.5 }] }] }
      })
      if (!("id" in data)) return yield* Effect.die(new Error("the SDK does not know the type"))
      const { id } = data
      const got = yield* Effect.promise(() => destinations.get({ id }))
      expect(got.data).toEqual(data)
      const pages = yield* Effect.promise(() => destinations.list({ limit: 1 }))
      expect(pages.result).toEqual({ data: [data], totalCount: 1 })
      const updateObservabilityDestinationRequest = { enabled: false }
      const { data: off } = yield* Effect.promise(() =>
        destinations.update({ id, updateObservabilityDestinationRequest })
      )
      expect(off).toMatchObject({ id, enabled: false })
      expect(yield* Effect.promise(() => destinations.delete({ id }))).toEqual({ deleted: true })
    })
  )

  it.effect.runIf(kind === "sqlite")("their secrets and endpoints are not in the database in plain text", () =>
    Effect.gen(function* () {
      const { folder } = yield* TestGateway
      const headers = { authorization: "Bearer never-on-disk" }
      const config = { endpoint: "https://collector.example/in/never-on-disk", headers }
      const { data } = created((yield* make({ name: "always-on-disk", config })).text)
      const files = readdirSync(folder)
        .filter((name) => name.startsWith("gateway.db"))
        .map((name) => readFileSync(join(folder, name), "latin1"))
      expect(files.map((text) => text.includes("always-on-disk"))).toContain(true)
      expect(files.map((text) => text.includes("never-on-disk"))).not.toContain(true)
      expect(data.config).toEqual({ ...config, headers: { authorization: "********" } })
      yield* remove(data)
    })
  )
})
