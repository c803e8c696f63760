/** Redis servers on loopback, for one test each. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { freePort } from "./FreePort.ts"
import { findProgram, forTests, fromDebian } from "./Program.ts"

/** The paths of the programs. */
export interface RedisPrograms {
  readonly server: string
  readonly cli: string
}

export const program = fromDebian<RedisPrograms>({
  name: "redis",
  title: "redis-server",
  purpose: "the tests with Redis",
  // Debian's redis-server is a link to redis-check-rdb of this package, which acts by the name that
  // it is called by. The package redis-server would also start a service on this machine.
  packages: ["redis-tools"],
  megabytes: 5,
  find: () => {
    const server = findProgram("redis-server") ?? findProgram("redis-check-rdb")
    const cli = findProgram("redis-cli")
    return server === undefined || cli === undefined ? undefined : { server, cli }
  }
})

/** The programs. Undefined if one is missing: the test is skipped. */
export const redisPrograms = (): RedisPrograms | undefined => forTests(program)

/** A server of a test. It keeps nothing on disk. */
export interface RedisServer {
  readonly port: number
  /** Without user and password. */
  readonly url: string
  /** Starts it again on the same port, after `stop` or `kill`. It is empty then. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly kill: () => Promise<void>
  /** Stops the process without ending it: connections stay open, and nothing is answered. */
  readonly pause: () => void
  readonly resume: () => void
  /**
   * Runs a command with redis-cli and returns its output. Arguments of redis-cli may come first.
   */
  readonly run: (...command: ReadonlyArray<string>) => Promise<string>
  /** Ends it for good. */
  readonly dispose: () => Promise<void>
}

/** The servers of this process, which end with it. */
const running = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

/** A server that accepts connections, or the log of one that ended before. */
type Launched = { readonly child: ChildProcess } | { readonly log: string }

/**
 * Starts the server and waits until it accepts connections. Where there is setpriv, the server also
 * ends when this process is killed.
 */
const launch = async (programs: RedisPrograms, args: ReadonlyArray<string>, folder: string): Promise<Launched> => {
  const server = join(folder, "redis-server")
  if (!existsSync(server)) symlinkSync(programs.server, server)
  const setpriv = findProgram("setpriv")
  const [command, ...before] =
    setpriv === undefined ? ([server] as const) : ([setpriv, "--pdeathsig", "KILL", server] as const)
  const child = spawn(command, [...before, ...args], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] })
  running.add(child)
  child.once("exit", () => running.delete(child))
  let log = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (log += chunk))
  while (!log.includes("Ready to accept connections")) {
    const hasMore = await Promise.race([
      once(child.stdout, "data").then(() => true),
      once(child, "exit").then(() => false)
    ])
    if (!hasMore) return { log }
  }
  return { child }
}

/** Starts a server on a free port. `args` are further arguments: `["--requirepass", "secret"]`. */
export const startRedis = async (options: { readonly args?: ReadonlyArray<string> } = {}): Promise<RedisServer> => {
  const programs = program.find()
  if (programs === undefined) throw new Error(program.missing)
  const folder = mkdtempSync(join(tmpdir(), "redis-"))
  const launchAt = (port: number) => {
    const always = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]
    return launch(programs, ["--port", String(port), ...always, ...(options.args ?? [])], folder)
  }
  const launchAnywhere = async () => {
    let log = ""
    // Another program may take the port in the meantime.
    for (let attempt = 0; attempt < 5; attempt++) {
      const port = await freePort()
      const launched = await launchAt(port)
      if ("child" in launched) return { port, child: launched.child }
      log = launched.log
    }
    throw new Error(`redis-server ended:\n${log}`)
  }
  const launched = await launchAnywhere()
  const { port } = launched
  let { child } = launched
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGCONT")
    child.kill(signal)
    await ended
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      const again = await launchAt(port)
      if (!("child" in again)) throw new Error(`redis-server ended:\n${again.log}`)
      child = again.child
    },
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    run: async (...command) => {
      const { stdout } = await promisify(execFile)(programs.cli, ["-p", String(port), ...command])
      return stdout.trimEnd()
    },
    dispose: async () => {
      await end("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
