// The installation of the programs for speech, on a machine that seems to have none: a PATH with a scripted apt-get.
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { root } from "./Workspace.ts"

/** Its apt-get leaves the file `apt-was-called`, and installs an empty file for each program. */
const machine = (environment: Readonly<Record<string, string>>) => {
  const home = mkdtempSync(join(tmpdir(), "speech-"))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const aptGet = `#!/bin/sh
case "$*" in *install*)
  echo "$*" > ${join(home, "apt-was-called")}
  for program in espeak-ng sox pocketsphinx; do echo > ${home}/$program; done;;
esac
`
  writeFileSync(join(home, "apt-get"), aptGet, { mode: 0o755 })
  const { status, stdout } = spawnSync(
    "/bin/sh",
    ["-c", `exec "$0" "$1" 2>&1`, process.execPath, join(root, "scripts", "speech.mjs")],
    { env: { PATH: home, HOME: home, ...environment }, encoding: "utf8" }
  )
  return { home, status, stdout, aptWasCalled: existsSync(join(home, "apt-was-called")) }
}

describe("without programs for speech", () => {
  it("installs nothing when SPEECH_INSTALL is never, and says so", () => {
    const { aptWasCalled, status, stdout } = machine({ SPEECH_INSTALL: "never" })
    expect({ aptWasCalled, status }).toEqual({ aptWasCalled: false, status: 1 })
    expect(stdout).toContain("SPEECH_INSTALL=never forbids installing them")
    expect(stdout).toContain("apt-get install espeak-ng sox pocketsphinx pocketsphinx-en-us")
  })

  // Only root installs the system's packages.
  it.runIf(process.getuid?.() === 0)("says what it installs as root before it does, and how to forbid it", () => {
    const { home, status, stdout } = machine({})
    expect(status).toBe(0)
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/as root with apt-get: espeak-ng, sox, .* SPEECH_INSTALL=never forbids it\.$/),
      ...["espeak-ng", "sox", "pocketsphinx"].map((name) => join(home, name))
    ])
  })
})
