/**
 * Paid requests and video jobs through real processes that are killed in the middle of them.
 *
 * `KILLS=full` runs the full sizes: 2,000 requests and 100 jobs, and 20 kills of the one process on
 * SQLite. Otherwise they are smaller, to be fast.
 */
import { Schema } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { redisPrograms, startRedis } from "@model-gateway/test-services/Redis"
import { folder } from "./Executable.ts"
import {
  type Answer,
  decode,
  type Fleet,
  inParallel,
  rerankPrice,
  send,
  sendUntilAnswered,
  startFleet,
  startUpstreams,
  type Upstreams,
  videoPrice
} from "./Fleet.ts"
import { query, startServer } from "./PostgresServer.ts"
import * as Receiver from "./Receiver.ts"

const isFull = process.env.KILLS === "full"

type Row = Readonly<Record<string, unknown>>

/** Reads the database of a fleet. */
type Query = (text: string) => Promise<ReadonlyArray<Row>>

interface Load {
  readonly requests: number
  readonly jobs: number
  /** The processes to kill, at equal distances of the requests. */
  readonly kills: ReadonlyArray<number>
}

const idOf = decode(Schema.Struct({ id: Schema.String }))
const asJob = decode(Schema.Struct({ id: Schema.String, status: Schema.String }))
const asKey = decode(Schema.Struct({ data: Schema.Struct({ usage: Schema.Finite }) }))

const asSecret = decode(Schema.Struct({ data: Schema.Struct({ secret: Schema.String }) }))

const asReport = Schema.decodeUnknownSync(
  Schema.Struct({ abandoned: Schema.Array(Schema.Struct({ operation: Schema.String })) })
)

const final = new Set(["completed", "failed", "cancelled", "expired"])

/** Micro-credits of a number of credits. */
const micro = (credits: number): number => Math.round(credits * 1_000_000)

/** Sends the load, and kills processes meanwhile. Returns what was acknowledged. */
const underLoad = async (fleet: Fleet, callbackUrl: string, { jobs, kills, requests }: Load) => {
  const acknowledged: Array<string> = []
  const jobIds: Array<string> = []
  let killing = Promise.resolve()
  let next = 0
  const killWhenDue = () => {
    const target = kills[next]
    if (target === undefined || acknowledged.length < ((next + 1) * requests) / (kills.length + 1)) return
    next++
    killing = killing.then(() => fleet.restart(target))
  }
  const expectStatus = (answer: Answer, status: number) => {
    if (answer.status !== status) throw new Error(`status ${answer.status}: ${answer.body}`)
  }
  await Promise.all([
    inParallel(requests, 40, async (index) => {
      const query = `tea ${index}`
      const body = { model: "cohere/rerank-v3.5", query, documents: ["coffee", query] }
      const answer = await sendUntilAnswered(fleet, "/api/v1/rerank", `rerank-${index}`, body, index)
      expectStatus(answer, 200)
      acknowledged.push(idOf(answer).id)
      killWhenDue()
    }),
    inParallel(jobs, 10, async (index) => {
      const body = { model: "runway/gen4.5", prompt: `tea ${index}`, duration: 2, callback_url: callbackUrl }
      const answer = await sendUntilAnswered(fleet, "/api/v1/videos", `video-${index}`, body, index)
      expectStatus(answer, 202)
      jobIds.push(idOf(answer).id)
    })
  ])
  await killing
  expect(next).toBe(kills.length)
  return { acknowledged, jobIds, lastKill: Date.now() }
}

/** Waits until all jobs are final, at most 30 seconds after the last kill. */
const untilFinal = async ({ apiKey, gateways }: Fleet, ids: ReadonlyArray<string>, lastKill: number) => {
  const open = new Set(ids)
  const statuses: Array<string> = []
  const [gateway] = gateways
  while (gateway !== undefined && open.size > 0) {
    for (const id of open) {
      const answer = await send(gateway, `/api/v1/videos/${id}`, { key: apiKey })
      if (answer?.status !== 200) continue
      const { status } = asJob(answer)
      if (!final.has(status)) continue
      open.delete(id)
      statuses.push(status)
    }
    if (Date.now() - lastKill > 30_000) throw new Error(`${open.size} of ${ids.length} jobs are not final`)
  }
  return statuses
}

const numberOf = (row: Row | undefined, column: string): number => Number(row?.[column] ?? Number.NaN)

const rotateSecret = async ({ gateways, managementKey, workspace }: Fleet): Promise<string> => {
  const [gateway] = gateways
  const path = `/api/v1/workspaces/${workspace}/webhook-secret/rotate`
  const answer = gateway === undefined ? undefined : await send(gateway, path, { key: managementKey, body: {} })
  if (answer?.status !== 200) throw new Error(`no secret: ${answer?.body ?? "no answer"}`)
  return asSecret(answer).data.secret
}

