/**
 * What a process leaves behind when it ends without having stopped, and what the next start says.
 */
import * as LogLine from "@model-gateway/server/LogLine"
import { Schema } from "effect"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { fileURLToPath, pathToFileURL } from "node:url"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { firstKey, folder, run, serve, start } from "./Executable.ts"
import { type Answer, send, startUpstreams } from "./Fleet.ts"

const fixture = fileURLToPath(new URL("fixtures/crashing.mjs", import.meta.url))

const secret = "mg_sk_4gT6hVq8ZxW2rN5mB7cJ9kL3pQ1sD0fY8aE4u"

const bodyOfJob = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String, status: Schema.String }))

const asJob = (answer: Answer | undefined) => bodyOfJob(JSON.parse(answer?.body ?? ""))

const asLine = Schema.decodeUnknownSync(Schema.Struct({ level: Schema.String, message: Schema.String }))

const asEvent = Schema.decodeUnknownSync(LogLine.LogLine)

/** Options of node that load a script. */
const preload = (script: string): ReadonlyArray<string> => {
  const file = join(folder(), "preload.mjs")
  writeFileSync(file, script)
  return ["--import", pathToFileURL(file).href]
}

/** Options of node for a process that throws at SIGUSR2. */
const throwing = (text: string) => preload(`process.on("SIGUSR2", () => { throw new RangeError(${text}) })`)

/** How long a start may take on a busy machine. */
const startTime = { timeout: 30_000, interval: 100 }

const crashes = [
  {
    what: "an uncaught exception",
    code: `throw new TypeError("no access with ${secret} to https://user:secret@example.com/x")`,
    reason: "an uncaught exception",
    error: "TypeError: no access with <redacted> to <redacted>"
  },
  {
    what: "a rejection that nobody handles",
    code: `void Promise.reject(new RangeError("too far"))`,
    reason: "an unhandled rejection",
    error: "RangeError: too far"
  },
  {
    what: "a rejection with a value that is no error",
    code: `void Promise.reject("${secret}")`,
    reason: "an unhandled rejection",
    error: "a thrown value that is no error"
  },
  {
    what: "a syntax error, whose message quotes its input",
    code: `JSON.parse("words of a request")`,
    reason: "an uncaught exception",
    error: "SyntaxError"
  },
  {
    what: "a worker thread's error that nobody handles",
    code: `import("node:worker_threads").then(({ Worker }) => new Worker("throw new Error('in a thread')", { eval: true }))`,
    reason: "an uncaught exception",
    error: "Error: in a thread"
  },
  {
    what: "an event of an error that nobody handles",
    code: `import("node:net").then(({ connect }) => connect(1, "127.0.0.1"))`,
    reason: "an uncaught exception",
    error: "Error [ECONNREFUSED]: connect ECONNREFUSED <redacted>"
  }
]

describe("a crash", { timeout: 120_000 }, () => {
  it.each(crashes)("$what leaves a last line on stderr and in the data folder", async ({ code, error, reason }) => {
    const dataDir = folder()
    mkdirSync(join(dataDir, "run"))
    const options = preload(`globalThis.fail = () => { ${code} }`)
    const child = spawn(process.execPath, [...options, fixture, dataDir], { stdio: ["ignore", "ignore", "pipe"] })
    let stderr = ""
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
    expect(await once(child, "close")).toEqual([1, null])
    const [head = "", doing, ...details] = stderr.trimEnd().split("\n")
    expect(head).toMatch(
      new RegExp(
        `^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z Model Gateway \\S+ \\(process ${child.pid}\\) ended because of ${reason}\\.$`
      )
    )
    expect(doing).toBe("  It had: nothing to do")
    expect(details[0]).toBe(`  ${error}`)
    if (error.includes("Error:")) expect(details[1]).toMatch(/^ {2}at /)
    expect(stderr).not.toMatch(/mg_sk|user:secret|words of/)
    const file = join(dataDir, "crash.log")
    expect(readFileSync(file, "utf8")).toBe(stderr)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir)).toEqual(["crash.log"])
  })

  it("is reported by the next start, and by that one only", async () => {
    const dataDir = folder()
    const gateway = await serve(dataDir, [], {}, { nodeOptions: throwing("'x'") })
    await firstKey(gateway)
    gateway.signal("SIGUSR2")
    const { code, stderr } = await gateway.ended
    expect(code).toBe(1)
    const [head = "", doing = "", error] = stderr.split("\n")
    expect(doing).toMatch(/^ {2}It had: 0 open requests, 0 video jobs, \d+ MiB of memory, .*up for \d+s$/)
    expect(error).toBe("  RangeError: x")
    expect(readFileSync(join(dataDir, "crash.log"), "utf8")).toBe(stderr)

    const next = await serve(dataDir)
    expect(existsSync(join(dataDir, "crash.log"))).toBe(false)
    expect(readFileSync(join(dataDir, "crash.1.log"), "utf8")).toBe(stderr)
    next.signal("SIGTERM")
    const stopped = await next.ended
    expect(stopped.code).toBe(0)
    expect(stopped.stderr).toContain(`An earlier run did not stop as it should: ${head} Details: ${dataDir}`)

    const third = await serve(dataDir)
    third.signal("SIGTERM")
    expect(await third.ended).toMatchObject({ code: 0, stderr: "" })
  })

  it("is one JSON line on stderr with --log-format json", async () => {
    const gateway = await serve(folder(), ["--log-format", "json"], {}, { nodeOptions: throwing("'x'") })
    gateway.signal("SIGUSR2")
    const { code, stderr } = await gateway.ended
    expect(code).toBe(1)
    expect(stderr.trimEnd().split("\n")).toHaveLength(1)
    const { level, message } = asLine(JSON.parse(stderr))
    expect(level).toBe("FATAL")
    expect(message).toMatch(/ended because of an uncaught exception\.\n.*\n {2}RangeError: x\n {2}at /)
  })

  it("takes at most 64 KiB of the data folder", async () => {
    const dataDir = folder()
    const file = join(dataDir, "crash.log")
    const gateway = await serve(dataDir, [], {}, { nodeOptions: throwing("'y'.repeat(1_000_000)") })
    writeFileSync(file, "x".repeat(65_536 - 100))
    gateway.signal("SIGUSR2")
    const { stderr } = await gateway.ended
    expect(stderr.length).toBeLessThan(5000)
    expect(readFileSync(file, "utf8")).toBe(`${"x".repeat(65_536 - 100)}${stderr.slice(0, 100)}`)
  })
})

