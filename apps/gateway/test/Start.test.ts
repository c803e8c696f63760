// What a start of the service does not load, because it takes long.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { folder, serve } from "./Executable.ts"

/** Writes what the process has loaded, when it ends: modules of Node, and files. */
const report = `
  import { writeFileSync } from "node:fs"
  import { registerHooks } from "node:module"
  const files = []
  registerHooks({ load: (url, context, next) => { files.push(url); return next(url, context) } })
  process.once("exit", () => writeFileSync(process.env.LOADED, [...process.moduleLoadList, ...files].join("\\n")))`

it("loads neither Node's own fetch nor the other commands", { timeout: 60_000 }, async () => {
  const file = join(folder(), "loaded")
  const gateway = await serve(
    folder(),
    [],
    { LOADED: file },
    {
      nodeOptions: [`--import=data:text/javascript,${encodeURIComponent(report)}`]
    }
  )
  expect((await fetch(`${gateway.origin}/healthz`)).status).toBe(200)
  gateway.signal("SIGTERM")
  await gateway.ended
  const loaded = readFileSync(file, "utf8")
  // What is looked for is there, if the names are right.
  expect(loaded).toContain("NativeModule http\n")
  expect(loaded).toMatch(/\/Program-[\w-]+\.js/)
  expect(loaded).not.toContain("internal/deps/undici")
  expect(loaded).not.toMatch(/\/Commands-[\w-]+\.js/)
})
