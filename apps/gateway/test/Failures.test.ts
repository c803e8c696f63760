/**
 * What callers see while a part that the gateway needs is down, and that it recovers by itself. The
 * page docs/operate/several-machines.md has a row for each of these tests.
 */
import { Schema } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { credentials, hasS3, startFaults, startS3 } from "@model-gateway/test-services/S3"
import { folder } from "./Executable.ts"
import {
  type Answer,
  decode,
  type Fleet,
  type FleetOptions,
  rerankPrice,
  send,
  startFleet,
  startUpstreams
} from "./Fleet.ts"
import { query, startServer } from "./PostgresServer.ts"

const asReport = decode(
  Schema.Struct({
    parts: Schema.Record(Schema.String, Schema.Struct({ status: Schema.String }))
  })
)

const asKey = decode(Schema.Struct({ data: Schema.Struct({ usage: Schema.Finite }) }))

const ask = async (fleet: Fleet, path: string, body?: unknown, process = 0): Promise<Answer> => {
  const gateway = fleet.gateways[process]
  const answer = gateway === undefined ? undefined : await send(gateway, path, { key: fleet.apiKey, body })
  if (answer === undefined) throw new Error(`no answer to ${path}`)
  return answer
}

const statusOf = async (fleet: Fleet, path: string): Promise<number> => (await ask(fleet, path)).status

/** The status of `/readyz`, and the states of its parts. */
const readiness = async (fleet: Fleet) => {
  const answer = await ask(fleet, "/readyz")
  const { parts } = asReport(answer)
  return [answer.status, Object.fromEntries(Object.entries(parts).map(([name, { status }]) => [name, status]))] as const
}

/** Waits until `/readyz` answers so. Its checks run once a second. */
const untilReadiness = (fleet: Fleet, status: number, parts: Readonly<Record<string, string>>) =>
  vi.waitFor(async () => expect(await readiness(fleet)).toMatchObject([status, parts]), {
    timeout: 20_000,
    interval: 200
  })

const rerank = (fleet: Fleet, process = 0): Promise<Answer> =>
  ask(fleet, "/api/v1/rerank", { model: "cohere/rerank-v3.5", query: "tea", documents: ["coffee", "tea"] }, process)

const upload = async (fleet: Fleet): Promise<number> => {
  const form = new FormData()
  form.set("purpose", "user_data")
  form.set("file", new Blob(["tea ".repeat(1000)], { type: "text/plain" }), "tea.txt")
  const response = await fetch(`${fleet.gateways[0]?.origin}/api/v1/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${fleet.apiKey}`, connection: "close" },
    body: form
  })
  await response.arrayBuffer()
  return response.status
}

const usageOf = async (fleet: Fleet): Promise<number> => asKey(await ask(fleet, "/api/v1/key")).data.usage

/** Starts processes that work. */
const start = async (
  environment: Readonly<Record<string, string>> = {},
  options: Partial<Pick<FleetOptions, "args" | "nodeOptions" | "processes">> = {}
) => {
  const upstreams = await startUpstreams()
  const processes = options.processes ?? 1
  const fleet = await startFleet({
    ...options,
    processes,
    dataDirs: Array.from({ length: processes }, () => folder()),
    environment: { ...upstreams.environment, ...environment }
  })
  expect((await rerank(fleet)).status).toBe(200)
  return { fleet, upstreams }
}

/** Waits until requests succeed again. */
const untilServed = (fleet: Fleet) =>
  vi.waitFor(async () => expect((await rerank(fleet)).status).toBe(200), { timeout: 20_000, interval: 200 })

describe.skipIf(!hasPostgres())("Postgres", { timeout: 60_000 }, () => {
  it("is stopped: requests get 503 or 500, never 401, and work again by themselves", async () => {
    const server = await startServer()
    const { fleet } = await start({ DATABASE_URL: server.url }, { processes: 2 })
    await server.stop()
    expect((await rerank(fleet)).status).toBe(503)
    expect(await statusOf(fleet, "/api/v1/key")).toBe(500)
    expect(await statusOf(fleet, "/healthz")).toBe(200)
    await untilReadiness(fleet, 503, { database: "unavailable", object_store: "ready" })
    // A process that is asked to stop meanwhile still does.
    fleet.gateways[1]?.signal("SIGTERM")
    expect((await fleet.gateways[1]?.ended)?.code).toBe(0)
    await server.start()
    await untilServed(fleet)
    await untilReadiness(fleet, 200, { database: "ready" })
    expect(await usageOf(fleet)).toBeCloseTo(2 * rerankPrice, 9)
  })

  it("hangs: requests wait, /readyz answers 503 after 2 seconds, and the requests succeed once it runs", async () => {
    const server = await startServer()
    const { fleet } = await start({ DATABASE_URL: server.url })
    server.pause()
    const waiting = rerank(fleet)
    await untilReadiness(fleet, 503, { database: "unavailable" })
    expect(await statusOf(fleet, "/healthz")).toBe(200)
    server.resume()
    expect((await waiting).status).toBe(200)
    await untilReadiness(fleet, 200, { database: "ready" })
    expect(await usageOf(fleet)).toBeCloseTo(2 * rerankPrice, 9)
  })
})

