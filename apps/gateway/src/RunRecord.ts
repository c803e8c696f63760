/**
 * Marks a run as running, so that the next start can tell how the last one ended.
 *
 * Each process has a folder below `runs` in the data folder, which it locks and removes when it
 * stops ({@link ProcessFolder}). A folder without an owner is of a process that was killed, or that
 * crashed in native code: nothing in such a process could write a last line. Its folder tells what
 * it was doing some seconds before.
 *
 * Node's own diagnostic reports are not used: they contain the environment, and so the secrets.
 */
import * as LogEvent from "@model-gateway/server/LogEvent"
import * as ProcessFolder from "@model-gateway/server/ProcessFolder"
import { Clock, Effect, FileSystem, Option, Path, Schedule, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { join } from "node:path"
import * as Crash from "./Crash.ts"

/** How often the process writes what it is doing. */
const interval = "5 seconds"

/** The folder of the runs in the data folder. */
const folderName = "runs"

/** The file with the last crashes that were reported. The next ones replace it. */
export const reportedFile = "crash.1.log"

const stateFile = "run.json"

/** What a run writes about itself. */
const State = Schema.fromJsonString(
  Schema.Struct({ pid: Schema.Finite, startedAt: Schema.String, at: Schema.String, doing: Schema.String })
)

/** Reports the crashes in the file as a warning, and renames the file. */
const report = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(dataDir, Crash.file)
  if (!(yield* fs.exists(file))) return
  const entries = (yield* fs.readFileString(file)).split("\n").filter((line) => /^\d{4}-/.test(line))
  const reported = path.join(dataDir, reportedFile)
  yield* fs.rename(file, reported)
  for (const entry of entries.slice(-10)) {
    yield* LogEvent.log(
      "earlier_run_crashed",
      `An earlier run did not stop as it should: ${entry} Details: ${reported}`
    )
  }
})

/** Writes the end of a process that could not write it itself, and reports it. */
const onDead = (dataDir: string) =>
  Effect.fnUntraced(
    function* (folder: string) {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(folder, stateFile)
      const state = yield* Effect.option(Effect.flatMap(fs.readFileString(file), Schema.decodeEffect(State)))
      // It was killed while it started or stopped.
      if (Option.isNone(state)) return
      const { at, doing, pid, startedAt } = state.value
      const sentence =
        `ended within seconds after this time without having stopped: by kill -9, for lack of memory, by a crash of native code or by a power failure. ` +
        `It ran since ${startedAt}.`
      yield* Effect.sync(() => Crash.append(dataDir, Crash.entry(new Date(at), pid, sentence, doing)))
      yield* report(dataDir)
    },
    Effect.catch(({ message }) =>
      LogEvent.log("run_not_recorded", `The end of an earlier run could not be reported: ${message}`)
    )
  )

/**
 * Reports how earlier runs ended, and marks this one as running until the scope closes. A data
 * folder where that fails is no reason not to start.
 */
export const make = Effect.fnUntraced(
  function* (run: Omit<Crash.Run, "marker">) {
    const fs = yield* FileSystem.FileSystem
    const crash = yield* Crash.Crash
    const { dataDir, doing } = run
    yield* report(dataDir)
    const folder = yield* ProcessFolder.make(join(dataDir, folderName), { onDead: onDead(dataDir) })
    crash.recordIn({ ...run, marker: folder })

    const startedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    const write = Effect.gen(function* () {
      const at = new Date(yield* Clock.currentTimeMillis).toISOString()
      const state = yield* Schema.encodeEffect(State)({ pid: process.pid, startedAt, at, doing: doing() })
      // Renamed, so that it is never read half written.
      const file = join(folder, stateFile)
      yield* fs.writeFileString(`${file}.new`, state, { mode: 0o600 })
      yield* fs.rename(`${file}.new`, file)
    })
    yield* write
    yield* Effect.forkScoped(Effect.repeat(Effect.ignore(write), Schedule.spaced(interval)))
  },
  Effect.catch(({ message }) =>
    LogEvent.log("run_not_recorded", `The data folder cannot record how this run ends: ${message}`)
  ),
  Effect.provide(SecureRandom.layerWebCrypto)
)