describe("30 videos at once", { timeout: 300_000 }, () => {
  it("are rendered, cancelled and downloaded by a process that then stops without a word", async () => {
    const gateway = await serve(
      folder(),
      [],
      {},
      {
        nodeOptions: ["--unhandled-rejections=strict", "--max-old-space-size=128"]
      }
    )
    const key = await firstKey(gateway)
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const body = { model: "sandbox/title-card", prompt: `tea ${index}`, duration: 1, size: "160x90" }
        const submitted = await send(gateway, "/api/v1/videos", { key, body })
        const { id } = asJob(submitted)
        const path = `/api/v1/videos/${id}`
        if (index % 3 === 0) return asJob(await send(gateway, `${path}/cancel`, { key, method: "POST" })).status
        for (;;) {
          const { status } = asJob(await send(gateway, `${path}?wait=30`, { key }))
          if (status === "pending" || status === "in_progress") continue
          expect((await send(gateway, `${path}/content?index=0`, { key }))?.status).toBe(200)
          return status
        }
      })
    )
    expect(statuses.filter((status) => status === "cancelled")).toHaveLength(10)
    expect(statuses.filter((status) => status === "completed")).toHaveLength(20)
    gateway.signal("SIGTERM")
    expect(await gateway.ended).toMatchObject({ code: 0, stderr: "" })
  })
})

