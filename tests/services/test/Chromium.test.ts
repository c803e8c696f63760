// The installation of a Chromium, on a machine that seems to have none: an empty home and a PATH
// with a scripted apt-get.
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { main } from "./Machine.ts"

/**
 * Its apt-get leaves the file `apt-was-called`, says so, and installs a Chromium that tells its
 * version.
 */
const machine = (environment: Readonly<Record<string, string>>) => {
  const home = mkdtempSync(join(tmpdir(), "chromium-"))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const chromium = join(home, "chromium")
  const aptGet = `#!/bin/sh
case "$*" in *install*)
  echo called > ${join(home, "apt-was-called")}
  echo "apt-get runs" >&2
  echo '#!/bin/sh' > ${chromium}
  echo 'echo Chromium 1' >> ${chromium}
  /bin/chmod +x ${chromium};;
esac
`
  writeFileSync(join(home, "apt-get"), aptGet, { mode: 0o755 })
  const { status, stdout } = spawnSync(
    "/bin/sh",
    ["-c", `exec "$0" "$1" "$2" 2>&1`, process.execPath, main, "chromium"],
    {
      env: { PATH: home, HOME: home, PLAYWRIGHT_BROWSERS_PATH: join(home, "playwright"), ...environment },
      encoding: "utf8"
    }
  )
  return { status, stdout, aptWasCalled: existsSync(join(home, "apt-was-called")), chromium }
}

describe("without a Chromium", () => {
  it("installs nothing when CHROMIUM_INSTALL is never, and says so", () => {
    const { aptWasCalled, status, stdout } = machine({ CHROMIUM_INSTALL: "never" })
    expect({ aptWasCalled, status }).toEqual({ aptWasCalled: false, status: 1 })
    expect(stdout).toContain("CHROMIUM_INSTALL=never forbids installing one")
  })

  // Only root installs the system's package.
  it.runIf(process.getuid?.() === 0)("says what it installs as root before it does, and how to forbid it", () => {
    const { chromium, status, stdout } = machine({})
    expect(status).toBe(0)
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(
        /as root: the system's package chromium with apt-get.* CHROMIUM_INSTALL=never forbids it\.$/
      ),
      "apt-get runs",
      chromium
    ])
  })
})
