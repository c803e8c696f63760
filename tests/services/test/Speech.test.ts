// The installation of the programs for speech, on a machine that seems to have none.
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { runOnBareMachine } from "./Machine.ts"

const programs = ["espeak-ng", "sox", "pocketsphinx"]

describe("without programs for speech", () => {
  it("installs nothing when SPEECH_INSTALL is never, and says so", () => {
    const { aptWasCalled, status, stdout } = runOnBareMachine("speech", programs, { SPEECH_INSTALL: "never" })
    expect({ aptWasCalled, status }).toEqual({ aptWasCalled: false, status: 1 })
    expect(stdout).toContain("SPEECH_INSTALL=never forbids installing it")
    expect(stdout).toContain("apt-get install espeak-ng sox pocketsphinx pocketsphinx-en-us")
  })

  // Only root installs the system's packages.
  it.runIf(process.getuid?.() === 0)("says what it installs as root before it does, and how to forbid it", () => {
    const { home, status, stdout } = runOnBareMachine("speech", programs, {})
    expect(status).toBe(0)
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/as root with apt-get: espeak-ng, sox, .* SPEECH_INSTALL=never forbids it\.$/),
      ...programs.map((name) => join(home, name))
    ])
  })
})
