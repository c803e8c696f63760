/** The gateway's executable, as an operator runs it, and what its processes use. Only on Linux. */
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Executable extends Gateway {
  readonly dataDir: string
  /** Ends it, and deletes its data. */
  readonly remove: () => Promise<void>
}

/** A benchmark measures the service and not its limits. */
const unlimited = {
  MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "1000000000",
  MODEL_GATEWAY_INITIAL_CREDITS: "1000000"
}

/** Starts it on a new data folder. `settings` are environment variables. */
export const startExecutable = async (settings: Readonly<Record<string, string>> = {}): Promise<Executable> => {
  const dataDir = await mkdtemp(join(tmpdir(), "model-gateway-bench-"))
  const gateway = await startGateway(dataDir, { ...unlimited, ...settings })
  return {
    ...gateway,
    dataDir,
    remove: async () => {
      gateway.signal("SIGTERM")
      await gateway.ended
      await rm(dataDir, { recursive: true, force: true })
    }
  }
}

/** The bytes of all files of a folder, without its subfolders. */
export const bytesIn = async (folder: string): Promise<number> => {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async ({ name }) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** The samples of a page of metrics, by name and labels. */
export const metricsOf = async ({ origin }: Gateway): Promise<ReadonlyMap<string, number>> => {
  const page = await (await fetch(`${origin}/metrics`)).text()
  return new Map(
    [...page.matchAll(/^([a-z_]+(?:\{[^}]*\})?) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)])
  )
}

interface Process {
  readonly pid: number
  readonly parent: number
  /** Microseconds of all threads. The kernel counts 10,000 at once. */
  readonly cpu: number
}

/** Microseconds. `sysconf(_SC_CLK_TCK)` is 100 wherever Node runs. */
const tick = 10_000

const processes = async (): Promise<ReadonlyArray<Process>> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid): Promise<Process | undefined> => {
      try {
        const line = await readFile(`/proc/${pid}/stat`, "utf8")
        // The name of the program, in parentheses, may have spaces.
        const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
        const [, parent = "0"] = fields
        // In user mode and in the kernel: its own, and that of its children that have ended.
        const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
        return { pid: Number(pid), parent: Number(parent), cpu: ticks * tick }
      } catch {
        // It has ended meanwhile.
        return undefined
      }
    })
  )
  return found.flatMap((process) => process ?? [])
}

/** The CPU time of a process and of everything that it started, in microseconds. */
export const cpuOf = async (pid: number): Promise<number> => {
  const all = await processes()
  const own = new Set([pid])
  for (let before = 0; before < own.size;) {
    before = own.size
    for (const process of all) if (own.has(process.parent)) own.add(process.pid)
  }
  return all.reduce((sum, process) => (own.has(process.pid) ? sum + process.cpu : sum), 0)
}

/** The CPU time of the running threads of one process, in microseconds, exactly. */
export const threadsOf = async (pid: number): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`)
  const nanoseconds = await Promise.all(
    threads.map(async (thread) =>
      Number((await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")).split(" ")[0])
    )
  )
  return nanoseconds.reduce((sum, time) => sum + time, 0) / 1000
}
