/**
 * The processes of a call to a program on the gateway's own machine.
 *
 * A program runs in a process group of its own, which is killed when the call ends. What leaves the
 * group, and what a killed gateway leaves behind, is found by an environment variable that names
 * the folder of the call, because processes pass their environment on to those that they start.
 * This needs `/proc`, which only Linux has.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem } from "effect"
import { kill } from "node:process"

/**
 * The environment variable that names the folder of a call.
 *
 * @category constants
 * @since 0.1.0
 */
export const variable = "MODEL_GATEWAY_CALL_FOLDER"

/** Passes of a search. A process may start others while it is being killed. */
const maxPasses = 10

/** Processes whose files are read at the same time. */
const concurrency = 16

/** Whether a call in this folder, or in one below it, has this environment. */
const isOf = (folder: string, environment: string): boolean =>
  environment
    .split("\0")
    .some((entry) => entry === `${variable}=${folder}` || entry.startsWith(`${variable}=${folder}/`))

/** The group of a process, of which the name may contain spaces and parentheses. */
const groupOf = (stat: string): number => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2])

/** A process that has ended, or that belongs to another user, is left out. */
const find = Effect.fnUntraced(function* (fileSystem: FileSystem.FileSystem, folder: string) {
  const entries = yield* Effect.orElseSucceed(fileSystem.readDirectory("/proc"), () => [])
  const read = (pid: string, file: string) =>
    Effect.orElseSucceed(fileSystem.readFileString(`/proc/${pid}/${file}`), () => "")
  const found = yield* Effect.forEach(
    entries.filter((entry) => /^\d+$/.test(entry)),
    Effect.fnUntraced(function* (pid) {
      if (!isOf(folder, yield* read(pid, "environ"))) return []
      // A program that the gateway started leads its group.
      return groupOf(yield* read(pid, "stat")) === Number(pid) ? [-Number(pid)] : [Number(pid)]
    }),
    { concurrency }
  )
  return found.flat()
})

/** Kills a process, or with a negative number a group. It may have ended meanwhile. */
const end = (target: number): Effect.Effect<void> =>
  Effect.ignore(Effect.try({ try: () => kill(target, "SIGKILL"), catch: (cause) => cause }))

/**
 * Kills the processes of all calls in a folder, or in one below it. Does nothing where there is no
 * `/proc`.
 *
 * @category running
 * @since 0.1.0
 */
export const killAll = Effect.fn("CallProcesses.killAll")(function* (
  folder: string
): Effect.fn.Return<void, never, FileSystem.FileSystem> {
  const fileSystem = yield* FileSystem.FileSystem
  for (let pass = 0; pass < maxPasses; pass++) {
    const found = yield* find(fileSystem, folder)
    if (found.length === 0) return
    yield* Effect.forEach(found, end, { discard: true })
  }
})
