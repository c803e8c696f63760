/** Loaded into a process: writes how many files it loaded into `BENCH_MODULES` when it ends. */
import { writeFileSync } from "node:fs"
import { registerHooks } from "node:module"

let modules = 0

registerHooks({
  load: (url, context, next) => {
    if (url.startsWith("file:")) modules++
    return next(url, context)
  }
})

process.once("exit", () => writeFileSync(process.env["BENCH_MODULES"] ?? "", String(modules)))
