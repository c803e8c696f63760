/** What one caller or another process can do to the shared storage. */
import { randomBytes, randomInt } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Answer, ask, entriesOf, fieldOf, jsonOf } from "../client.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
  json,
  keepAsking,
  maxMillisOf,
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
  skips: { neighbor: "every paid request waits for the lock, or fails" },
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
        `GET /key: ${statusesOf(read)}, at most ${milliseconds(maxMillisOf(read))}; ` +
        `POST /rerank: ${statusesOf(written)}, at most ${milliseconds(maxMillisOf(written))}; after it: ${statusesOf([after])}`,
      problems: [
        ...problemsOf(read, [200], 1000).map((problem) => `GET /key: ${problem}`),
        ...problemsOf(written, [200, 503]).map((problem) => `POST /rerank: ${problem}`),
        ...problemsOf([after], [200]).map((problem) => `after it: ${problem}`)
      ]
    }
  }
}

/**
 * Deletes the guardrail of a key repeatedly while the key is used, each time after holding it for
 * `pauseMillis` milliseconds.
 */
const deleteUnderLoad = async (target: Target, manage: Target["manage"], times: number, pauseMillis: number) => {
  const { gateway } = target
  const { hash, key } = await target.newKey()
  await target.manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 1000 })
  await gateway.watch.reset()
  const load = keepAsking(16, gateway.origin, () => smallRerank(key))
  const videos = keepAsking(1, gateway.origin, () => ({
    method: "POST",
    path: "/api/v1/videos",
    key,
    body: { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p", callback_url: "no URL" }
  }))
  for (let round = 0; round < times; round++) {
    const id = textOf(await manage("POST", "/guardrails", { name: "hostile", limit_usd: 1000 }), "data", "id")
    await manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: [hash] })
    await pause(pauseMillis)
    await manage("DELETE", `/guardrails/${id}`)
    await pause(150)
  }
  const [reranks, submissions] = [await load.stop(), await videos.stop()]
  return {
    figure:
      `POST /rerank: ${statusesOf(reranks)}, at most ${milliseconds(maxMillisOf(reranks))}; ` +
      `refused POST /videos: ${statusesOf(submissions)}`,
    problems: [...problemsOf(reranks, [200], 1000), ...problemsOf(submissions, [400])]
  }
}

const deletedGuardrail: Attack = {
  name: "guardrail-deleted",
  storage: true,
  title: "the guardrail of a key is deleted 15 times while the key reranks",
  bound: "200 each, within 1 s",
  settings: unlimited,
  run: (target) => deleteUnderLoad(target, target.manage, 15, 150)
}

const deletedGuardrailElsewhere: Attack = {
  name: "guardrail-deleted-elsewhere",
  storage: true,
  title: "the same 4 times, deleted through another process",
  bound: "200 each, within 1 s",
  settings: unlimited,
  run: async (target) => {
    const other = await target.another(unlimited)
    // Long enough for this process to learn of the guardrail.
    return deleteUnderLoad(target, manager(other, target.gateway.managementKey), 4, 4000)
  }
}

const databaseSize = (dataDir: string): number =>
  ["gateway.db", "gateway.db-wal"]
    .map((name) => join(dataDir, name))
    .reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)

const keptAnswers: Attack = {
  name: "kept-answers",
  title: "600 reranks of 10,000 documents with an Idempotency-Key each, of whose answers 2 MiB are kept",
  bound: "the database grows by at most 26 MiB",
  seconds: 120,
  settings: { KEPT_ANSWERS_PER_KEY: "2 MiB" },
  run: async ({ gateway, manage }) => {
    await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 1000 })
    const before = databaseSize(gateway.dataDir)
    // Each has its own score, so that the answer is large although it is stored without documents.
    const documents = Array.from({ length: 10_000 }, () => `tea ${randomBytes(randomInt(200)).toString("base64")}`)
    const body = Buffer.from(JSON.stringify({ model: "sandbox/bm25", query: "tea", documents }))
    let largest = 0
    let sent = 0
    const lane = async () => {
      const answers = []
      while (sent < 600) {
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
        ...(grown > 26 ? [`the database grew by ${grown.toFixed(0)} MiB`] : [])
      ]
    }
  }
}

const keyCount = 100_000

/**
 * Copies all rows of one key, except its audit log, for many older keys. Creating them one by one
 * would take minutes.
 */
const copyKey = (file: string, hash: string): void => {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  const texts = (query: string, column: string): ReadonlyArray<string> =>
    database
      .prepare(query)
      .all()
      .map((row) => String(row[column]))
  database.exec("BEGIN IMMEDIATE")
  for (const table of texts(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'audit_log'",
    "name"
  )) {
    const columns = texts(`PRAGMA table_info("${table}")`, "name")
    const copied = columns.map((column) => {
      if (column === "created_at") return "created_at - n.at"
      return `CASE WHEN typeof(${column}) = 'text' THEN replace(${column}, '${hash}', printf('%064x', n.at)) ELSE ${column} END`
    })
    const isOfKey = columns.map((column) => `instr(${column}, '${hash}') > 0`).join(" OR ")
    const counted = `WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ${keyCount})`
    database.exec(
      `INSERT INTO "${table}" (${columns.join(", ")}) ${counted} SELECT ${copied.join(", ")} FROM "${table}", n WHERE ${isOfKey}`
    )
  }
  database.exec("COMMIT")
  // Or the gateway's next commit would copy all of it into the file, within the measurement.
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
}

const lastPage: Attack = {
  name: "last-page",
  title: `the last page of GET /keys, of ${keyCount.toLocaleString("en")} keys`,
  bound: "at most 5 times as long as the first page, and within 1 s",
  settings: unlimited,
  run: async ({ gateway, newKey }) => {
    const { hash } = await newKey()
    copyKey(join(gateway.dataDir, "gateway.db"), hash)
    await gateway.watch.reset()
    const page = (offset = 0): Promise<Answer> =>
      ask(gateway.origin, {
        method: "GET",
        path: `/api/v1/keys?limit=100&offset=${offset}`,
        key: gateway.managementKey
      })
    // A pause of the process can delay any one answer, so each page counts by its fastest of three.
    const fastest = async (offset: number) => {
      const answers = [await page(offset), await page(offset), await page(offset)] as const
      return answers.reduce((best, answer) => (answer.milliseconds < best.milliseconds ? answer : best))
    }
    await page()
    const beginning = await fastest(0)
    const middle = await fastest(keyCount / 2)
    const end = await fastest(keyCount - 50)
    const keysIn = (answer: Answer): number => entriesOf(fieldOf(jsonOf(answer), "data")).length
    const [short, long] = [beginning.milliseconds, Math.max(middle.milliseconds, end.milliseconds)]
    return {
      figure: `first page ${milliseconds(short)}, middle ${milliseconds(middle.milliseconds)}, last ${milliseconds(end.milliseconds)}`,
      problems: [
        ...problemsOf([beginning, middle, end], [200], 1000),
        // The copies are the oldest keys, so the last page also has as many as are newer.
        ...(keysIn(beginning) === 100 && keysIn(middle) === 100 && keysIn(end) > 50 && keysIn(end) < 100
          ? []
          : ["pages are not whole"]),
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
