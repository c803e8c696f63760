/** What a caller can put into events, and what events do to their destinations. */
import { statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Answer, ask, fieldOf, jsonOf } from "../client.ts"
import { answer, exempt } from "../doubles.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
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

/** A rerank of a free model with 6 MiB of names in its `trace`. */
const longNames = (key: string) => ({
  ...smallRerank(key, "sandbox/bm25:free"),
  body: {
    model: "sandbox/bm25:free",
    query: "tea",
    documents: ["tea"],
    trace: Object.fromEntries(Array.from({ length: 6 }, (_, n) => [String(n).padEnd(mebibyte, "n"), "a".repeat(n)]))
  }
})

const reranks = 20

const names: Attack = {
  name: "trace-names",
  title: `${reranks} reranks of a free model with 6 MiB of names in \`trace\`, with a broadcast destination`,
  bound: "400 that names `trace`; the database grows by less than 16 MiB",
  settings: { ...unlimited, ...exempt },
  run: async ({ double, gateway, manage, store }) => {
    const collector = await double()
    await manage("POST", "/observability/destinations", {
      name: "hostile",
      type: "otel-collector",
      config: { endpoint: collector.url }
    })
    const size = () =>
      ["gateway.db", "gateway.db-wal"].reduce((sum, name) => sum + statSync(join(gateway.dataDir, name)).size, 0)
    const before = store === "sqlite" ? size() : 0
    await gateway.watch.reset()
    const answers: Array<Answer> = []
    for (let n = 0; n < reranks; n++) answers.push(await ask(gateway.origin, longNames(gateway.apiKey)))
    const growth = store === "sqlite" ? (size() - before) / mebibyte : 0
    const isNamed = answers.every((one) => String(fieldOf(jsonOf(one), "error", "message")).includes("trace: "))
    return {
      figure: `${statusesOf(answers)}, at most ${milliseconds(maxMillisOf(answers))}; the database grew by ${growth.toFixed(1)} MiB`,
      problems: [
        ...problemsOf(answers, [400]),
        ...(isNamed ? [] : ["no 400 that names the field"]),
        ...(growth >= 16 ? [`the database grew by ${growth.toFixed(1)} MiB`] : [])
      ]
    }
  }
}

/** Runs statements that write, one transaction each. */
const write = async ({ gateway, query, store }: Target, statements: ReadonlyArray<string>): Promise<void> => {
  if (store === "postgres") {
    for (const statement of statements) await query(statement)
    return
  }
  const database = new DatabaseSync(join(gateway.dataDir, "gateway.db"), { timeout: 10_000 })
  try {
    for (const statement of statements) {
      database.exec(statement)
      await pause(20)
    }
  } finally {
    database.close()
  }
}

const poisoned = 60

/** An event without the newest fields, with `trace` and `usage` as SQL. */
const oldEvent = (target: Target, id: string, trace: string, usage = `'{}'`): string => {
  const now = Date.now()
  const head = {
    id,
    type: "rerank.completed",
    workspace_id: target.gateway.workspace,
    key_hash: "k",
    model: "sandbox/bm25",
    generation_id: id,
    provider: "sandbox",
    upstream_model: "bm25",
    error_status: null,
    cost_micro: 0,
    is_byok: false,
    input: {},
    user: null,
    started_at: now,
    attempts: [],
    job: null,
    callback_url: null,
    created_at: now,
    duration_ms: 1
  }
  const text = JSON.stringify(head).slice(0, -1)
  return `INSERT INTO events (created_at, body) VALUES (${now}, '${text},"usage":' || ${usage} || ',"trace":' || ${trace} || '}')`
}

