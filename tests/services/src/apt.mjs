// Finds programs for the tests, and installs Debian's packages with them, where this process may.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"

export const isRoot = process.getuid?.() === 0

/** The path of the first of these programs that is in the PATH, or undefined. */
export const findProgram = (...names) =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path))

/** Runs a command to its end; only what it says of errors is shown. */
export const run = (command, args, env = {}) =>
  spawnSync(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 600_000
  }).status === 0

/** Whether the packages were installed. Only root can, and only where there is an apt-get. */
export const installPackages = (...packages) => {
  if (!isRoot || spawnSync("apt-get", ["--version"]).status !== 0) return false
  const env = { DEBIAN_FRONTEND: "noninteractive" }
  const options = ["-qq", "-o", "DPkg::Lock::Timeout=120"]
  const install = [...options, "install", "-y", "--no-install-recommends", ...packages]
  return run("apt-get", [...options, "update"], env) && run("apt-get", install, env)
}
