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

let fixedAddresses: ReadonlyArray<string> | undefined

/**
 * Starts a program at the same addresses each time, where the system allows it. With random ones,
 * two processes of one build differ by 10 % in the CPU time of a request.
 */
const withFixedAddresses = (): ReadonlyArray<string> => {
  const command = ["setarch", "--addr-no-randomize"]
  const isAllowed = () => {
    try {
      execFileSync("setarch", ["--addr-no-randomize", "true"], { stdio: "ignore" })
      return true
    } catch {
      return false
    }
  }
  return (fixedAddresses ??= isAllowed() ? command : [])
}

/** The command before that of a program that runs on one core. */
export const onCore = (core: number): ReadonlyArray<string> => [
  ...withFixedAddresses(),
  "taskset",
  "--cpu-list",
  String(core)
]

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
