/**
 * Workers that are restarted and upgraded under load, from the packed package: no request fails.
 *
 * Until a release has been published, the version before is this one: the test installs the package
 * twice, and one of them says that it is a later version.
 */
import { start, type Running } from "@model-gateway/test-services/GatewayProcess"
import { installGateway } from "@model-gateway/test-services/Packages"
import { hasPostgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest"

const folder = mkdtempSync(join(tmpdir(), "model-gateway-rolling-"))
const [before, next, link] = ["before", "next", "current"].map((name) => join(folder, name))
if (before === undefined || next === undefined || link === undefined) throw new Error("three folders")

const nextVersion = "99.0.0"

beforeAll(async () => {
  const home = join(folder, "home")
  mkdirSync(home)
  await installGateway({ tarball: inject("gatewayTarball"), prefix: before, node: process.execPath, home })
  cpSync(before, next, { recursive: true, verbatimSymlinks: true })
  const manifest = join(next, "lib/node_modules/@model-gateway/gateway/package.json")
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/"version": "[^"]+"/, `"version": "${nextVersion}"`))
})

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
  const [, origin = ""] = await gateway.prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/api\/v1/)
  await gateway.prints(/Requests are served by 2 workers/)
  return { gateway, key, origin }
}

type Served = Awaited<ReturnType<typeof serve>>

const body = JSON.stringify({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })

/** Sends paid requests over kept connections, without repeating any, until it is told to end. */
const load = ({ key, origin }: Served) => {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const send = () =>
    new Promise<string>((resolve) => {
      const sent = request(`${origin}/api/v1/rerank`, { agent, method: "POST", headers }, (response) => {
        response.resume()
        response.once("close", () => resolve(response.complete ? String(response.statusCode) : "cut"))
      })
      sent.once("error", ({ message }) => resolve(message))
      sent.end(body)
    })
  const results = new Map<string, number>()
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const result = await send()
      results.set(result, (results.get(result) ?? 0) + 1)
      await sleep(10)
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

describe.each(databases)("two workers on $name", ({ environment, isThere }) => {
  it.skipIf(!isThere)("are restarted, upgraded and taken back by one version without a failed request", async () => {
    use(before)
    const served = await serve(await environment())
    const [own = ""] = await versions(served)
    const end = load(served)
    await restart(served.gateway, 1)
    use(next)
    await restart(served.gateway, 2)
    expect(await versions(served)).toEqual([nextVersion, nextVersion])
    use(before)
    await restart(served.gateway, 3)
    expect(await versions(served)).toEqual([own, own])
    const results = await end()
    expect(Object.keys(results)).toEqual(["200"])
    expect(results["200"]).toBeGreaterThan(100)
    served.gateway.signal("SIGTERM")
    expect(await served.gateway.ended).toBe(0)
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
