/**
 * The flags of Node for a process that serves the gateway: how V8 collects garbage, and how much
 * memory it keeps although it is free. Node can choose them only when a process starts.
 *
 * `model-gateway serve` starts itself with them. `pnpm bench upstream` measures what collecting
 * costs a request, `pnpm bench endurance` what the bounds gain, and `pnpm bench start` what is kept
 * after the start.
 */
import { totalmem } from "node:os"
import { constrainedMemory, versions } from "node:process"

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

/** Provides `gc`, with which `serve` returns what only its start needed. */
const collector = "--expose-gc"

/**
 * V8 would allocate some objects of each request with the long-lived ones, because earlier objects
 * of the same place in the code lived long. What such an object refers to is kept until all of the
 * heap is collected: 6 KiB for each rerank, which every collection copied (decision 24).
 */
const noPretenuring = "--no-allocation-site-pretenuring"

/**
 * V8 would collect the whole heap of a process that has little to do. While no request is open,
 * that also discards the code compiled for requests, and the next ones take up to three times the
 * CPU time (decision 24). With this flag, V8 collects the whole heap only when it has grown.
 */
const noReducer = "--no-memory-reducer"

/** The newest Node that was seen to know these flags of V8. */
const newestNode = 24

/**
 * The flags for this Node on this machine. Where there is little memory, or Node is newer than the
 * newest one that was tried, it leaves some of them out.
 *
 * @example
 * ```ts
 * import * as NodeFlags from "@model-gateway/server/NodeFlags"
 * import { spawn } from "node:child_process"
 *
 * spawn(process.execPath, [...NodeFlags.serving(), "service.js"], { stdio: "inherit" })
 * ```
 */
export const serving = (): ReadonlyArray<string> => {
  const isKnown = Number.parseInt(versions.node, 10) <= newestNode
  const hasRoom = Math.min(constrainedMemory() || Infinity, totalmem()) >= minMemory
  return [
    ...(isKnown ? [noPretenuring] : []),
    ...(hasRoom ? [semiSpace] : []),
    ...(isKnown && hasRoom ? [heapGrowth, firstCollection, collector, noReducer] : [])
  ]
}
