/** A machine that seems to have no programs: a PATH with a scripted apt-get. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"

/** Finds or installs what tests need. */
export const main = join(import.meta.dirname, "../src/main.ts")

/**
 * Finds or installs a program. The apt-get of the machine leaves the file `apt-was-called`, and
 * installs an empty file for each program.
 */
export const runOnBareMachine = (
  name: string,
  programs: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
) => {
  const home = mkdtempSync(join(tmpdir(), "machine-"))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const aptGet = `#!/bin/sh
case "$*" in *install*)
  echo "$*" > ${join(home, "apt-was-called")}
  for program in ${programs.join(" ")}; do echo > ${home}/$program; done;;
esac
`
  writeFileSync(join(home, "apt-get"), aptGet, { mode: 0o755 })
  const { status, stdout } = spawnSync("/bin/sh", ["-c", `exec "$0" "$1" "$2" 2>&1`, process.execPath, main, name], {
    env: { PATH: home, HOME: home, ...environment },
    encoding: "utf8"
  })
  return { home, status, stdout, aptWasCalled: existsSync(join(home, "apt-was-called")) }
}
