/** 5,000 paid requests of 31 days: when, by which key, and what. */
import * as DtmfTone from "@model-gateway/sandbox/DtmfTone"
import type { Random } from "./Random.ts"

export interface Planned {
  readonly at: number
  /** The number of its key. The first keys are used most. */
  readonly key: number
  readonly path: "/rerank" | "/audio/transcriptions"
  readonly body: object
}

export const hour = 3_600_000
export const day = 24 * hour
export const days = 31

const words = (
  "invoice refund password account delivery warranty contract holiday payroll printer network license travel expense " +
  "laptop meeting customer support order return shipping discount subscription security backup report budget training"
).split(" ")

const sentence = (random: Random, length: number): string => Array.from({ length }, () => random.pick(words)).join(" ")

const recordings = ["12", "555", "0199", "42#", "8005550199", "31415926"].map((keys) =>
  Buffer.from(DtmfTone.wav(keys, { bitsPerSample: 8 })).toString("base64")
)

const endUser = (random: Random): object =>
  random.chance(0.5)
    ? { user: `customer-${random.integer(1, 25)}`, trace: { session_id: `session-${random.integer(1, 400)}` } }
    : {}

/** Marks that make an upstream fail: those of a request that another upstream serves, and others. */
const mark = (random: Random, upstreams: ReadonlyArray<string>): string =>
  random.chance(0.03)
    ? random.weighted([
        [4, `[${random.pick(upstreams)} ${random.pick([500, 502, 503, 429])}]`],
        [1, upstreams.map((name) => `[${name} 503]`).join(" ")],
        [1, `[${random.pick(upstreams)} 400]`]
      ])
    : ""

export const rerankBody = (random: Random, model: string, marks = ""): object => ({
  model,
  query: `${sentence(random, 3)} ${marks}`,
  documents: Array.from({ length: random.chance(0.04) ? random.integer(101, 250) : random.integer(3, 12) }, () =>
    sentence(random, random.integer(2, 6))
  ),
  ...endUser(random)
})

export const transcriptionBody = (random: Random, model: string, marks = ""): object => ({
  model,
  input_audio: { data: random.pick(recordings), format: "wav" },
  ...(marks === "" ? {} : { provider: { options: { openai: { prompt: marks }, groq: { prompt: marks } } } }),
  ...endUser(random)
})

const failures = [400, 413, 429, 500, 502, 503, 524, 529]

const rerank = (random: Random): object => {
  const model = random.weighted([
    [26, "acme/rerank"],
    [16, "cohere/rerank-v3.5"],
    [16, "sandbox/bm25"],
    [3, "sandbox/bm25:free"],
    [2, "acme/rerank-berlin"],
    [2, "sandbox/status"]
  ])
  if (model === "sandbox/status") return rerankBody(random, `sandbox/status-${random.pick(failures)}`)
  return rerankBody(random, model, mark(random, ["frankfurt", "cohere"]))
}

const transcription = (random: Random): object => {
  const model = random.weighted([
    [16, "acme/whisper"],
    [12, "sandbox/tones"],
    [6, "groq/whisper-large-v3-turbo"],
    [1, "sandbox/status"]
  ])
  if (model === "sandbox/status") return transcriptionBody(random, `sandbox/status-${random.pick([...failures, 504])}`)
  return transcriptionBody(random, model, model === "sandbox/tones" ? "" : mark(random, ["openai", "groq"]))
}

/** How busy an hour is: more on working days and in the afternoon, and more each week. */
const business = (start: number, at: number): number => {
  const date = new Date(at)
  const isWeekend = date.getUTCDay() % 6 === 0
  const time = date.getUTCHours()
  return (
    (isWeekend ? 0.35 : 1) * (0.7 + (0.6 * (at - start)) / (days * day)) * (0.15 + Math.exp(-(((time - 14) / 5) ** 2)))
  )
}

export interface Plan {
  readonly random: Random
  readonly start: number
  readonly end: number
  readonly requests: number
  readonly keys: number
}

/** In the order of their times. */
export const plan = ({ end, keys, random, requests, start }: Plan): ReadonlyArray<Planned> => {
  const hours = Array.from({ length: Math.ceil((end - start) / hour) }, (_, n) => start + n * hour)
  const busy = hours.map((at) => [business(start, at), at] as const)
  const byRank = Array.from({ length: keys }, (_, n) => [1 / (n + 1) ** 0.9, n] as const)
  return Array.from({ length: requests }, () =>
    Math.min(end - 1, Math.floor(random.weighted(busy) + random.next() * hour))
  )
    .toSorted((one, other) => one - other)
    .map((at) => {
      const isRerank = random.chance(0.8)
      return {
        at,
        key: random.weighted(byRank),
        path: isRerank ? "/rerank" : "/audio/transcriptions",
        body: isRerank ? rerank(random) : transcription(random)
      }
    })
}
