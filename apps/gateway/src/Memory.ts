/**
 * The memory of a gateway: how V8 collects garbage, and how much it keeps although it is free. Node
 * can choose that only when a process starts, so `serve` replaces its process once, before it loads
 * the rest.
 */
import * as NodeFlags from "@model-gateway/server/NodeFlags"

/** The C library keeps free memory for each thread. Two pools are enough for this program. */
const arenas = "MALLOC_ARENA_MAX"

/** The operator, or the process that this one replaced, has chosen flags. */
const chosen = /max[-_]semi[-_]space[-_]size|no-allocation-site-pretenuring/

/**
 * Replaces this process, if it serves, by one with the flags of `NodeFlags`. Does nothing where
 * Node cannot do that, as on Windows, if its parent talks to it, or if `--max-semi-space-size` is
 * chosen already.
 */
export const chooseFlags = (): void => {
  const { argv, connected, env, execArgv, execPath, platform } = process
  if (argv[2] !== "serve" || platform === "win32" || connected || process.execve === undefined) return
  if (chosen.test(`${execArgv.join(" ")} ${env["NODE_OPTIONS"] ?? ""}`)) return
  const options = NodeFlags.serving()
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
