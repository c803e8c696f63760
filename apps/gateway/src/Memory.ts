/**
 * Bounds the memory that a gateway keeps although it is free. Node can choose it only when a
 * process starts, so `serve` replaces its process once, before it loads anything.
 *
 * `pnpm bench endurance` measures what the bounds gain, and `pnpm bench start` what is kept after
 * the start.
 */
import { totalmem } from "node:os"

/**
 * What is new may take three times this before it is collected. Node's default grows with the
 * machine's memory, from 1 MiB to 64 MiB.
 */
const semiSpace = "--max-semi-space-size=16"

/** Below this much memory, Node's default is lower. */
const minMemory = 2 * 1024 ** 3

/**
 * The heap grows to twice what is in use before all of it is collected. V8's default is up to four
 * times.
 */
const heapGrowth = "--heap-growing-percent=100"

/**
 * All of the heap is collected first when it has this many MiB, soon after the start. By default
 * that is twice before the first request.
 */
const firstCollection = "--initial-old-space-size=64"

/** Provides `gc`, for {@link releaseAfterStart}. */
const collector = "--expose-gc"

/** The newest Node that was seen to know these flags of V8. */
const newestNode = 24

/** The C library keeps free memory for each thread. Two pools are enough for this program. */
const arenas = "MALLOC_ARENA_MAX"

/**
 * Replaces this process, if it serves, by one with bounds. Does nothing where Node cannot do that,
 * as on Windows, if its parent talks to it, if there is little memory, or if
 * `--max-semi-space-size` is chosen already.
 */
export const bound = (): void => {
  const { argv, connected, env, execArgv, execPath, platform, versions } = process
  if (argv[2] !== "serve" || platform === "win32" || connected || process.execve === undefined) return
  if (Math.min(process.constrainedMemory() || Infinity, totalmem()) < minMemory) return
  if (/max[-_]semi[-_]space[-_]size/.test(`${execArgv.join(" ")} ${env["NODE_OPTIONS"] ?? ""}`)) return
  const options =
    Number.parseInt(versions.node, 10) > newestNode ? [semiSpace] : [semiSpace, heapGrowth, firstCollection, collector]
  process.execve(execPath, [execPath, ...execArgv, ...options, ...argv.slice(1)], { [arenas]: "2", ...env })
}

/**
 * Returns the memory that only the start needed to the system, about 30 MiB, once, two seconds
 * after the call. This stops the process for about 0.1 seconds, so it is left out if a request is
 * open. Does nothing in a process without the bounds.
 */
export const releaseAfterStart = (hasRequest: () => boolean): void => {
  const release = () => {
    if (!hasRequest()) globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })
  }
  setTimeout(release, 2000).unref()
}