describe("a process that is killed", { timeout: 120_000 }, () => {
  it("is reported by the next start, with what it was doing", async () => {
    const upstreams = await startUpstreams()
    upstreams.video.always({ fault: "hang" })
    upstreams.rerank.always({ fault: "hang" })
    const dataDir = folder()
    const gateway = await serve(dataDir, [], upstreams.environment)
    const key = await firstKey(gateway)
    const body = { model: "runway/gen4.5", prompt: "a secret cup of tea", duration: 2 }
    expect((await send(gateway, "/api/v1/videos", { key, body }))?.status).toBe(202)
    const document = { model: "cohere/rerank-v3.5", query: "secret tea", documents: ["tea"] }
    void send(gateway, "/api/v1/rerank", { key, body: document })
    const [run = ""] = readdirSync(join(dataDir, "runs"))
    const file = join(dataDir, "runs", run, "run.json")
    await vi.waitFor(() => expect(readFileSync(file, "utf8")).toContain("1 open request (1 rerank), 1 video job,"), {
      timeout: 30_000,
      interval: 100
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    gateway.signal("SIGKILL")
    await gateway.ended

    const next = await serve(dataDir)
    next.signal("SIGTERM")
    const { stderr } = await next.ended
    expect(stderr).toMatch(
      new RegExp(
        `An earlier run did not stop as it should: \\S+Z Model Gateway \\S+ \\(process ${gateway.pid}\\) ended within seconds after this time without having stopped`
      )
    )
    const told = readFileSync(join(dataDir, "crash.1.log"), "utf8")
    expect(told).toMatch(/^ {2}It had: 1 open request \(1 rerank\), 1 video job, \d+ MiB/m)
    expect(told).not.toContain("tea")
    expect(readdirSync(join(dataDir, "runs"))).toEqual([])
  })

  it("is reported by another process on its data folder", async () => {
    const dataDir = folder()
    const [first, second] = [await serve(dataDir), await serve(dataDir)]
    first.signal("SIGKILL")
    await first.ended
    await vi.waitFor(() => expect(readdirSync(join(dataDir, "runs"))).toHaveLength(1), { timeout: 25_000 })
    second.signal("SIGTERM")
    expect((await second.ended).stderr).toContain(`(process ${first.pid}) ended within seconds`)
  })
})

/** Serves with the given streams, and tells when it listens. */
const detached = (dataDir: string): ChildProcess => {
  const child = spawn(process.execPath, [executable, "serve", "--port", "0", "--data-dir", dataDir], {
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"]
  })
  onTestFinished(() => void child.kill("SIGKILL"))
  return child
}

describe.skipIf(spawnSync("script", ["--version"]).error !== undefined)("a process with a terminal", () => {
  it("stops when the terminal is closed, and says so", { timeout: 120_000 }, async () => {
    const dataDir = folder()
    const log = join(dataDir, "stderr")
    // Only its standard input is a terminal.
    const command = `exec '${process.execPath}' '${executable}' serve --port 0 --data-dir '${dataDir}' > '${dataDir}/stdout' 2> '${log}'`
    const terminal = spawn("script", ["--quiet", "--command", command, "/dev/null"], {
      stdio: ["pipe", "ignore", "ignore"]
    })
    onTestFinished(() => void terminal.kill("SIGKILL"))
    await vi.waitFor(() => expect(readFileSync(join(dataDir, "stdout"), "utf8")).toContain("first-keys"), startTime)
    terminal.kill("SIGKILL")
    await vi.waitFor(() => expect(readdirSync(join(dataDir, "runs"))).toEqual([]), startTime)
    expect(readFileSync(log, "utf8")).toBe("The terminal was closed (SIGHUP). The gateway stops.\n")
  })
})

describe("a process without its terminal", { timeout: 120_000 }, () => {
  it("continues after SIGHUP, as nohup has it, and reads its settings again", async () => {
    const gateway = await serve(folder())
    await firstKey(gateway)
    process.kill(gateway.pid, "SIGHUP")
    await vi.waitFor(async () => {
      const response = await fetch(`${gateway.origin}/healthz`, { headers: { connection: "close" } })
      expect(response.status).toBe(200)
    })
    gateway.signal("SIGTERM")
    const { code, stderr } = await gateway.ended
    expect([code, stderr]).toEqual([0, expect.stringContaining("The settings were read again.")])
  })

  it.skipIf(process.platform !== "linux")(
    "keeps SIGHUP while it starts, and then reads its settings again",
    async () => {
      const dataDir = folder()
      const gateway = start(["serve", "--port", "0", "--data-dir", dataDir, "--log-format", "json"])
      // Before Node listens, nothing can keep the signal from ending the process.
      await vi.waitFor(() => {
        const [, caught = ""] = /^SigCgt:\s+(\w+)$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8")) ?? []
        if ((Number.parseInt(caught.slice(-1), 16) & 1) === 0) throw new Error("not yet")
      }, startTime)
      await vi.waitFor(
        () => {
          process.kill(gateway.pid, "SIGHUP")
          if (!existsSync(join(dataDir, "gateway.db"))) throw new Error("not yet")
        },
        { timeout: 30_000, interval: 10 }
      )
      await gateway.prints(/"event":"started"/)
      await vi.waitFor(() => expect(gateway.logged()).toContain('"event":"settings_reloaded"'), startTime)
    }
  )

  it("writes what it says of signals, its end and a failed start as JSON, too", async () => {
    const dataDir = folder()
    const json = { MODEL_GATEWAY_LOG_FORMAT: "json" }
    const gateway = start(["serve", "--port", "0", "--data-dir", dataDir], json)
    const [, origin = ""] = await gateway.prints(/at (http:\/\/[^/]+)/)
    gateway.signal("SIGUSR2")
    await vi.waitFor(() => expect(gateway.logged()).toContain('"event":"signal_ignored"'), startTime)
    const taken = await run(["serve", "--port", new URL(origin).port, "--data-dir", dataDir], json)
    expect(taken.code).toBe(1)
    const settings = join(dataDir, "gateway.json")
    writeFileSync(settings, "{")
    const unreadable = await run(["serve", "--config", settings, "--data-dir", dataDir], json)
    gateway.signal("SIGTERM")
    const ended = await gateway.ended
    const lines = [ended, taken, unreadable].flatMap(({ stderr, stdout }) => `${stdout}${stderr}`.trim().split("\n"))
    const events = lines.map((line) => asEvent(JSON.parse(line)).event)
    expect(events).toEqual(["started", "first_run", "stopping", "signal_ignored", "not_started", "not_started"])
  })

  it("continues when nobody reads its output any more", async () => {
    const child = detached(folder())
    let printed = ""
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (printed += chunk))
    const [, origin = ""] = await vi.waitFor(() => {
      const match = /at (http:\S+)\/api\/v1[^]*curl/.exec(printed)
      if (match === null) throw new Error("not yet")
      return match
    }, startTime)
    child.stdout?.destroy()
    child.stderr?.destroy()
    // Each prints a line.
    for (let count = 0; count < 3; count++) child.kill("SIGHUP")
    await vi.waitFor(async () => expect((await fetch(`${origin}/healthz`)).status).toBe(200), startTime)
    child.kill("SIGTERM")
    expect(await once(child, "exit")).toEqual([0, null])
  })
})
