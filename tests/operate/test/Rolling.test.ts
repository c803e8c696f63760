/**
 * Workers that are restarted and upgraded under load, from packed packages: no request fails.
 *
 * The version before is that of the newest release's tag. Without a tag it is this tree. The later
 * version is this tree with another number and one more migration.
 */
import { root, succeed } from "@model-gateway/test-services/Command"
import { start, type Running } from "@model-gateway/test-services/GatewayProcess"
import { installGateway } from "@model-gateway/test-services/Packages"
import { hasPostgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest"
import { at } from "./support/Manifest.ts"
import { packRelease, previousRelease } from "./support/PreviousRelease.ts"

const folder = mkdtempSync(join(tmpdir(), "model-gateway-rolling-"))
const [before, later, link] = ["before", "later", "current"].map((name) => join(folder, name))
if (before === undefined || later === undefined || link === undefined) throw new Error("three folders")

const release = await previousRelease()

const laterVersion = "99.0.0"

/** Packs this tree as a later version. */
const packLater = async (): Promise<string> => {
  const bundle = join(folder, "bundle")
  await succeed("node", [join(import.meta.dirname, "fixtures/bundleLater.mjs"), bundle, laterVersion], { cwd: root })
  const [name = ""] = (await succeed("npm", ["pack", "--silent"], { cwd: bundle })).trim().split("\n")
  return join(bundle, name)
}

/** The build of a release takes minutes. */
const buildTimeout = 1_800_000

beforeAll(async () => {
  const home = join(folder, "home")
  mkdirSync(home)
  const tarball = release === undefined ? inject("gatewayTarball") : await packRelease(release, folder)
  await installGateway({ tarball, prefix: before, node: process.execPath, home })
  await installGateway({ tarball: await packLater(), prefix: later, node: process.execPath, home })
}, buildTimeout)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Lets the link of the operator point to another installation, at once. */
const use = (installation: string): void => {
  symlinkSync(installation, `${link}.new`)
  renameSync(`${link}.new`, link)
}

/** Serves with two workers. */
const serve = async (environment: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) => {
  const dataDir = mkdtempSync(join(folder, "data-"))
  const gateway = start(
    process.execPath,
    [join(link, "bin/model-gateway"), "serve", "--workers", "2", "--port", "0", "--data-dir", dataDir, ...args],
    {
      cwd: folder,
      env: { MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "1000000", MODEL_GATEWAY_INITIAL_CREDITS: "100000", ...environment }
    }
  )
  onTestFinished(gateway.stop)
  const [, key = ""] = await gateway.prints(/ordinary key +(mg_sk_\w+)\s/)
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w+)\s/)
  const [, origin = ""] = await gateway.prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/api\/v1/)
  await gateway.prints(/Requests are served by 2 workers/)
  const migrate = async (...more: ReadonlyArray<string>): Promise<unknown> => {
    const command = [join(link, "bin/model-gateway"), "migrate", "--json", "--data-dir", dataDir, ...more]
    return JSON.parse(await succeed("node", command, { cwd: folder, env: environment }))
  }
  return { gateway, key, managementKey, migrate, origin }
}

type Served = Awaited<ReturnType<typeof serve>>

interface Call {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly key: string
  readonly body?: object
}

const rerank = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }

/** What clients send, again and again. The first is paid for. */
const callsOf = ({ key, managementKey }: Served): ReadonlyArray<Call> => [
  { method: "POST", path: "/rerank", key, body: rerank },
  { method: "GET", path: "/key", key },
  { method: "GET", path: "/generations?limit=5", key: managementKey },
  { method: "GET", path: "/videos?limit=5", key },
  { method: "GET", path: "/keys", key: managementKey },
  { method: "GET", path: "/activity", key: managementKey }
]

