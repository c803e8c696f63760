// Finds redis-server for the tests, or installs Debian's package as root, and starts servers on
// loopback.
//
//   node tests/services/src/redis.mjs            finds or installs, prints the paths of the server and of redis-cli
//   node tests/services/src/redis.mjs --find     only finds; prints nothing and exits with 1 if one is missing
//
// REDIS_INSTALL=never forbids the installation. `npm test` calls it before the tests. Without the
// programs the tests with Redis are skipped, and with CI=true the run fails.
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { findProgram, installPackages, isRoot } from "./apt.mjs"
import { freePort } from "./freePort.mjs"

// Debian's redis-server is a link to redis-check-rdb of this package, which acts by the name that
// it is called by. The package redis-server would also start a service on this machine.
const packages = ["redis-tools"]

/** The paths of the server and of redis-cli, or undefined if one is missing. */
export const findRedis = () => {
  const server = findProgram("redis-server") ?? findProgram("redis-check-rdb")
  const cli = findProgram("redis-cli")
  return server === undefined || cli === undefined ? undefined : { server, cli }
}

/** The programs for a test. Undefined where one is missing: then the test is skipped. */
export const redisPrograms = () => {
  const found = findRedis()
  if (found === undefined && process.env.CI) throw new Error("no redis-server; `npm test` says why")
  return found
}

/**
 * The programs, installed if necessary; undefined if they are not there and could not be installed.
 */
export const ensureRedis = () => {
  const found = findRedis()
  if (found !== undefined || process.env.REDIS_INSTALL === "never" || !isRoot) return found
  console.log(
    `No redis-server was found for the tests with Redis. Installing as root with apt-get: ${packages.join(", ")} ` +
      "(about 5 MB). REDIS_INSTALL=never forbids it."
  )
  return installPackages(...packages) ? findRedis() : undefined
}

export const noRedis =
  (process.env.REDIS_INSTALL === "never"
    ? "No redis-server was found, and REDIS_INSTALL=never forbids installing it, so nothing is tested with Redis. "
    : "No redis-server was found and none could be installed, so nothing is tested with Redis. ") +
  `Install it (Debian: apt-get install ${packages.join(" ")}).`

/** The servers of this process, which end with it. */
const running = new Set()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

/**
 * Starts the server and waits until it accepts connections. Undefined if it ends first. Where there
 * is setpriv, the server also ends when this process is killed.
 */
const launch = async (args, dir) => {
  const program = join(dir, "redis-server")
  if (!existsSync(program)) symlinkSync(findRedis().server, program)
  const setpriv = findProgram("setpriv")
  const [command, ...before] = setpriv === undefined ? [program] : [setpriv, "--pdeathsig", "KILL", program]
  const child = spawn(command, [...before, ...args], { cwd: dir, stdio: ["ignore", "pipe", "ignore"] })
  running.add(child)
  child.once("exit", () => running.delete(child))
  let log = ""
  child.stdout.setEncoding("utf8").on("data", (chunk) => (log += chunk))
  while (!log.includes("Ready to accept connections")) {
    const more = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => undefined)])
    if (more === undefined) return { child: undefined, log }
  }
  return { child, log }
}

/**
 * Starts a server that keeps nothing on disk, on a free port of loopback. `args` are further
 * arguments of redis-server. After `stop` or `kill`, `start` starts it again on the same port,
 * empty.
 */
export const startRedis = async ({ args = [] } = {}) => {
  const dir = mkdtempSync(join(tmpdir(), "redis-"))
  let port
  let child
  const argsOf = (port) => {
    const always = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]
    return ["--port", String(port), ...always, ...args]
  }
  const end = async (signal) => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGCONT")
    child.kill(signal)
    await ended
  }
  const start = async () => {
    const started = await launch(argsOf(port), dir)
    if (started.child === undefined) throw new Error(`redis-server ended:\n${started.log}`)
    child = started.child
  }
  // Another program may take the port in the meantime.
  for (let attempt = 1; child === undefined; attempt++) {
    port = await freePort()
    const started = await launch(argsOf(port), dir)
    if (started.child === undefined && attempt === 5) throw new Error(`redis-server ended:\n${started.log}`)
    child = started.child
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    run: async (...command) => {
      const { stdout } = await promisify(execFile)(findRedis().cli, ["-p", String(port), ...command])
      return stdout.trimEnd()
    },
    dispose: async () => {
      await end("SIGKILL")
      rmSync(dir, { recursive: true, force: true })
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = process.argv.includes("--find") ? findRedis() : ensureRedis()
  if (found !== undefined) console.log(Object.values(found).join("\n"))
  else {
    if (!process.argv.includes("--find")) console.error(noRedis)
    process.exitCode = 1
  }
}
