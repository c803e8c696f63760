// Texts that callers write, random from a seed: each request is either refused before an upstream
// is called, or it is served, charged and in the ledger.
import { describe, expect, it } from "@effect/vitest"
import type { Offers } from "@model-gateway/offers/Offer"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../../src/storage/sql/Dialect.ts"
import { openReservations } from "../accounting/TestLedger.ts"
import { type Dice, make as makeDice } from "../Dice.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import { keypad } from "../operations/TestAudio.ts"
import { databases } from "../TestDatabases.ts"
import { inSet, issuePaths, post } from "../TestEnvelope.ts"
import { form, formHeaders, layerAt, type Part, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { makeUpstream, model as film } from "../video/TestVideo.ts"

const seed = 20_261_123

/** Random letters cannot be compressed, so that Postgres cannot make an index row of them short. */
const letters = (dice: Dice, length: number): string =>
  Buffer.from(dice.bytes(length)).toString("base64").slice(0, length)

const textOf = (dice: Dice): string => {
  const long = dice.pick([100, 255, 256, 257, 3000, 9000, 70_000])
  return dice.pick<() => string>([
    () => "tea",
    () => "",
    () => " ",
    () => "\u0000",
    () => `a\u0000b`,
    () => "\ud800",
    () => "\udfff\ud800",
    () => "\u202e\u200f\ufeffمرحبا",
    () => '\\u0000\\"\n\r\t\u0001\u0085',
    () => "🏳️‍🌈".repeat(40),
    () => "'); DROP TABLE usage_ledger; --",
    () => "__proto__",
    () => letters(dice, long),
    () => "東".repeat(long)
  ])()
}

interface Question {
  readonly operation: "rerank" | "cohereRerankV1" | "transcribe" | "submitVideo"
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array
}

const audio = keypad("1")

/** Some of the fields, so that many requests have one hostile text only. */
const some = (dice: Dice, fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(() => dice.chance(0.25)))

const modelOf = (dice: Dice): string => `test/${dice.chance(0.6) ? textOf(dice) : "model"}`

const common = (dice: Dice) => ({
  user: textOf(dice),
  trace: { trace_id: textOf(dice), [textOf(dice)]: textOf(dice), deep: { [textOf(dice)]: [textOf(dice)] } },
  provider: { options: { one: { [textOf(dice)]: textOf(dice) }, [textOf(dice)]: {} } }
})

const idempotency = (dice: Dice, at: number): Record<string, string> =>
  dice.chance(0.3) ? { "idempotency-key": `${at} ${letters(dice, dice.pick([1, 200, 240]))}` } : {}

const json = { "content-type": "application/json" }

const rerankOf = (dice: Dice, headers: Record<string, string>): Question => ({
  operation: "rerank",
  path: "/api/v1/rerank",
  headers: { ...json, ...headers },
  body: JSON.stringify({
    model: modelOf(dice),
    query: "tea",
    documents: ["tea", dice.chance(0.3) ? textOf(dice) : "milk"],
    ...some(dice, { ...common(dice), query: textOf(dice), top_n: 1 })
  })
})

const cohereOf = (dice: Dice, headers: Record<string, string>): Question => ({
  operation: "cohereRerankV1",
  path: "/api/v1/v1/rerank",
  headers: { ...json, ...headers },
  body: JSON.stringify({
    model: modelOf(dice),
    query: textOf(dice),
    documents: [{ text: "tea", [textOf(dice)]: textOf(dice) }],
    ...some(dice, { return_documents: true, rank_fields: ["text", textOf(dice)] })
  })
})

const transcriptionOf = (dice: Dice, headers: Record<string, string>): Question => {
  const fields = {
    model: modelOf(dice),
    ...some(dice, { ...common(dice), language: dice.chance(0.5) ? "de" : textOf(dice) })
  }
  if (dice.chance(0.5)) {
    const body = { ...fields, input_audio: { data: audio.toString("base64"), format: "wav" } }
    return {
      operation: "transcribe",
      path: "/api/v1/audio/transcriptions",
      headers: { ...json, ...headers },
      body: JSON.stringify(body)
    }
  }
  const parts = Object.entries(fields).map(([name, value]): Part => ({
    name,
    value: typeof value === "string" ? value : JSON.stringify(value)
  }))
  const filename = textOf(dice).replaceAll(/["\r\n]/g, "")
  return {
    operation: "transcribe",
    path: "/api/v1/audio/transcriptions",
    headers: { ...formHeaders, ...headers },
    body: form(...parts, { name: "file", filename, type: "audio/wav", value: audio })
  }
}

const videoOf = (dice: Dice, headers: Record<string, string>): Question => ({
  operation: "submitVideo",
  path: "/api/v1/videos",
  headers: { ...json, ...headers },
  body: JSON.stringify({
    model: modelOf(dice),
    prompt: "tea",
    ...some(dice, { ...common(dice), prompt: textOf(dice) })
  })
})

const questionOf = (number: number): Question => {
  const dice = makeDice(seed, String(number))
  const headers = idempotency(dice, number)
  return dice.pick([rerankOf, rerankOf, cohereOf, transcriptionOf, transcriptionOf, videoOf])(dice, headers)
}

/** Offers of every id that begins with `test/`, and how many calls they got. */
const makeOffers = () => {
  let calls = 0
  const count = Effect.sync(() => void calls++)
  const videos = makeUpstream([{ ...film, id: "test/*" }])
  const offers: Offers = scripted({
    name: "one",
    rerank: (request) => Effect.as(count, asTheyCame(request)),
    transcribe: ({ audio }) => Effect.as(count, { text: "1", duration: audio.durationSeconds, segments: [] })
  }).map((offer) => ({ ...offer, publicId: "test/*" }))
  return { calls: () => calls, videos, offers: [...offers, ...videos.offers] }
}

const requests = 240

const rowsOf = Effect.fnUntraced(function* (statement: string) {
  return yield* (yield* SqlClient).unsafe<Record<string, unknown>>(statement)
})

describe.each(databases)("texts of callers on $name", ({ create, name }) => {
  it.live(
    "are refused before an upstream is called, or the request is charged and in the ledger",
    () =>
      Effect.gen(function* () {
        const { calls, offers, videos } = makeOffers()
        const folder = yield* Effect.orDie(temporaryFolder)
        const url = name === "postgres" ? Redacted.make(yield* create) : undefined
        const config = { rateLimit: { requests: 100_000 } }
        const gateway = layerAt(folder, config, [offers], undefined, undefined, undefined, undefined, url)
        yield* Effect.gen(function* () {
          yield* TestOutbox.broadcast((yield* TestGateway).workspace)
          const statuses = new Map<number, number>()
          let jobs = 0
          for (let number = 0; number < requests; number++) {
            const { body, headers, operation, path } = questionOf(number)
            const before = calls()
            const { ask } = yield* TestGateway
            const answer = yield* ask(path, { method: "POST", headers, body })
            inSet(operation, answer)
            const { status } = answer
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
            expect([number, status < 500]).toEqual([number, true])
            if (status === 202) jobs++
            else expect([number, calls() - before]).toEqual([number, status === 200 ? 1 : 0])
          }
          // The test is of use only if many requests of both ends happen.
          expect(statuses.get(200)).toBeGreaterThan(requests / 6)
          expect(jobs).toBeGreaterThan(3)
          expect(statuses.get(400)).toBeGreaterThan(requests / 6)
          yield* Effect.repeat(openReservations, { until: (open) => open.length === 0 })
          expect(videos.submissions).toHaveLength(jobs)
          const [sums] = yield* rowsOf(
            "SELECT COUNT(*) AS entries, CAST(SUM(cost_micro) AS BIGINT) AS cost FROM usage_ledger WHERE status = 'completed'"
          )
          const [counted] = yield* rowsOf(
            "SELECT CAST(SUM(requests) AS BIGINT) AS entries, CAST(SUM(cost_micro) AS BIGINT) AS cost FROM usage_days WHERE key_hash = ''"
          )
          expect(Dialect.int(sums ?? {}, "entries")).toBe(calls() + jobs)
          const events = yield* TestOutbox.all
          expect(events.filter(({ type }) => type.endsWith(".completed"))).toHaveLength(calls() + jobs)
          expect(Dialect.int(counted ?? {}, "entries")).toBe(calls() + jobs)
          const spent = Dialect.int(sums ?? {}, "cost")
          expect(Dialect.int(counted ?? {}, "cost")).toBe(spent)
          const [budget] = yield* rowsOf(
            "SELECT CAST(SUM(usage) AS BIGINT) AS usage, CAST(SUM(reserved) AS BIGINT) AS reserved FROM budgets"
          )
          expect([Dialect.int(budget ?? {}, "usage"), Dialect.int(budget ?? {}, "reserved")]).toEqual([spent, 0])
          const { ask, managementKey } = yield* TestGateway
          for (const list of ["/generations", "/activity"]) {
            expect((yield* ask(`/api/v1${list}`, { key: managementKey })).status).toBe(200)
          }
          expect((yield* ask("/api/v1/videos")).status).toBe(200)
        }).pipe(Effect.provide(gateway))
      }).pipe(Effect.scoped),
    120_000
  )

  it.live("an id of more than 256 characters, or with a control character, is a 400 that names `model`", () =>
    Effect.gen(function* () {
      const { calls, offers } = makeOffers()
      const folder = yield* Effect.orDie(temporaryFolder)
      const url = name === "postgres" ? Redacted.make(yield* create) : undefined
      const gateway = layerAt(folder, {}, [offers], undefined, undefined, undefined, undefined, url)
      yield* Effect.gen(function* () {
        const dice = makeDice(seed, "model")
        for (const model of [
          `test/${letters(dice, 3000)}`,
          `test/${letters(dice, 252)}`,
          "test/\u0000",
          "test/a\nb",
          "test/\ud800"
        ]) {
          const answer = yield* post("/api/v1/rerank", { model, query: "tea", documents: ["tea"] })
          inSet("rerank", answer)
          expect(answer.status).toBe(400)
          expect(issuePaths(answer)).toEqual(["model"])
          expect(answer.text).toMatch(/model: Expected (?:at most 256 characters|text without control characters)"/)
        }
        expect(calls()).toBe(0)
        const longest = yield* post("/api/v1/rerank", {
          model: `test/${letters(dice, 251)}`,
          query: "tea",
          documents: ["tea"]
        })
        expect([longest.status, calls()]).toEqual([200, 1])
      }).pipe(Effect.provide(gateway))
    }).pipe(Effect.scoped)
  )
})
