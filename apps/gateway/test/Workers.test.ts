import { Duration, Effect, Logger } from "effect"
import cluster, { type ClusterSettings } from "node:cluster"
import { expect, it } from "vitest"
import { Crash } from "../src/Crash.ts"
import * as Workers from "../src/Workers.ts"
import { folder } from "./Executable.ts"

const noCrash: Crash["Service"] = {
  recordIn: () => {},
  end: (reason, code, cause) => {
    throw new Error(`ended with ${code} because of ${reason}`, { cause })
  }
}

/** Runs workers that this process cannot start. Returns how that ended, and the log. */
const runWith = async (settings: ClusterSettings) => {
  const lines: Array<string> = []
  cluster.setupPrimary(settings)
  const error = await Workers.run({ count: 2, stopTimeout: Duration.seconds(1) }).pipe(
    Effect.flip,
    Effect.provideService(Crash, noCrash),
    Effect.provide(Logger.layer([Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))])),
    Effect.runPromise
  )
  return { error, lines }
}

it("a worker that the system cannot start counts as one that ended", async () => {
  const exec = process.execPath
  // Node.js tells the first failure by an event, and the second by an exception.
  for (const [settings, code] of [
    [{ exec, cwd: `${folder()}/missing` }, "ENOENT"],
    [{ exec: "\u0000", cwd: "." }, "ERR_INVALID_ARG_VALUE"]
  ] as const) {
    expect(await runWith(settings)).toMatchObject({
      error: { _tag: "ExitCode", code: 1 },
      lines: [`Worker 1 ended before it started (${code}).`]
    })
  }
})
