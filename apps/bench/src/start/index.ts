/**
 * `pnpm bench start`: how long the executable takes from the start of its process, on a new data
 * folder, to its first answer of `/healthz`, next to a bare `node:http`, in turns. Only on Linux.
 */
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { get } from "node:http"
import { createServer } from "node:net"
import { loadavg, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { cpuOf } from "../executable.ts"
import { inRounds, type Spread, spread, table } from "../rounds.ts"
import { judge, judgedTable, startTargets } from "../targets.ts"

/** What one start took. */
interface Started {
  /** To the first answer, in milliseconds. */
  readonly wall: number
  /** CPU time of all threads until then, in milliseconds. */
  readonly cpu: number
  /** Resident memory then, in MiB. */
  readonly memory: number
  /** Resident memory after {@link idleTime}, in MiB. */
  readonly idle: number
}

interface Contender {
  readonly name: string
  readonly argumentsOf: (port: number, dataDir: string) => ReadonlyArray<string>
  /** How long it is idle after the first answer, in milliseconds. */
  readonly idleTime: number
  readonly env?: NodeJS.ProcessEnv
}

const bare: Contender = {
  name: "bare node:http",
  argumentsOf: (port) => [fileURLToPath(new URL("./bare.js", import.meta.url)), String(port)],
  idleTime: 0
}

/** After it, what the start leaves to do is done. */
const idleTime = 5_000

const gatewayAt = (name: string, main: string): Contender => ({
  name,
  argumentsOf: (port, dataDir) => [main, "serve", "--port", String(port), "--data-dir", dataDir],
  idleTime
})

const gateway = gatewayAt("model-gateway serve", executable)

/** As the first start of an installation. */
const first: Contender = {
  ...gateway,
  name: "without compiled code",
  idleTime: 0,
  env: { NODE_DISABLE_COMPILE_CACHE: "1" }
}

/** A start that takes longer has failed. */
const longest = 30_000

const countModules = new URL("./countModules.js", import.meta.url).href

const freePort = async (): Promise<number> => {
  const server = createServer()
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  server.close()
  if (address === null || typeof address === "string") throw new Error("no port")
  return address.port
}

const isHealthy = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port, path: "/healthz", agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.once("error", () => resolve(false))
  })

const residentOf = async (pid: number): Promise<number> =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

/**
 * Starts a process on a new folder, and stops it after `use`, which gets the milliseconds that it
 * took.
 */
const whileStarted = async <A>(
  { argumentsOf, name }: Contender,
  env: NodeJS.ProcessEnv,
  nodeOptions: ReadonlyArray<string>,
  use: (pid: number, wall: number) => Promise<A>
): Promise<A> => {
  const dataDir = await mkdtemp(join(tmpdir(), "model-gateway-bench-"))
  const port = await freePort()
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...nodeOptions, ...argumentsOf(port, dataDir)], { env, stdio: "ignore" })
  const ended = once(child, "exit")
  try {
    while (!(await isHealthy(port))) {
      if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode} before it answered`)
      if (performance.now() - startedAt > longest) throw new Error(`${name} did not answer within ${longest / 1000} s`)
      await setTimeout(2)
    }
    return await use(child.pid ?? 0, performance.now() - startedAt)
  } finally {
    child.kill("SIGTERM")
    await ended
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** As an installation starts: with the code that its own earlier start has left in the home. */
const environment = (HOME: string): NodeJS.ProcessEnv => ({
  ...childEnvironment(),
  HOME,
  NODE_COMPILE_CACHE: undefined
})

const measure =
  (home: string) =>
  (contender: Contender): Promise<Started> =>
    whileStarted(contender, { ...environment(home), ...contender.env }, [], async (pid, wall) => {
      const [cpu, memory] = await Promise.all([cpuOf(pid), residentOf(pid)])
      await setTimeout(contender.idleTime)
      return { wall, cpu: cpu / 1000, memory, idle: await residentOf(pid) }
    })

/** The files that the gateway loads before its first answer. */
const modulesOfGateway = async (): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), "model-gateway-bench-"))
  try {
    const file = join(folder, "modules")
    const env = { ...environment(folder), BENCH_MODULES: file }
    await whileStarted(gateway, env, ["--import", countModules], () => Promise.resolve())
    return Number(await readFile(file, "utf8"))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const figures = ({ lower, median, min }: Spread): string =>
  [median, lower, min].map((value) => value.toFixed(0)).join(" / ")

export interface Options {
  readonly quick: boolean
  /** Another clone of this repository, which is built, to be measured in the same rounds. */
  readonly against?: string | undefined
}

/** The tables, and what misses its bound. */
export const run = async ({
  against,
  quick
}: Options): Promise<{ readonly texts: ReadonlyArray<string>; readonly problems: ReadonlyArray<string> }> => {
  const other =
    against === undefined
      ? []
      : [gatewayAt("model-gateway serve, against", join(resolve(against), "apps/gateway/bundle/dist/main.js"))]
  const contenders = [bare, gateway, first, ...other]
  const home = await mkdtemp(join(tmpdir(), "model-gateway-bench-"))
  const measured = await inRounds(contenders, quick ? 3 : 9, measure(home))
  await rm(home, { recursive: true, force: true })
  const each = (i: number, figure: keyof Started) => (measured[i] ?? []).map((started) => started[figure])
  const modules = await modulesOfGateway()
  const judged = [judge(startTargets.healthz, each(1, "wall")), judge(startTargets.idle, each(1, "idle"))]
  return {
    texts: [
      `The gateway loads ${modules} files. Load of the machine: ${loadavg()[0]?.toFixed(1)}.\n`,
      table(
        "From the start to the first /healthz, median / lower quartile / least",
        ["ms", "CPU ms", "RSS MiB", `RSS MiB ${idleTime / 1000} s later`],
        contenders.map(({ name }, i) => [
          name,
          ...(["wall", "cpu", "memory", "idle"] as const).map((figure) => figures(spread(each(i, figure))))
        ])
      ),
      judgedTable(judged, 0)
    ],
    problems: judged.filter(({ verdict }) => verdict === "missed").map(({ name }) => `missed: ${name}`)
  }
}
