/** Gives a server one core and its load another, where the system has `taskset` and two cores. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

export interface Cores {
  /** The core for the server, or undefined if nothing is pinned. */
  readonly server: number | undefined
  /** Lets this process run on all cores again. */
  readonly release: () => void
}

const pin = (cores: string): void => {
  execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", cores, String(process.pid)])
}

/** Pins this process, which makes the load, and the children that it starts without a core. */
export const pinLoad = (): Cores => {
  const unpinned: Cores = { server: undefined, release: () => {} }
  try {
    const allowed = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? ""
    const cores = (allowed.match(/\d+/g) ?? []).map(Number)
    const server = cores[0]
    const load = cores.at(-1)
    if (server === undefined || load === undefined || server === load) return unpinned
    pin(String(load))
    return { server, release: () => pin(allowed) }
  } catch {
    return unpinned
  }
}
