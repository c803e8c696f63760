// The installation of redis-server, on a machine that seems to have none, and the server that tests
// start.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { connect } from "node:net"
import { once } from "node:events"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { redisPrograms, startRedis } from "../src/Redis.ts"
import { runOnBareMachine } from "./Machine.ts"

const programs = ["redis-check-rdb", "redis-cli"]

describe("without redis-server", () => {
  it("installs nothing when REDIS_INSTALL is never, and says so", () => {
    const { aptWasCalled, status, stdout } = runOnBareMachine("redis", programs, { REDIS_INSTALL: "never" })
    expect({ aptWasCalled, status }).toEqual({ aptWasCalled: false, status: 1 })
    expect(stdout).toContain("REDIS_INSTALL=never forbids installing it")
    expect(stdout).toContain("apt-get install redis-tools")
  })

  // Only root installs the system's packages.
  it.runIf(process.getuid?.() === 0)("says what it installs as root before it does, and how to forbid it", () => {
    const { home, status, stdout } = runOnBareMachine("redis", programs, {})
    expect(status).toBe(0)
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/as root with apt-get: redis-tools .* REDIS_INSTALL=never forbids it\.$/),
      ...programs.map((name) => join(home, name))
    ])
  })
})

describe.skipIf(redisPrograms() === undefined)("startRedis", () => {
  it("starts a server that is killed, started again on its port without its keys, and ended", async () => {
    const redis = await startRedis({ args: ["--databases", "2"] })
    onTestFinished(redis.dispose)
    expect(await redis.run("SET", "a", "1")).toBe("OK")
    expect(await redis.run("CONFIG", "GET", "databases")).toBe("databases\n2")
    await redis.kill()
    await redis.start()
    expect(await redis.run("EXISTS", "a")).toBe("0")
    await redis.dispose()
    const socket = connect(redis.port, "127.0.0.1")
    expect(await once(socket, "error")).toMatchObject([{ code: "ECONNREFUSED" }])
  })

  it.runIf(existsSync("/usr/bin/setpriv"))("ends the server when the process that started it is killed", async () => {
    const script = join(import.meta.dirname, "../src/Redis.ts")
    const code = `import { startRedis } from ${JSON.stringify(script)}
console.log((await startRedis()).port)
setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ["--input-type", "module", "--eval", code])
    let port = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (port += text))
    await expect.poll(() => port).toMatch(/^\d+\n$/)
    child.kill("SIGKILL")
    const state = () =>
      new Promise((resolve) => {
        const socket = connect(Number(port), "127.0.0.1")
        socket.once("connect", () => resolve("open")).once("error", () => resolve("ended"))
        socket.once("connect", () => socket.destroy())
      })
    await expect.poll(state).toBe("ended")
  })
})
