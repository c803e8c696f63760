// How V8 collects garbage in a served gateway, and the memory that it may keep although it is free.
import { readFileSync } from "node:fs"
import { describe, expect, it, vi } from "vitest"
import { folder, type Running, serve } from "./Executable.ts"

const read = ({ pid }: Running, name: "cmdline" | "environ"): ReadonlyArray<string> =>
  readFileSync(`/proc/${pid}/${name}`, "utf8").split("\0")

describe.skipIf(process.platform !== "linux")("serve", { timeout: 60_000 }, () => {
  it("bounds the memory that it keeps, in the process that was started", async () => {
    const gateway = await serve(folder(), [], undefined, { nodeOptions: ["--stack-trace-limit=50"] })
    expect(read(gateway, "cmdline")).toEqual(
      expect.arrayContaining([
        "--stack-trace-limit=50",
        "--no-allocation-site-pretenuring",
        "--max-semi-space-size=16",
        "--heap-growing-percent=100",
        "--initial-old-space-size=64",
        "--no-memory-reducer"
      ])
    )
    expect(read(gateway, "environ")).toContain("MALLOC_ARENA_MAX=2")
  })

  it("returns the memory that only the start needed", async () => {
    const gateway = await serve(folder(), [])
    const resident = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) / 1024
    const afterStart = resident()
    await vi.waitFor(() => expect(resident()).toBeLessThan(afterStart - 15), { timeout: 20_000, interval: 200 })
  })

  it("leaves the bounds to an operator who chose them", async () => {
    const gateway = await serve(folder(), [], { NODE_OPTIONS: "--max-semi-space-size=32" })
    expect(read(gateway, "cmdline")).not.toContain("--max-semi-space-size=16")
  })
})