const stored: Attack = {
  name: "poisoned-outbox",
  title: `the outbox has ${poisoned} events of 6 MiB, one with a count of 1e300 and one that is no event`,
  bound: "a collector and a webhook get the event behind them within 20 s; what cannot be sent is counted",
  storage: true,
  settings: { ...unlimited, ...exempt },
  seconds: 120,
  run: async (target) => {
    const { double, gateway, manage, store } = target
    const [collector, hook] = [await double(), await double()]
    const seen = { collector: "", hook: "" }
    collector.handle = ({ body }, response) => {
      seen.collector += body.toString("latin1")
      answer(response, {})
    }
    hook.handle = ({ headers }, response) => {
      seen.hook += String(headers["webhook-id"])
      answer(response, {})
    }
    const destination = (type: string, config: object) =>
      manage("POST", "/observability/destinations", { name: type, type, config, enabled: false })
    await destination("otel-collector", { endpoint: collector.url })
    await destination("webhook", { url: hook.url })
    const name = store === "postgres" ? `repeat('n', 6291456)` : `replace(hex(zeroblob(3145728)), '0', 'n')`
    await write(target, [
      ...Array.from({ length: poisoned }, (_, n) => oldEvent(target, `evt_old_${n}`, `'{"' || ${name} || '":1}'`)),
      oldEvent(target, "evt_count", `'{"count":1e300}'`, `'{"total_tokens":1e300}'`),
      oldEvent(target, "evt_odd", "'null'", `'{"total_tokens":"many"}'`)
    ])
    await gateway.watch.reset()
    const startedAt = performance.now()
    // As after a start: the destinations are served from the first of these events on.
    await write(target, ["UPDATE destinations SET delivered = 0, enabled = 1, revision = revision + 1"])
    const served = await ask(gateway.origin, smallRerank(gateway.apiKey))
    const id = `evt_${textOf(jsonOf(served), "id")}`
    const hasArrived = () => seen.collector.includes(id) && seen.hook.includes(id)
    while (!hasArrived() && gateway.ended() === undefined && performance.now() - startedAt < 60_000) await pause(50)
    const taken = performance.now() - startedAt
    const metrics = await ask(gateway.origin, { method: "GET", path: "/metrics" })
    const aside = Array.from(
      metrics.body.toString().matchAll(/broadcast_events_total\{[^}]*outcome="set_aside"[^}]*\} (\d+)/g),
      (match) => Number(match[1])
    ).reduce((sum, count) => sum + count, 0)
    return {
      figure: `${hasArrived() ? "arrived" : "nothing arrived"} after ${milliseconds(taken)}; ${aside} set aside`,
      problems: [
        ...problemsOf([served], [200]),
        ...(hasArrived() ? [] : ["the event behind them did not arrive"]),
        ...(taken > 20_000 ? [`took ${milliseconds(taken)}`] : []),
        ...(aside === 2 * (poisoned + 1) ? [] : [`${aside} events were set aside`])
      ]
    }
  }
}

const secret = "never-anywhere-else"

const moved: Attack = {
  name: "moved-destination",
  title: "the endpoint of a destination is changed without its headers, and with masked ones",
  bound: "400 that names the headers; they reach no other address, and no token is in the database",
  quick: true,
  storage: true,
  settings: exempt,
  run: async ({ double, gateway, manage, query }) => {
    const [first, second] = [await double(), await double()]
    let leaked = 0
    second.handle = ({ headers }, response) => {
      if (JSON.stringify(headers).includes(secret)) leaked++
      answer(response, {})
    }
    const destinations = "/observability/destinations"
    const made = await manage("POST", destinations, {
      name: "hostile",
      type: "webhook",
      config: { url: `${first.url}/${secret}`, headers: { authorization: `Bearer ${secret}` } }
    })
    const id = textOf(made, "data", "id")
    const stored = await query("SELECT * FROM destinations")
    const isStored = stored.some((row) => Object.values(row).some((value) => String(value).includes(secret)))
    await gateway.watch.reset()
    const answers: Array<Answer> = []
    for (const headers of [undefined, { authorization: "********" }]) {
      answers.push(
        await ask(gateway.origin, {
          method: "PATCH",
          path: `/api/v1${destinations}/${id}`,
          key: gateway.managementKey,
          body: { config: { url: second.url, ...(headers === undefined ? undefined : { headers }) } }
        })
      )
    }
    await ask(gateway.origin, smallRerank(gateway.apiKey))
    const startedAt = performance.now()
    while (first.calls() + second.calls() === 0 && performance.now() - startedAt < 10_000) await pause(50)
    return {
      figure: `${statusesOf(answers)}; the header reached the other address ${leaked} times`,
      problems: [
        ...problemsOf(answers, [400]),
        ...(leaked > 0 ? ["the header reached the other address"] : []),
        ...(first.calls() + second.calls() === 0 ? ["the event did not arrive"] : []),
        ...(isStored ? ["the token of the URL is in the database"] : [])
      ]
    }
  }
}

export const events: ReadonlyArray<Attack> = [names, stored, moved]
