// Installs and builds everything: `npm run setup`, and the first step of `npm start`, `npm test`
// and the others.
//
// It runs on whatever Node (20 or newer) the machine has. What follows runs on the Node 24 that it
// installs into node_modules/.bin. When nothing changed it costs well under a second and prints
// nothing. All that it prints goes to standard error: what follows may print JSON.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { totalmem } from "node:os"
import { delimiter, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { deleteStaleOutput } from "./stale-output.mjs"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = join(root, "node_modules", ".bin")
const stampFile = join(root, "node_modules", ".setup")
const lockFile = join(root, ".setup.lock")

/** What a container allows, or what the machine has, in bytes. */
const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity)

/**
 * The environment of every command started here: our own Node, pnpm and turbo come before the
 * machine's.
 */
export const env = {
  // Into a file or a CI log: no colors, unless they are asked for.
  ...(process.stdout.isTTY || process.env.FORCE_COLOR ? {} : { NO_COLOR: "1" }),
  ...process.env,
  PATH: `${bin}${delimiter}${process.env.PATH ?? ""}`,
  // The compiler and the linter are programs in Go. With more memory, they spend a fifth less CPU.
  GOGC: "400",
  GOMEMLIMIT: `${Math.floor(memory / 4 / 2 ** 20)}MiB`,
  TURBO_TELEMETRY_DISABLED: "1",
  TURBO_NO_UPDATE_NOTIFIER: "1",
  npm_config_update_notifier: "false"
}

/**
 * Runs a command to its end. Returns its output if `quiet`, otherwise prints it; `output` is where
 * its standard output goes.
 */
export const run = (command, args, { quiet = false, output = "inherit" } = {}) => {
  const result = spawnSync(command, args, {
    cwd: root,
    env: quiet && process.stdout.isTTY ? { ...env, FORCE_COLOR: "1" } : env,
    stdio: quiet ? ["ignore", "pipe", "pipe"] : ["ignore", output, "inherit"],
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024
  })
  return { ok: result.status === 0, output: `${result.stdout ?? ""}${result.stderr ?? ""}${result.error ?? ""}` }
}

const readJson = (path) => JSON.parse(readFileSync(path, "utf8"))

/** The folders that have packages. */
export const groups = ["packages", "apps", "tests", "examples"]

/** The folders that have a package.json of their own: the root and those of each group. */
const workspaces = () => [
  root,
  ...groups.flatMap((group) =>
    readdirSync(join(root, group))
      .map((name) => join(root, group, name))
      .filter((folder) => existsSync(join(folder, "package.json")))
  )
]

/** Changes when an install is due: another lock file, another manifest, another kind of machine. */
const installStamp = () => {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}\n`)
  const files = ["pnpm-lock.yaml", "pnpm-workspace.yaml"].map((name) => join(root, name))
  for (const file of [...files, ...workspaces().map((folder) => join(folder, "package.json"))]) {
    hash.update(`${relative(root, file)}\n`).update(readFileSync(file))
  }
  return hash.digest("hex")
}

/**
 * The stamp alone would not notice that somebody deleted a node_modules folder or what it links to.
 */
const everythingIsThere = () =>
  workspaces().every((folder) => {
    const { dependencies, devDependencies } = readJson(join(folder, "package.json"))
    return Object.keys({ ...dependencies, ...devDependencies }).every((name) =>
      existsSync(join(folder, "node_modules", name, "package.json"))
    )
  })

const install = () => {
  const stamp = installStamp()
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp && everythingIsThere()) return

  console.error("Installing what the project needs (the first time takes about half a minute) …")
  rmSync(stampFile, { force: true })
  // The machine need not have pnpm; npx fetches the pinned one. An interrupted install can leave
  // one that does not run.
  const pinned = readJson(join(root, "package.json")).packageManager
  const [command, ...args] = run(join(bin, "pnpm"), ["--version"], { quiet: true }).ok
    ? [join(bin, "pnpm")]
    : ["npx", "--yes", pinned]
  if (!run(command, [...args, "install", "--frozen-lockfile"], { output: 2 }).ok) {
    fail("The install did not finish; the reason is above.")
  }
  // What only tests need beyond npm packages (a browser) is for scripts/test.mjs to find or
  // install.
  writeFileSync(stampFile, stamp)
}

const build = () => {
  if (workspaces().some((folder) => folder !== root && !existsSync(join(folder, "dist")))) console.error("Building …")
  // turbo compares what the sources were with what they are, and restores deleted output from its
  // cache.
  const started = performance.now()
  const { ok, output } = run("turbo", ["run", "build", "--output-logs=errors-only", "--log-prefix=none"], {
    quiet: true
  })
  if (!ok) {
    console.error(output)
    fail("The build failed; the reason is above.")
  }
  // turbo may have restored the output of other sources than those that were built before.
  workspaces().forEach(deleteStaleOutput)
  const seconds = (performance.now() - started) / 1000
  if (seconds > 2) console.error(`Built in ${seconds.toFixed(1)} s.`)
}

/**
 * One setup at a time in a folder: `npm run sample` may be typed while the first `npm start` still
 * installs.
 */
const exclusively = (work) => {
  let told = false
  while (!acquire()) {
    if (!holderIsAlive()) {
      rmSync(lockFile, { force: true })
      continue
    }
    if (!told) console.error("Waiting for another setup in this folder to finish …")
    told = true
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  const release = () => rmSync(lockFile, { force: true })
  process.once("exit", release)
  work()
  process.removeListener("exit", release)
  release()
}

/** A hard link appears together with its contents, so nobody reads an empty lock file. */
const acquire = () => {
  const mine = `${lockFile}.${process.pid}`
  writeFileSync(mine, String(process.pid))
  try {
    linkSync(mine, lockFile)
    return true
  } catch (error) {
    if (error.code === "EEXIST") return false
    throw error
  } finally {
    rmSync(mine, { force: true })
  }
}

const holderIsAlive = () => {
  try {
    const pid = Number(readFileSync(lockFile, "utf8"))
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return error.code === "EPERM"
  }
}

const fail = (sentence) => {
  console.error(sentence)
  process.exit(1)
}

export const setup = () => {
  if (Number(process.versions.node.split(".")[0]) < 20) {
    fail(`Node 20 or newer is needed to start with; this is ${process.version}.`)
  }
  exclusively(() => {
    install()
    build()
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup()