/** Sends requests over kept connections, without repeating any, until it is told to end. */
const load = (served: Served) => {
  const agent = new Agent({ keepAlive: true })
  const send = ({ body, key, method, path }: Call) =>
    new Promise<string>((resolve) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
      const sent = request(`${served.origin}/api/v1${path}`, { agent, method, headers }, (response) => {
        response.resume()
        response.once("close", () => resolve(response.complete ? String(response.statusCode) : "cut"))
      })
      sent.once("error", ({ message }) => resolve(message))
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  const calls = callsOf(served)
  const results = new Map<string, number>()
  let isOver = false
  const client = async () => {
    while (!isOver) {
      for (const call of calls) {
        const result = `${call.method} ${call.path} ${await send(call)}`
        results.set(result, (results.get(result) ?? 0) + 1)
        await sleep(10)
      }
    }
  }
  const clients = Array.from({ length: 8 }, client)
  return async (): Promise<Readonly<Record<string, number>>> => {
    isOver = true
    await Promise.all(clients)
    agent.destroy()
    return Object.fromEntries(results)
  }
}

const fetchJson = async ({ origin }: Served, { body, key, method, path }: Call): Promise<unknown> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(`${origin}/api/v1${path}`, { method, headers, ...init })
  const answer: unknown = await response.json()
  expect([path, response.ok, answer]).toEqual([path, true, answer])
  return answer
}

/** Submits a job. Returns what waits for its end. */
const submitVideo = async (served: Served) => {
  const body = { model: "sandbox/title-card", prompt: "Dawn", duration: 1, size: "320x240" }
  const job = await fetchJson(served, { method: "POST", path: "/videos", key: served.key, body })
  const path = `/videos/${String(at(job, "id"))}?wait=5`
  return () =>
    expect
      .poll(async () => at(await fetchJson(served, { method: "GET", path, key: served.key }), "status"), {
        timeout: 120_000
      })
      .toBe("completed")
}

/** How many reranks the service has counted. */
const countedReranks = async (served: Served): Promise<number> => {
  const activity = await fetchJson(served, { method: "GET", path: "/activity", key: served.managementKey })
  const rows: unknown = at(activity, "data")
  if (!Array.isArray(rows)) throw new Error("an activity without rows")
  return Array.from<unknown>(rows)
    .filter((row) => at(row, "model") === rerank.model)
    .reduce<number>((sum, row) => sum + Number(at(row, "requests")), 0)
}

/** That each request was a 200, and each paid one was counted once. */
const expectNoFailure = async (served: Served, results: Readonly<Record<string, number>>): Promise<void> => {
  const expected = callsOf(served).map(({ method, path }) => `${method} ${path} 200`)
  expect(Object.keys(results).toSorted()).toEqual(expected.toSorted())
  const paid = results["POST /rerank 200"] ?? 0
  expect(paid).toBeGreaterThan(50)
  expect(await countedReranks(served)).toBe(paid)
}

