/** Processes that start together, and what a process leaves behind when it is asked to stop. */
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { currentKey, firstKey, folder, run, serve, type Served } from "./Executable.ts"
import { query, startServer } from "./PostgresServer.ts"

/** The rows of a query on the SQLite database of a folder. */
const rowsOf = (dataDir: string, query: string): ReadonlyArray<Record<string, unknown>> => {
  const database = new DatabaseSync(join(dataDir, "gateway.db"), { readOnly: true })
  try {
    return database.prepare(query).all()
  } finally {
    database.close()
  }
}

const readiness = async ({ origin }: Served): Promise<readonly [number, unknown]> => {
  const response = await fetch(`${origin}/readyz`, { headers: { connection: "close" } })
  return [response.status, await response.json()]
}

describe("several processes that start at once", { timeout: 60_000 }, () => {
  it("create one schema, one workspace and one pair of keys in a new folder, and all serve", async () => {
    const dataDir = folder()
    const toFile = { MODEL_GATEWAY_FIRST_KEYS: "file" }
    const gateways = await Promise.all(Array.from({ length: 4 }, () => serve(dataDir, [], toFile)))
    const [, key = ""] = await vi.waitFor(() => {
      const found = /^MODEL_GATEWAY_API_KEY=(mg_sk_\w{38})$/m.exec(
        readFileSync(join(dataDir, "first-keys.env"), "utf8")
      )
      if (found === null) throw new Error("no key yet")
      return found
    })
    for (const gateway of gateways) {
      expect((await currentKey(gateway.origin, key)).status).toBe(200)
      expect(await readiness(gateway)).toMatchObject([200, { status: "ready" }])
    }
    expect(rowsOf(dataDir, "SELECT COUNT(*) AS n FROM workspaces")).toMatchObject([{ n: 1 }])
    expect(rowsOf(dataDir, "SELECT COUNT(*) AS n FROM keys")).toMatchObject([{ n: 2 }])
    expect(rowsOf(dataDir, "SELECT COUNT(*) AS n FROM processes")).toMatchObject([{ n: 4 }])
    for (const gateway of gateways) gateway.signal("SIGTERM")
    const ended = await Promise.all(gateways.map(({ ended }) => ended))
    expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(ended.map(() => ({ code: 0, stderr: "" })))
    expect(ended.filter(({ stdout }) => stdout.includes("first run"))).toHaveLength(1)
  })

  it.skipIf(!hasPostgres())(
    "create one schema and one workspace in a new Postgres database, and all serve",
    async () => {
      const { url } = await startServer()
      const gateways = await Promise.all(Array.from({ length: 4 }, () => serve(folder(), [], { DATABASE_URL: url })))
      const rows = query(url)
      const [key] = await vi.waitFor(() => {
        const keys = gateways.flatMap(({ printed }) => /ordinary key +(mg_sk_\w{38})/.exec(printed())?.[1] ?? [])
        expect(keys).toHaveLength(1)
        return keys
      })
      for (const gateway of gateways) {
        expect((await currentKey(gateway.origin, key ?? "")).status).toBe(200)
        expect(await readiness(gateway)).toMatchObject([200, { status: "ready" }])
      }
      expect(await rows("SELECT COUNT(*) AS n FROM workspaces")).toEqual([{ n: 1 }])
      expect(await rows("SELECT COUNT(*) AS n FROM keys")).toEqual([{ n: 2 }])
      expect(await rows("SELECT COUNT(*) AS n FROM processes")).toEqual([{ n: 4 }])
      for (const gateway of gateways) gateway.signal("SIGTERM")
      const ended = await Promise.all(gateways.map(({ ended }) => ended))
      expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(ended.map(() => ({ code: 0, stderr: "" })))
      expect(await rows("SELECT COUNT(*) AS n FROM processes")).toEqual([{ n: 0 }])
    }
  )

  it.skipIf(!hasPostgres())("do not start on a Postgres database that a newer version has upgraded", async () => {
    const { url } = await startServer()
    const environment = { DATABASE_URL: url }
    expect((await run(["migrate", "--data-dir", folder()], environment)).code).toBe(0)
    await query(url)("INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later_needs_9000')")
    for (const command of [
      ["serve", "--port", "0"],
      ["keys", "list"]
    ]) {
      const { code, stderr, stdout } = await run([...command, "--data-dir", folder()], environment)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^The database has schema 9000, .* restore a backup .*\.\n$/)
    }
  })
})

describe("a process that is asked to stop", () => {
  it("answers 503 at /readyz and still serves requests for the shutdown delay, then accepts no more", async () => {
    const gateway = await serve(folder(), ["--shutdown-delay", "2 seconds"])
    const key = await firstKey(gateway)
    expect(await readiness(gateway)).toMatchObject([200, { status: "ready" }])
    gateway.signal("SIGTERM")
    await gateway.prints(/Stopping\. New requests are accepted for 2 seconds\./)
    await vi.waitFor(async () =>
      expect(await readiness(gateway)).toMatchObject([503, { status: "stopping", error: { code: 503 } }])
    )
    const served = await fetch(`${gateway.origin}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } })
    expect([served.status, served.headers.get("connection")]).toEqual([200, "close"])
    await expect
      .poll(
        () =>
          new Promise((resolve) => {
            const socket = connect(gateway.port, "127.0.0.1", () => resolve("open"))
            socket.on("error", () => resolve("refused"))
            onTestFinished(() => void socket.destroy())
          }),
        { timeout: 10_000 }
      )
      .toBe("refused")
    expect(await gateway.ended).toMatchObject({ code: 0, stderr: "" })
  })

  it("hands the jobs that it works on back to the queue, deletes its row, and exits with 0", async () => {
    const upstream = await startRunwayDouble({ keys: ["runway-secret"], polls: 1_000_000 })
    onTestFinished(() => upstream.close())
    const dataDir = folder()
    const gateway = await serve(dataDir, [], {
      RUNWAYML_API_SECRET: "runway-secret",
      RUNWAYML_BASE_URL: upstream.url
    })
    const key = await firstKey(gateway)
    const jobs = await Promise.all(
      Array.from({ length: 3 }, () =>
        fetch(`${gateway.origin}/api/v1/videos`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "runway/gen4.5", prompt: "a cup of tea", duration: 2 })
        })
      )
    )
    expect(jobs.map(({ status }) => status)).toEqual([202, 202, 202])
    const isPolled = () =>
      upstream.jobs.jobs.size === 3 && [...upstream.jobs.jobs.values()].every(({ polls }) => polls > 0)
    await vi.waitFor(() => expect(isPolled()).toBe(true), { timeout: 10_000 })
    gateway.signal("SIGTERM")
    expect(await gateway.ended).toMatchObject({ code: 0, stderr: "" })
    const pending = rowsOf(
      dataDir,
      "SELECT DISTINCT json_extract(element, '$.job_id') AS job, acquired_by FROM effect_queue WHERE state = 'pending'"
    )
    expect(pending.map(({ acquired_by }) => acquired_by)).toEqual([null, null, null])
    expect(rowsOf(dataDir, "SELECT id FROM processes")).toEqual([])
    expect(rowsOf(dataDir, "SELECT id FROM reservations WHERE state = 'open'")).toHaveLength(3)
  })
})
