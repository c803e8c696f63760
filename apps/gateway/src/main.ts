#!/usr/bin/env node
/** The executable `model-gateway`. It checks Node first, because the rest needs a recent one. */
import * as CompileCache from "./CompileCache.ts"
import * as Memory from "./Memory.ts"
import { nodeProblem } from "./Version.ts"

/** Node 22 warns that `node:sqlite` is experimental. The tests of the service pass there, too. */
const hideSqliteWarning = (): void => {
  const listeners = process.listeners("warning")
  process.removeAllListeners("warning")
  process.on("warning", (warning) => {
    if (warning.name === "ExperimentalWarning" && warning.message.startsWith("SQLite")) return
    for (const listener of listeners) listener(warning)
  })
}

if (nodeProblem === undefined) {
  Memory.chooseFlags()
  CompileCache.enable()
  // Not before, because the new process would not have its listener.
  await import("./Hangup.ts")
  hideSqliteWarning()
  const [Process, Program] = await Promise.all([import("./Process.ts"), import("./Program.ts")])
  Process.run(Program.run(process.argv.slice(2)))
} else {
  console.error(nodeProblem)
  process.exitCode = 1
}
