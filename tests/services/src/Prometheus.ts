/** Prometheus and promtool, for the release tests. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram, forTests, isRoot, type Program, run } from "./Program.ts"

/** The paths of the programs. */
export interface PrometheusPrograms {
  readonly prometheus: string
  readonly promtool: string
}

/** Unpacked, and not installed: the package of Debian would start a service on this machine. */
const unpacked = join(import.meta.dirname, "..", "..", "..", "node_modules", ".cache", "prometheus")

const isForbidden = process.env["PROMETHEUS_INSTALL"] === "never"

const find = (): PrometheusPrograms | undefined => {
  const pathOf = (name: string) => {
    const own = join(unpacked, "usr", "bin", name)
    return findProgram(name) ?? (existsSync(own) ? own : undefined)
  }
  const prometheus = pathOf("prometheus")
  const promtool = pathOf("promtool")
  return prometheus === undefined || promtool === undefined ? undefined : { prometheus, promtool }
}

const unpack = (): void => {
  const folder = mkdtempSync(join(tmpdir(), "prometheus-"))
  try {
    // As root, apt-get would warn that its own user cannot write to the folder.
    const options = ["-qq", "-o", "APT::Sandbox::User=root"]
    if (isRoot) run("apt-get", [...options, "update"])
    if (spawnSync("apt-get", [...options, "download", "prometheus"], { cwd: folder }).status !== 0) return
    const [archive] = readdirSync(folder)
    mkdirSync(unpacked, { recursive: true })
    if (archive !== undefined) run("dpkg-deb", ["-x", join(folder, archive), unpacked])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const program: Program<PrometheusPrograms> = {
  name: "prometheus",
  find,
  ensure: () => {
    const found = find()
    if (found !== undefined || isForbidden || findProgram("dpkg-deb") === undefined) return found
    console.log(
      "No prometheus was found for the tests of alerts and dashboards. Downloading Debian's package (19 MB, 96 MB unpacked) " +
        "into node_modules/.cache. PROMETHEUS_INSTALL=never forbids it."
    )
    unpack()
    return find()
  },
  missing:
    "No prometheus and promtool were found for the tests of alerts and dashboards. Install Prometheus 2.42 or newer."
}

/** The programs. Undefined if one is missing: the test is skipped. */
export const prometheusPrograms = (): PrometheusPrograms | undefined => forTests(program)