/** Runs the load and checks every invariant. */
const check = async (fleet: Fleet, upstreams: Upstreams, query: Query, load: Load) => {
  const receiver = await Receiver.startReceiver()
  receiver.secret = await rotateSecret(fleet)
  const { acknowledged, jobIds, lastKill } = await underLoad(fleet, receiver.url, load)
  expect(new Set(jobIds).size).toBe(load.jobs)
  const statuses = await untilFinal(fleet, jobIds, lastKill)
  const completed = statuses.filter((status) => status === "completed").length
  // The answer to a submission was lost with its process: Runway has no idempotency key.
  expect(statuses.filter((status) => status !== "completed" && status !== "failed")).toEqual([])

  // Each job's end is reported at least once, and always under the same id.
  await vi.waitFor(() => expect(jobIds.filter((id) => !receiver.received.has(id))).toEqual([]), {
    timeout: 30_000,
    interval: 250
  })
  for (const receipts of receiver.received.values()) expect(new Set(receipts.map(({ id }) => id)).size).toBe(1)
  expect(receiver.received.size).toBe(load.jobs)

  // What the dead processes had reserved is released.
  await vi.waitFor(
    async () => {
      expect(await query("SELECT id FROM reservations WHERE state = 'open'")).toEqual([])
      expect(await query("SELECT id FROM budgets WHERE reserved <> 0")).toEqual([])
    },
    { timeout: 45_000, interval: 250 }
  )

  const usage = await query("SELECT id, operation, cost_micro FROM usage_ledger")
  const inLedger = new Set(usage.map(({ id }) => String(id)))
  expect(acknowledged.filter((id) => !inLedger.has(id))).toEqual([])
  expect(new Set(acknowledged).size).toBe(load.requests)

  const spent = usage.reduce((sum, row) => sum + numberOf(row, "cost_micro"), 0)
  expect(spent).toBe(load.requests * micro(rerankPrice) + completed * micro(videoPrice))
  const [workspace] = await query("SELECT balance_micro, reserved_micro FROM workspaces")
  const [credits] = await query("SELECT SUM(amount_micro) AS total FROM credit_ledger")
  expect(numberOf(workspace, "balance_micro")).toBe(numberOf(credits, "total") - spent)
  expect(numberOf(workspace, "reserved_micro")).toBe(0)
  const [gateway] = fleet.gateways
  const key = gateway === undefined ? undefined : await send(gateway, "/api/v1/key", { key: fleet.apiKey })
  expect(micro(key === undefined ? Number.NaN : asKey(key).data.usage)).toBe(spent)

  // The upstreams were called once for each entry of the ledger, and at most once more for each
  // reservation that a dead process left behind, which the reconciliation lists.
  const { abandoned } = asReport(JSON.parse((await fleet.command("reconcile", "--json")).stdout))
  const listed = abandoned.filter(({ operation }) => operation === "rerank").length
  const calls = upstreams.rerank.state.requests.length
  expect(calls).toBeGreaterThanOrEqual(load.requests)
  expect(calls).toBeLessThanOrEqual(load.requests + listed)
  const submitted = upstreams.video.jobs.jobs.size
  expect(submitted).toBeGreaterThanOrEqual(completed)
  expect(submitted).toBeLessThanOrEqual(load.jobs)
  return { requests: acknowledged.length, jobs: statuses.length }
}

describe("one process on SQLite, killed repeatedly", () => {
  it(
    "charges each acknowledged request once, ends each job, and leaves nothing reserved",
    async () => {
      const upstreams = await startUpstreams()
      const dataDir = folder()
      const fleet = await startFleet({
        processes: 1,
        dataDirs: [dataDir],
        environment: { ...upstreams.environment, ...Receiver.environment },
        args: ["--rate-limit-requests", "1000000"]
      })
      const rows: Query = async (text) => {
        const database = new DatabaseSync(join(dataDir, "gateway.db"), { readOnly: true })
        try {
          return database.prepare(text).all()
        } finally {
          database.close()
        }
      }
      const load = isFull
        ? { requests: 2000, jobs: 100, kills: Array.from({ length: 20 }, () => 0) }
        : { requests: 300, jobs: 15, kills: [0, 0, 0] }
      const { jobs, requests } = load
      expect(await check(fleet, upstreams, rows, load)).toEqual({ jobs, requests })
    },
    isFull ? 300_000 : 90_000
  )
})

const redisUrl = async (): Promise<string> => {
  const redis = await startRedis()
  onTestFinished(redis.dispose)
  return redis.url
}

const isInstalled = hasPostgres() && redisPrograms() !== undefined

describe.skipIf(!isInstalled)("two processes on one Postgres and Redis, one of them killed", () => {
  it(
    "charge each acknowledged request once, end each job, and leave nothing reserved",
    async () => {
      const upstreams = await startUpstreams()
      const { url } = await startServer()
      const fleet = await startFleet({
        processes: 2,
        dataDirs: [folder(), folder()],
        environment: {
          ...upstreams.environment,
          ...Receiver.environment,
          DATABASE_URL: url,
          REDIS_URL: await redisUrl()
        },
        args: ["--rate-limit-requests", "1000000"]
      })
      const load = isFull ? { requests: 2000, jobs: 100, kills: [1] } : { requests: 300, jobs: 15, kills: [1] }
      const { jobs, requests } = load
      expect(await check(fleet, upstreams, query(url), load)).toEqual({ jobs, requests })
    },
    isFull ? 300_000 : 90_000
  )
})