/** The versions of the workers, as one scrape shows them. */
const versions = async ({ origin }: Served): Promise<ReadonlyArray<string>> => {
  const page = await (await fetch(`${origin}/metrics`)).text()
  return Array.from(page.matchAll(/^model_gateway_build_info\{.*version="([^"]+)"/gm), ([, version = ""]) => version)
}

/** Restarts the workers, for the `count`th time. */
const restart = async (gateway: Running, count: number): Promise<void> => {
  gateway.signal("SIGUSR2")
  await gateway.prints(new RegExp(`(?:All workers were restarted[^]*){${count}}`))
}

/** The settings of a new Postgres database. */
const postgres = async (): Promise<Readonly<Record<string, string>>> => {
  const server = await startPostgres()
  onTestFinished(server.remove)
  const file = join(folder, "database-url")
  writeFileSync(file, `${server.url}\n`, { mode: 0o600 })
  return { DATABASE_URL_FILE: file }
}

const databases = [
  { name: "SQLite", isThere: true, environment: async () => ({}) },
  { name: "Postgres", isThere: hasPostgres(), environment: postgres }
]

describe.each(databases)(`two workers of ${release ?? "this tree (no release is tagged)"} on $name`, (database) => {
  const serveWithLoad = async () => {
    use(before)
    const served = await serve(await database.environment())
    const [own = ""] = await versions(served)
    const schema = async () => Number(at(await served.migrate("--dry-run"), "schema"))
    return { served, own, schema, first: await schema(), end: load(served) }
  }

  it.skipIf(!database.isThere)("are upgraded to a later schema, and back, without a failed request", async () => {
    const { end, first, own, schema, served } = await serveWithLoad()
    const videos = [await submitVideo(served)]
    await restart(served.gateway, 1)
    expect(await schema()).toBe(first)

    use(later)
    videos.push(await submitVideo(served))
    await restart(served.gateway, 2)
    expect(await versions(served)).toEqual([laterVersion, laterVersion])
    const last = await schema()
    expect(last).toBeGreaterThan(first)

    use(before)
    videos.push(await submitVideo(served))
    await restart(served.gateway, 3)
    expect(await versions(served)).toEqual([own, own])
    // Once more: now every worker of the version before has started on the later schema.
    await restart(served.gateway, 4)
    expect(await schema()).toBe(last)
    videos.push(await submitVideo(served))

    for (const isCompleted of videos) await isCompleted()
    await expectNoFailure(served, await end())
    served.gateway.signal("SIGTERM")
    expect(await served.gateway.ended).toBe(0)
  })

  it.skipIf(!database.isThere)("serve on while `migrate` of a later version runs beside them", async () => {
    const { end, first, schema, served } = await serveWithLoad()
    use(later)
    expect(at(await served.migrate(), "applied")).not.toEqual([])
    expect(await schema()).toBeGreaterThan(first)
    use(before)
    await restart(served.gateway, 1)
    await expectNoFailure(served, await end())
  })
})

/** The processes that a process has started. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number)

describe.skipIf(process.platform !== "linux")("a worker", () => {
  it("that is killed is replaced, with longer and longer pauses while it cannot start", async () => {
    use(before)
    const settings = join(folder, "gateway.json")
    writeFileSync(settings, "{}")
    const served = await serve({}, "--config", settings)
    const { gateway, origin } = served
    const [killed = 0] = childrenOf(gateway.pid)
    writeFileSync(settings, '{ "circuits": { "failures": 0 } }')
    process.kill(killed, "SIGKILL")
    await gateway.prints(/ended by SIGKILL\. Another process starts in 1 seconds/)
    await gateway.prints(/"circuits\.failures" on line 1 of \S+ is 0[^]*ended with status 1[^]*starts in 4 seconds/)
    // The other one serves, and does not follow into a restart that cannot work.
    gateway.signal("SIGUSR2")
    await gateway.prints(/A new worker did not start, so the restart ends here/)
    expect((await fetch(`${origin}/readyz`)).status).toBe(200)
    writeFileSync(settings, "{}")
    await gateway.prints(/Worker 1 serves again/)
    expect(await versions(served)).toHaveLength(2)
  })

  it("that hangs is missing in the metrics, which say how many there should be", async () => {
    use(before)
    const { gateway, origin } = await serve({})
    const [stopped = 0] = childrenOf(gateway.pid)
    process.kill(stopped, "SIGSTOP")
    // Connections that it gets wait.
    const scrape = async () => (await fetch(`${origin}/metrics`, { signal: AbortSignal.timeout(10_000) })).text()
    const page = await vi.waitFor(scrape, { timeout: 60_000 })
    expect(page.match(/^model_gateway_build_info\{/gm)).toHaveLength(1)
    expect(page).toMatch(/^model_gateway_workers\{worker="\d"\} 2$/m)
    process.kill(stopped, "SIGCONT")
  })

  it("stops after its requests when the process that started it is killed", async () => {
    use(before)
    const { gateway, origin } = await serve({})
    const workers = childrenOf(gateway.pid)
    gateway.signal("SIGKILL")
    await expect.poll(() => workers.filter((pid) => isRunning(pid)), { timeout: 60_000 }).toEqual([])
    await expect(fetch(`${origin}/healthz`)).rejects.toThrow("fetch failed")
  })
})

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