it.skipIf(!hasS3())(
  "S3 answers 503: files get 503, other requests work, and files work again by themselves",
  async () => {
    const server = await startS3()
    onTestFinished(() => server.stop())
    const faults = await startFaults(server.origin)
    onTestFinished(() => faults.stop())
    const { fleet } = await start({ ...credentials, OBJECT_STORE_URL: faults.url() })
    expect(await upload(fleet)).toBe(200)
    faults.fail(/./, "slowDown")
    expect(await upload(fleet)).toBe(503)
    expect((await rerank(fleet)).status).toBe(200)
    await untilReadiness(fleet, 200, { database: "ready", object_store: "degraded" })
    faults.heal()
    await untilReadiness(fleet, 200, { object_store: "ready" })
    expect(await upload(fleet)).toBe(200)
  },
  60_000
)

const prlimit = "/usr/bin/prlimit"

it.skipIf(!existsSync(prlimit))(
  "the disk of SQLite and the files is full: writes get 503, reads work, and writes work again with space",
  async () => {
    const { fleet } = await start()
    // No file of the process can grow.
    const limit = (bytes: string) =>
      execFileSync(prlimit, [`--pid=${fleet.gateways[0]?.pid ?? 0}`, `--fsize=${bytes}:`])
    limit("1")
    expect((await rerank(fleet)).status).toBe(503)
    expect(await upload(fleet)).toBe(503)
    expect(await statusOf(fleet, "/api/v1/key")).toBe(200)
    await untilReadiness(fleet, 503, { database: "unavailable", object_store: "degraded" })
    limit("unlimited")
    await untilServed(fleet)
    await untilReadiness(fleet, 200, { database: "ready", object_store: "ready" })
    expect(await upload(fleet)).toBe(200)
    expect(await usageOf(fleet)).toBeCloseTo(2 * rerankPrice, 9)
  },
  60_000
)

/** A module for `node --import`: each SIGUSR2 sets the clock of the process ahead by an hour. */
const jumpingClock = `data:text/javascript,${encodeURIComponent(`
  const real = Date.now
  let ahead = 0
  Date.now = () => real() + ahead
  globalThis.Date = class extends Date {
    constructor(...given) { given.length === 0 ? super(real() + ahead) : super(...given) }
  }
  process.on("SIGUSR2", () => { ahead += 3_600_000 })
`)}`

it.skipIf(!hasPostgres())(
  "the clock of one process jumps an hour ahead: the request of another process keeps its reservation",
  async () => {
    const server = await startServer()
    const rows = query(server.url)
    const { fleet, upstreams } = await start(
      { DATABASE_URL: server.url },
      { processes: 2, nodeOptions: ["--import", jumpingClock], args: ["--deadline-rerank", "12 seconds"] }
    )
    upstreams.rerank.next({ fault: "hang" })
    const waiting = rerank(fleet, 0)
    await vi.waitFor(async () => expect(await rows("SELECT id FROM reservations WHERE state = 'open'")).toHaveLength(1))
    fleet.gateways[1]?.signal("SIGUSR2")
    await vi.waitFor(async () => {
      expect((await rerank(fleet, 1)).status).toBe(200)
      const [last] = await rows("SELECT MAX(settled_at) AS at FROM usage_ledger")
      expect(Number(last?.["at"])).toBeGreaterThan(Date.now() + 3_000_000)
    })
    // Its own process gives up on the upstream, after two heartbeats of both processes.
    expect((await waiting).status).toBe(524)
    expect(await rows("SELECT id FROM reservations WHERE abandoned_at IS NOT NULL")).toEqual([])
    expect(await usageOf(fleet)).toBeCloseTo(2 * rerankPrice, 9)
  },
  60_000
)

it("an upstream is down: its models get 502 and then 503, nothing is charged, and it is asked again", async () => {
  const { fleet, upstreams } = await start({}, { args: ["--circuit-open-for", "1 second"] })
  upstreams.rerank.always({ fault: "reset" })
  const statuses: Array<number> = []
  for (let n = 0; n < 8; n++) statuses.push((await rerank(fleet)).status)
  // The circuit opens after five failures in a row.
  expect(statuses).toEqual([502, 502, 502, 502, 502, 503, 503, 503])
  expect(await statusOf(fleet, "/readyz")).toBe(200)
  expect(await usageOf(fleet)).toBeCloseTo(rerankPrice, 9)
  upstreams.rerank.always(undefined)
  await untilServed(fleet)
})
