/** The checks of a paid request: the same ones, in the same order, for each kind of work. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { keypad } from "../operations/TestAudio.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { makeUpstream, model as film } from "../video/TestVideo.ts"

const offers = [
  scripted({
    name: "made",
    rerank: (request) => Effect.succeed(asTheyCame(request)),
    transcribe: () => Effect.succeed({ text: "hello", duration: 1, segments: [] })
  }),
  makeUpstream([film], "made").offers
]

const speech = { data: keypad("1").toString("base64"), format: "wav" }

const kinds = [
  { path: "/api/v1/rerank", model: "test/rank", body: { query: "tea", documents: ["tea"] } },
  { path: "/api/v1/audio/transcriptions", model: "test/hear", body: { input_audio: speech } },
  { path: "/api/v1/videos", model: film.id, body: { prompt: "tea" } }
]

/** A key of a workspace without credits, whose guardrail allows the models at the providers. */
const keyFor = Effect.fnUntraced(function* (
  name: string,
  models: ReadonlyArray<string>,
  providers: ReadonlyArray<string>
) {
  const { workspace } = yield* TestGateway
  const { organizationId } = workspace
  const guardrails = yield* GuardrailStore
  const { id: workspaceId } = yield* (yield* WorkspaceStore).create(organizationId, { name, slug: name })
  const { key, plain } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name })
  const { id } = yield* guardrails.create({
    organizationId,
    name,
    allowedModels: [...models],
    allowedProviders: [...providers]
  })
  yield* guardrails.assign(organizationId, id, [key.hash])
  return Redacted.value(plain)
})

it.layer(layer({}, offers), { excludeTestServices: true })("a paid request", (it) => {
  it.effect.each(kinds)("is checked in the same order, whatever its kind: $path", ({ body, model, path }) =>
    Effect.gen(function* () {
      const slug = path.replaceAll(/\W/g, "-").slice(1)
      const key = yield* keyFor(`${slug}-a`, [model, "test/none"], ["made"])
      const other = yield* keyFor(`${slug}-b`, [model], ["another"])
      const answerTo = (key: string, more: object) =>
        Effect.map(post(path, { ...body, model, ...more }, { key }), (answer) => [
          answer.status,
          envelopeOf(answer).error.message
        ])
      const only = { provider: { only: ["nobody"] } }
      expect(yield* answerTo(key, { model: "test/other", ...only })).toEqual([
        403,
        expect.stringContaining('does not allow the model "test/other"')
      ])
      expect(yield* answerTo(key, { model: "test/none", ...only })).toEqual([
        404,
        expect.stringContaining('there is no model "test/none"')
      ])
      expect(yield* answerTo(other, only)).toEqual([403, expect.stringContaining("allows no provider of the model")])
      expect(yield* answerTo(key, only)).toEqual([404, expect.stringContaining("matches the routing preferences")])
      expect(yield* answerTo(key, {})).toEqual([402, expect.stringContaining("insufficient credits")])
    })
  )
})
