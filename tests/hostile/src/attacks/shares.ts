/**
 * What callers share: the memory for bodies, the reading of jobs that many wait for, and the sums
 * of their requests.
 */
import { type Answer, ask, converse, entriesOf, fieldOf, jsonOf, type Question, requestBytes } from "../client.ts"
import { always, answer, jsonIn } from "../doubles.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
  atOnce,
  json,
  keepAsking,
  maxMillisOf,
  mebibyte,
  milliseconds,
  pause,
  problemsOf,
  smallRerank,
  statusesOf,
  type Target,
  textOf
} from "./attack.ts"

/** A rerank of about this many bytes. */
const rerankOf = (key: string, bytes: number): Question => {
  const text = JSON.stringify("a cup of tea and a word or two ".repeat(680))
  const documents = Array(Math.ceil(bytes / text.length))
    .fill(text)
    .join(",")
  const body = Buffer.from(`{"model":"sandbox/bm25:free","query":"tea","documents":[${documents}]}`)
  return { method: "POST", path: "/api/v1/rerank", key, headers: json, body }
}

/** The longest body of a video job, less its JSON. */
const announced = 23 * mebibyte

/** Sends bodies that announce 23 MiB each: this many bytes at once, then little for a long time. */
const sendSlowly = (port: number, key: string, bodies: number, bytesAtOnce: number, seconds: number) => {
  const headers = {
    host: "127.0.0.1",
    authorization: `Bearer ${key}`,
    ...json,
    "content-length": String(announced)
  }
  const head = requestBytes("POST", "/api/v1/videos", headers, `{"model":"sandbox/title-card","prompt":"tea"`)
  const drip = Array.from({ length: seconds * 4 }, () => [" ".repeat(512), 250] as const).flat()
  const parts = [head, Buffer.alloc(bytesAtOnce, " "), ...drip]
  return Array.from({ length: bodies }, () => converse(port, parts, { patience: seconds * 1000 }))
}

/** Two keys send bodies slowly. Others must be served meanwhile, also management. */
const besideSlowBodies = async (
  { gateway, manage, newKey }: Target,
  slowly: { readonly bodies: number; readonly bytesAtOnce: number; readonly seconds: number }
) => {
  const other = await newKey()
  const larger = rerankOf(other.key, mebibyte / 2)
  await ask(gateway.origin, larger)
  const senders = [gateway.apiKey, (await newKey()).key]
  await gateway.watch.reset()
  const slow = Promise.all(
    senders.flatMap((key) => sendSlowly(gateway.port, key, slowly.bodies, slowly.bytesAtOnce, slowly.seconds))
  )
  // Meanwhile, all that arrives at once has arrived.
  await pause(slowly.bytesAtOnce === 0 ? 500 : 2000)
  const others = keepAsking(1, gateway.origin, () => larger)
  const management = await Promise.allSettled(
    Array.from({ length: 3 }, (_, at) => manage("POST", "/keys", { name: `beside-${at}`.padEnd(100, "-") }))
  )
  const statuses = (await slow).flatMap((received) => received.statuses)
  const answers = await others.stop()
  const refused = management.flatMap((made) => (made.status === "rejected" ? [String(made.reason).slice(0, 120)] : []))
  return {
    figure:
      `slow: ${[...new Set(statuses)].join(", ") || "nothing yet"}; the other key: ${statusesOf(answers)}, ` +
      `at most ${milliseconds(maxMillisOf(answers))}; POST /keys: ${3 - refused.length} of 3`,
    problems: [
      ...problemsOf(answers, [200], 1500).map((problem) => `the other key: ${problem}`),
      ...refused.map((reason) => `management: ${reason}`)
    ]
  }
}

const announcedBodies: Attack = {
  name: "announced-bodies",
  title: "two keys announce bodies of 23 MiB and drip them, beside larger reranks of another key and POST /keys",
  bound: "the other key: 200 within 1.5 s; POST /keys: 201",
  quick: true,
  settings: unlimited,
  run: (target) => besideSlowBodies(target, { bodies: 2, bytesAtOnce: 0, seconds: 4 })
}

const heldBodies: Attack = {
  name: "held-bodies",
  title: "two keys send 17 MiB of a body at once and the rest in drips, beside larger reranks of another key",
  bound: "the other key: 200 within 1.5 s; POST /keys: 201",
  settings: unlimited,
  run: (target) => besideSlowBodies(target, { bodies: 2, bytesAtOnce: 17 * mebibyte, seconds: 8 })
}

/** The rate limit of the polling key allows a thousand polls in ten seconds. */
const pollsPerWave = 990

const waves = 3

