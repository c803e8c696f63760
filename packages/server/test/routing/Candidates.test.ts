/** What callers require of providers, over HTTP, for each kind of request. */
import { expect, it } from "@effect/vitest"
import type { DataPolicy } from "@model-gateway/offers/DataPolicy"
import { Effect, Schema } from "effect"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { keypad } from "../operations/TestAudio.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"

const transcript = () => Effect.succeed({ text: "hello", duration: 1, segments: [] })

const provider = (name: string, dataPolicy?: DataPolicy, ignored: ReadonlyArray<string> = []) =>
  scripted({
    name,
    ignored,
    ...(dataPolicy === undefined ? {} : { dataPolicy }),
    rerank: (request) => Effect.succeed(asTheyCame(request)),
    transcribe: transcript
  })

const offers = [
  provider("silent"),
  provider("trains", { training: true, retainsPrompts: false }),
  provider("forever", { training: false, retainsPrompts: true }),
  provider("unsaid", { training: false }),
  provider("month", { training: false, retainsPrompts: true, promptRetentionDays: 30 }, ["temperature: not used."]),
  provider("none", { training: false, retainsPrompts: false }),
  makeUpstream([{ ...model, ignored: ({ seed }) => (seed === undefined ? [] : ["seed: not used."]) }]).offers
]

const rerank = (preferences: object) =>
  post("/api/v1/rerank", { model: "test/rank", query: "tea", documents: ["tea"], provider: preferences })

const transcribe = (preferences: object) =>
  post("/api/v1/audio/transcriptions", {
    model: "test/hear",
    input_audio: { data: keypad("1").toString("base64"), format: "wav" },
    provider: preferences
  })

const film = (preferences: object, more: object = {}) =>
  post("/api/v1/videos", { model: model.id, prompt: "a harbor", provider: preferences, ...more })

const served = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ provider: Schema.String })))

const names = ["silent", "trains", "forever", "unsaid", "month", "none"]

/** The providers that may serve a rerank with the preferences. */
const serving = Effect.fnUntraced(function* (preferences: object) {
  const able: Array<string> = []
  for (const name of names) {
    const answer = yield* rerank({ ...preferences, only: [name] })
    expect([200, 404]).toContain(answer.status)
    if (answer.status === 200) able.push(served(answer.text).provider)
  }
  return able
})

it.layer(layer({}, offers), { excludeTestServices: true })("a request", (it) => {
  it.effect("with data_collection deny goes to providers that neither train nor keep data for good", () =>
    Effect.gen(function* () {
      expect(yield* serving({ data_collection: "deny" })).toEqual(["month", "none"])
      expect(yield* serving({ data_collection: "allow" })).toEqual(names)
      expect(yield* serving({ data_collection: null, zdr: null, require_parameters: null })).toEqual(names)
    })
  )

  it.effect("with zdr goes to providers that declare zero data retention", () =>
    Effect.gen(function* () {
      expect(yield* serving({ zdr: true })).toEqual(["trains", "none"])
      expect(yield* serving({ zdr: true, data_collection: "deny" })).toEqual(["none"])
      expect(yield* serving({ zdr: false })).toEqual(names)
    })
  )

  it.effect("with require_parameters goes to providers that ignore nothing of it", () =>
    Effect.gen(function* () {
      expect(yield* serving({ require_parameters: true })).toEqual(names.filter((name) => name !== "month"))
      const refused = yield* rerank({ require_parameters: true, only: ["month"] })
      expect([refused.status, envelopeOf(refused).error.message]).toEqual([
        404,
        'resource not found: no provider of the model "test/rank" uses every parameter of the request, as provider.require_parameters requires. temperature: not used.'
      ])
    })
  )

  it.effect("for a transcription with require_parameters goes to providers that ignore nothing of it", () =>
    Effect.gen(function* () {
      expect((yield* transcribe({ require_parameters: true, only: ["month"] })).status).toBe(404)
      expect((yield* transcribe({ require_parameters: true, only: ["none"] })).status).toBe(200)
    })
  )

  it.effect("of any kind is a 404 that names the preference which left no provider", () =>
    Effect.gen(function* () {
      const only = { only: ["silent"] }
      for (const [answer, id] of [
        [yield* rerank({ ...only, zdr: true }), "test/rank"],
        [yield* transcribe({ ...only, zdr: true }), "test/hear"],
        [yield* film({ zdr: true }), model.id]
      ] as const) {
        expect([answer.status, envelopeOf(answer).error.message]).toEqual([
          404,
          `resource not found: no provider of the model "${id}" declares zero data retention, as provider.zdr requires`
        ])
      }
      for (const answer of [
        yield* rerank({ ...only, data_collection: "deny" }),
        yield* transcribe({ ...only, data_collection: "deny" }),
        yield* film({ data_collection: "deny" })
      ]) {
        expect(answer.status).toBe(404)
        expect(envelopeOf(answer).error.message).toContain('provider.data_collection "deny"')
      }
      expect((yield* film({ require_parameters: true }, { seed: 7 })).status).toBe(404)
      expect((yield* film({ require_parameters: true })).status).toBe(202)
    })
  )

  it.effect("with preferences that are null is served as one without them", () =>
    Effect.gen(function* () {
      const unset = { allow_fallbacks: null, order: null, only: null, ignore: null, sort: null }
      expect(served((yield* rerank(unset)).text).provider).toBe("silent")
      expect((yield* transcribe(unset)).status).toBe(200)
      expect((yield* film(unset)).status).toBe(202)
    })
  )

  it.effect("with another value of data_collection is a 400", () =>
    Effect.gen(function* () {
      const answer = yield* rerank({ data_collection: "never" })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["provider.data_collection"]])
    })
  )

  it.effect("for the listings shows what providers declare", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const Policies = Schema.Struct({ data_policy: Schema.optionalKey(Schema.Unknown) })
      const endpoints = Schema.decodeUnknownSync(
        Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ endpoints: Schema.Array(Policies) }) }))
      )((yield* ask("/api/v1/models/test/rank/endpoints")).text).data.endpoints
      expect(endpoints).toEqual([
        {},
        { data_policy: { training: true, retains_prompts: false, prompt_retention_days: null } },
        { data_policy: { training: false, retains_prompts: true, prompt_retention_days: null } },
        { data_policy: { training: false, retains_prompts: null, prompt_retention_days: null } },
        { data_policy: { training: false, retains_prompts: true, prompt_retention_days: 30 } },
        { data_policy: { training: false, retains_prompts: false, prompt_retention_days: null } }
      ])
      expect((yield* ask("/api/v1/providers")).text).toContain('"prompt_retention_days":30')
    })
  )

  it.effect("with zdr uses no provider key whose owner declares that data is retained", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const key = { provider: "none", key: "own-secret-0123456789", is_byok_only: true, declared_zdr: false }
      expect((yield* post("/api/v1/byok", key, { key: managementKey })).status).toBe(201)
      expect((yield* rerank({ only: ["none"] })).status).toBe(200)
      expect((yield* rerank({ only: ["none"], zdr: true })).status).toBe(404)
    })
  )
})
