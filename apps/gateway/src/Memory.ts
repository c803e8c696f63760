/**
 * How V8 collects garbage in a gateway, and how much memory it keeps although it is free. Node can
 * choose it only when a process starts, so `serve` replaces its process once, before it loads
 * anything.
 *
 * `pnpm bench upstream` measures what collecting costs a request, `pnpm bench endurance` what the
 * bounds gain, and `pnpm bench start` what is kept after the start.
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

/**
 * V8 would allocate some objects of each request with the long-lived ones, because earlier objects
 * of the same place in the code lived long. What such an object refers to is kept until all of the
 * heap is collected: 6 KiB for each rerank, which every collection copied (decision 24).
 */
const noPretenuring = "--no-allocation-site-pretenuring"

/** The newest Node that was seen to know these flags of V8. */
const newestNode = 24

/** The C library keeps free memory for each thread. Two pools are enough for this program. */
const arenas = "MALLOC_ARENA_MAX"

/** The operator, or the process that this one replaced, has chosen flags. */
const chosen = /max[-_]semi[-_]space[-_]size|no-allocation-site-pretenuring/

/** The flags for this Node on this machine. Where there is little memory, only {@link noPretenuring}. */
export const flags = (): ReadonlyArray<string> => {
  const isKnown = Number.parseInt(process.versions.node, 10) <= newestNode
  const hasRoom = Math.min(process.constrainedMemory() || Infinity, totalmem()) >= minMemory
  return [
    ...(isKnown ? [noPretenuring] : []),
    ...(hasRoom ? [semiSpace] : []),
    ...(isKnown && hasRoom ? [heapGrowth, firstCollection, collector] : [])
  ]
}

/**
 * Replaces this process, if it serves, by one with the {@link flags}. Does nothing where Node
 * cannot do that, as on Windows, if its parent talks to it, or if `--max-semi-space-size` is chosen
 * already.
 */
export const chooseFlags = (): void => {
  const { argv, connected, env, execArgv, execPath, platform } = process
  if (argv[2] !== "serve" || platform === "win32" || connected || process.execve === undefined) return
  if (chosen.test(`${execArgv.join(" ")} ${env["NODE_OPTIONS"] ?? ""}`)) return
  const options = flags()
  if (options.length === 0) return
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
