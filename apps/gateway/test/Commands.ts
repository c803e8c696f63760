/**
 * Runs the commands of the executable in this process, as `Program.ts` composes them. To start a
 * process for each would take a second. Executable.ts starts one, for tests of what only a process
 * has: signals, pipes and the environment.
 */
import { Effect } from "effect"
import { Console } from "effect/Console"
import { Console as NodeConsole } from "node:console"
import { Writable } from "node:stream"
import { Crash } from "../src/Crash.ts"
import { Environment } from "../src/LoadSettings.ts"
import * as Program from "../src/Program.ts"
import { type AtEnd, type Ended, folder } from "./Executable.ts"

/** Keeps what is written to it. */
const memory = () => {
  let text = ""
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      text += chunk
      done()
    }
  })
  return { stream, text: () => text }
}

/** No test of a command here ends in a crash. */
const noCrash: Crash["Service"] = {
  recordIn: () => {},
  end: (reason, code, cause) => {
    throw new Error(`ended with ${code} because of ${reason}`, { cause })
  }
}

/** Runs a command to its end, with this environment only. */
export const run = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Promise<Ended> => {
  const [stdout, stderr] = [memory(), memory()]
  const code = await Program.run(args).pipe(
    Effect.provideService(Crash, noCrash),
    Effect.provideService(Environment, environment),
    Effect.provideService(Console, new NodeConsole({ stdout: stdout.stream, stderr: stderr.stream })),
    Effect.runPromise
  )
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** A folder with a new database, which `serve` or `migrate` has to make. */
export const database = async (atEnd?: AtEnd): Promise<string> => {
  const dataDir = folder(atEnd)
  const { code, stderr } = await run(["migrate", "--data-dir", dataDir])
  if (code !== 0) throw new Error(stderr)
  return dataDir
}
