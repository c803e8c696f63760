// The unit of deploy/systemd. No systemd need run for these tests.
import { systemdAnalyze } from "@model-gateway/test-services/Systemd"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"

const text = readFileSync(join(import.meta.dirname, "../../../deploy/systemd/model-gateway.service"), "utf8")

describe.skipIf(systemdAnalyze() === undefined)("the unit", () => {
  const analyze = (unit: string, ...args: ReadonlyArray<string>) => {
    const folder = mkdtempSync(join(tmpdir(), "unit-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "model-gateway.service")
    // The gateway need not be installed here: any program is one that can be started.
    writeFileSync(file, unit.replace("/usr/bin/model-gateway", process.execPath))
    return spawnSync(systemdAnalyze() ?? "", [...args, file], { encoding: "utf8" })
  }

  it("is what systemd-analyze verify accepts", () => {
    expect(analyze(text, "verify", "--man=no")).toMatchObject({ status: 0, stdout: "", stderr: "" })
    expect(analyze(text.replace("DynamicUser=", "DynamicUsr="), "verify", "--man=no").stderr).toContain("DynamicUsr")
  })

  it("has an exposure below 2.5", () => {
    const security = (unit: string) => analyze(unit, "security", "--offline=true", "--threshold=25", "--no-pager")
    const { status, stdout } = security(text)
    expect(stdout).toMatch(/Overall exposure level for model-gateway.service: [01]\.\d/)
    expect(status).toBe(0)
    expect(security(text.replace(/^(?:Protect|Private|Restrict|SystemCall|Dynamic|Capab).*$/gm, "")).status).not.toBe(0)
  })
})

it("gives the gateway longer to stop than it takes by default", () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
  expect(seconds).toBeGreaterThan(30 + 15)
})
