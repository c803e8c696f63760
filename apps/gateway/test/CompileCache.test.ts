// The compiled code that a user keeps between starts.
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { folder } from "./Executable.ts"

/** Runs a command, with a home and without the cache of the tests. */
const run = (HOME: string, environment: NodeJS.ProcessEnv = {}) => {
  const env = { ...childEnvironment(), NODE_COMPILE_CACHE: undefined, HOME, ...environment }
  const { status, stderr, stdout } = spawnSync(process.execPath, [executable, "--version"], {
    env,
    encoding: "utf8",
    timeout: 30_000
  })
  return { status, stderr, stdout }
}

const itsVersion: unknown = expect.stringMatching(/^\d+\.\d+\.\d+\n$/)

const onlyItsVersion = { status: 0, stderr: "", stdout: itsVersion }

const cacheIn = (home: string): string => join(home, ".cache", "model-gateway")

describe.skipIf(process.platform === "win32")("compiled code", { timeout: 60_000 }, () => {
  it("is kept in the home of the user", () => {
    const home = folder()
    expect(run(home)).toEqual(onlyItsVersion)
    const [version = ""] = readdirSync(cacheIn(home))
    expect(readdirSync(join(cacheIn(home), version)).length).toBeGreaterThan(10)
    expect(run(home)).toEqual(onlyItsVersion)
  })

  it("is not kept where other users could change it, nor if it is switched off", () => {
    const shared = folder()
    chmodSync(shared, 0o777)
    expect(run(shared)).toEqual(onlyItsVersion)
    expect(existsSync(cacheIn(shared))).toBe(false)
    const open = folder()
    mkdirSync(cacheIn(open), { recursive: true })
    chmodSync(cacheIn(open), 0o777)
    expect(run(open)).toEqual(onlyItsVersion)
    expect(readdirSync(cacheIn(open))).toEqual([])
    const linked = folder()
    const elsewhere = folder()
    symlinkSync(elsewhere, join(linked, ".cache"))
    expect(run(linked)).toEqual(onlyItsVersion)
    expect(readdirSync(cacheIn(linked))).toEqual([])
    const home = folder()
    expect(run(home, { NODE_DISABLE_COMPILE_CACHE: "1" })).toEqual(onlyItsVersion)
    expect(existsSync(cacheIn(home))).toBe(false)
  })

  it("is not needed: a home may be missing, or not writable", () => {
    expect(run("/nowhere")).toEqual(onlyItsVersion)
    expect(run("/proc")).toEqual(onlyItsVersion)
    const home = folder()
    writeFileSync(join(home, ".cache"), "a file in its place")
    expect(run(home)).toEqual(onlyItsVersion)
  })
})
