/** What one caller, or another process, can do to storage that all callers share. */
import { randomBytes } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { ask } from "../client.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
  json,
  keepAsking,
  longestOf,
  manager,
  mebibyte,
  milliseconds,
  pause,
  problemsOf,
  smallRerank,
  statusesOf,
  type Target,
  textOf
} from "./attack.ts"

const lockSeconds = 12

const lockedDatabase: Attack = {
  name: "locked-database",
  title: `another process holds BEGIN IMMEDIATE for ${lockSeconds} s`,
  bound: "GET /key: 200 within 1 s; POST /rerank: 200 or 503",
  run: async ({ gateway }) => {
    const key = { method: "GET", path: "/api/v1/key", key: gateway.apiKey }
    await ask(gateway.origin, key)
    await ask(gateway.origin, smallRerank(gateway.apiKey))
    await gateway.watch.reset()
    const database = new DatabaseSync(join(gateway.dataDir, "gateway.db"))
    database.exec("BEGIN IMMEDIATE")
    const reads = keepAsking(1, gateway.origin, () => key)
    const writes = keepAsking(2, gateway.origin, () => smallRerank(gateway.apiKey))
    await pause(lockSeconds * 1000)
    database.exec("COMMIT")
    database.close()
    const [read, written] = [await reads.stop(), await writes.stop()]
    const after = await ask(gateway.origin, smallRerank(gateway.apiKey))
    return {
      figure:
        `GET /key: ${statusesOf(read)}, at most ${milliseconds(longestOf(read))}; ` +
        `POST /rerank: ${statusesOf(written)}, at most ${milliseconds(longestOf(written))}; after it: ${statusesOf([after])}`,
      problems: [
        ...problemsOf(read, [200], 1000).map((problem) => `GET /key: ${problem}`),
        ...problemsOf(written, [200, 503]).map((problem) => `POST /rerank: ${problem}`),
        ...problemsOf([after], [200]).map((problem) => `after it: ${problem}`)
      ]
    }
  }
}

/** Deletes the guardrail of a key again and again while the key is used. */
const deleteUnderLoad = async (target: Target, manage: Target["manage"]) => {
  const { gateway } = target
  const { hash, key } = await target.newKey()
  await gateway.watch.reset()
  const load = keepAsking(16, gateway.origin, () => smallRerank(key))
  const videos = keepAsking(1, gateway.origin, () => ({
    method: "POST",
    path: "/api/v1/videos",
    key,
    body: { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p", callback_url: "no URL" }
  }))
  for (let round = 0; round < 15; round++) {
    const id = textOf(await manage("POST", "/guardrails", { name: "hostile", limit: 1000 }), "data", "id")
    await manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: [hash] })
    await pause(150)
    await manage("DELETE", `/guardrails/${id}`)
    await pause(150)
  }
  const [reranks, submissions] = [await load.stop(), await videos.stop()]
  return {
    figure:
      `POST /rerank: ${statusesOf(reranks)}, at most ${milliseconds(longestOf(reranks))}; ` +
      `refused POST /videos: ${statusesOf(submissions)}`,
    problems: [...problemsOf(reranks, [200], 1000), ...problemsOf(submissions, [400])]
  }
}

const deletedGuardrail: Attack = {
  name: "guardrail-deleted",
  title: "the guardrail of a key is deleted 15 times while the key reranks",
  bound: "200 each, within 1 s",
  settings: unlimited,
  run: (target) => deleteUnderLoad(target, target.manage)
}

const deletedGuardrailElsewhere: Attack = {
  name: "guardrail-deleted-elsewhere",
  title: "the same, deleted through another process",
  bound: "200 each, within 1 s",
  settings: unlimited,
  run: async (target) => {
    const other = await target.another(unlimited)
    return deleteUnderLoad(target, manager(other, target.gateway.managementKey))
  }
}

const databaseSize = (dataDir: string): number =>
  ["gateway.db", "gateway.db-wal"]
    .map((name) => join(dataDir, name))
    .reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)

const keptAnswers: Attack = {
  name: "kept-answers",
  title: "150 reranks of 7.7 MiB with an Idempotency-Key each",
  bound: "the database grows by at most 256 MiB",
  seconds: 120,
  run: async ({ gateway }) => {
    const before = databaseSize(gateway.dataDir)
    const documents = Array.from({ length: 8 }, () => randomBytes(738_000).toString("base64"))
    const body = Buffer.from(JSON.stringify({ model: "sandbox/bm25", query: "tea", documents }))
    let largest = 0
    let sent = 0
    const lane = async () => {
      const answers = []
      while (sent < 150) {
        const headers = { ...json, "idempotency-key": `kept-${sent++}` }
        answers.push(
          await ask(gateway.origin, { method: "POST", path: "/api/v1/rerank", key: gateway.apiKey, headers, body })
        )
        largest = Math.max(largest, databaseSize(gateway.dataDir) - before)
      }
      return answers
    }
    const answers = (await Promise.all([lane(), lane()])).flat()
    const grown = largest / mebibyte
    return {
      figure: `${(body.length / mebibyte).toFixed(1)} MiB each: ${statusesOf(answers)}; the database grew by ${grown.toFixed(0)} MiB`,
      problems: [
        ...problemsOf(answers, [200, 429, 503]),
        ...(grown > 256 ? [`the database grew by ${grown.toFixed(0)} MiB`] : [])
      ]
    }
  }
}

const keyCount = 100_000

const lastPage: Attack = {
  name: "last-page",
  title: `the last page of GET /keys, of ${keyCount.toLocaleString("en")} keys`,
  bound: "at most 5 times as long as the first page, and within 1 s",
  settings: unlimited,
  seconds: 200,
  run: async ({ gateway, manage }) => {
    const create = async () => textOf(await manage("POST", "/keys", { name: "one of many" }), "data", "hash")
    const first = await create()
    let made = 1
    const lane = async () => {
      while (made < keyCount - 1) {
        made++
        await create()
      }
    }
    await Promise.all(Array.from({ length: 16 }, lane))
    const last = await create()
    await gateway.watch.reset()
    const page = (after?: string) =>
      ask(gateway.origin, {
        method: "GET",
        path: `/api/v1/keys?limit=100${after === undefined ? "" : `&after=${after}`}`,
        key: gateway.managementKey
      })
    await page()
    const beginning = await page()
    // One of the two is near the end, whichever way the list runs.
    const ends = [await page(first), await page(last)]
    const [short, long] = [beginning.milliseconds, longestOf(ends)]
    return {
      figure: `first page ${milliseconds(short)}, last page ${milliseconds(long)}`,
      problems: [
        ...problemsOf([beginning, ...ends], [200], 1000),
        ...(long > Math.max(50, 5 * short) ? [`the last page takes ${milliseconds(long)}`] : [])
      ]
    }
  }
}

export const storage: ReadonlyArray<Attack> = [
  lockedDatabase,
  deletedGuardrail,
  deletedGuardrailElsewhere,
  keptAnswers,
  lastPage
]
