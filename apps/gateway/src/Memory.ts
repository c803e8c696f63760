/**
 * Bounds the memory that a gateway keeps although it is free. Node can choose it only when a
 * process starts, so `serve` replaces its process once, before it loads anything.
 *
 * Without these, a gateway that uses 65 MiB of its heap has 430 MiB after 10,000 paid requests.
 */

const nodeOptions = [
  // What is new may take three times this before it is collected. Node's default is 64 MiB.
  "--max-semi-space-size=16",
  // The heap grows to twice what is in use before all of it is collected. Node's default is up to
  // four times.
  "--heap-growing-percent=100"
]

/** The C library keeps free memory for each thread. Two pools are enough for this program. */
const arenas = "MALLOC_ARENA_MAX"

/**
 * Replaces this process, if it serves, by one with bounds. Does nothing where Node cannot do that,
 * as on Windows, if its parent talks to it, or if `--max-semi-space-size` is chosen already.
 */
export const bound = (): void => {
  const chosen = `${process.execArgv.join(" ")} ${process.env["NODE_OPTIONS"] ?? ""}`
  if (process.argv[2] !== "serve" || process.platform === "win32" || process.connected) return
  if (process.execve === undefined) return
  if (/max[-_]semi[-_]space[-_]size/.test(chosen)) return
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...nodeOptions, ...process.argv.slice(1)], {
    [arenas]: "2",
    ...process.env
  })
}