const runway = (upstream: string): object => ({
  upstreams: { runway: { adapter: "runway", apiKey: "not-a-real-key", baseUrl: upstream } }
})

const manyPolls: Attack = {
  name: "many-polls",
  title: `${waves * pollsPerWave} long polls of one key for one job`,
  bound: "every poll 200; those that wait see within 2 s that the job is canceled",
  storage: true,
  seconds: 120,
  file: runway,
  run: async ({ gateway, newKey, upstream }) => {
    upstream.handle = always({ id: "task", status: "RUNNING", progress: 0.5 })
    const { key } = await newKey()
    const body = { model: "runway/gen4.5", prompt: "tea", duration: 5 }
    const made = await ask(gateway.origin, { method: "POST", path: "/api/v1/videos", key, body })
    const path = `/api/v1/videos/${textOf(jsonOf(made), "id")}`
    await pause(2000)
    await gateway.watch.reset()
    let waiting = 0
    const polls = []
    for (let wave = 0; wave < waves; wave++) {
      for (let poll = 0; poll < pollsPerWave; poll++) {
        waiting++
        const answer = ask(gateway.origin, { method: "GET", path: `${path}?wait=60`, key, patience: 90_000 }, false)
        polls.push(answer.finally(() => void waiting--))
        if (poll % 10 === 9) await pause(50)
      }
      await pause(6000)
    }
    await pause(5000)
    const stillWaiting = waiting
    const cancelled = performance.now()
    await ask(gateway.origin, { method: "POST", path: `${path}/cancel`, key })
    const answers = await Promise.all(polls)
    const took = performance.now() - cancelled
    return {
      figure: `${statusesOf(answers)}; ${stillWaiting} still waited at the end, for ${milliseconds(took)} after the cancellation`,
      problems: [
        ...problemsOf(answers, [200]),
        ...(stillWaiting === 0 ? ["no poll waited"] : []),
        ...(took > 2000 ? [`polls ended ${milliseconds(took)} after the cancellation`] : [])
      ]
    }
  }
}

const tei = (upstream: string): object => ({ upstreams: { tei: { adapter: "tei", baseUrl: upstream } } })

const names = 2000

/** The size of a page, at most. */
const maxPageBytes = 2 * mebibyte

/** The rows of a day for models of requests that cost nothing, and one for all others. */
const maxModels = 501

const countOf = (body: unknown): number => entriesOf(fieldOf(body, "data")).length

const manyNames: Attack = {
  name: "many-names",
  title: `${names} models of 250 characters at an offer that takes any name, then GET /activity four times at once`,
  bound: `at most ${maxModels} items and ${maxPageBytes / mebibyte} MiB; all ${names} requests in the sums`,
  storage: true,
  settings: unlimited,
  file: tei,
  seconds: 180,
  run: async ({ gateway, newKey, upstream }) => {
    upstream.handle = (call, response) =>
      answer(
        response,
        entriesOf(fieldOf(jsonIn(call), "texts")).map((_, index) => ({ index, score: 0.5 }))
      )
    const { key } = await newKey()
    let asked = 0
    const answers: Array<Answer> = []
    await gateway.watch.reset()
    const lane = async (): Promise<void> => {
      while (asked < names) {
        const model = `tei/${String(asked++).padEnd(246, "x")}`
        answers.push(await ask(gateway.origin, smallRerank(key, model)))
      }
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    const question = { method: "GET", path: "/api/v1/activity", key: gateway.managementKey }
    const pages = await atOnce(4, gateway.origin, () => question)
    const [activity] = pages
    const body = activity === undefined ? undefined : jsonOf(activity)
    const requests = entriesOf(fieldOf(body, "data"))
      .filter(([, item]) => fieldOf(item, "provider_name") === "tei")
      .reduce((sum, [, item]) => sum + Number(fieldOf(item, "requests")), 0)
    const bytes = activity?.body.length ?? 0
    return {
      figure:
        `${statusesOf(answers)}; GET /activity: ${countOf(body)} items, ${(bytes / mebibyte).toFixed(1)} MiB, ` +
        `${requests} requests, at most ${milliseconds(maxMillisOf(pages))}`,
      problems: [
        ...problemsOf(answers, [200]),
        ...problemsOf(pages, [200]),
        // The other key uses a model, too.
        ...(countOf(body) > maxModels + 1 ? [`${countOf(body)} items`] : []),
        ...(bytes > maxPageBytes ? [`${bytes} bytes`] : []),
        ...(requests === names ? [] : [`the sums have ${requests} requests`])
      ]
    }
  }
}

export const shares: ReadonlyArray<Attack> = [announcedBodies, heldBodies, manyPolls, manyNames]
