import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { folder, serve } from "./Executable.ts"

const rootOf = async (origin: string) => {
  const response = await fetch(origin, { headers: { connection: "close" } })
  return { status: response.status, text: await response.text() }
}

it("serves the page of a folder at /, and prints its address", async () => {
  const site = folder()
  writeFileSync(join(site, "index.html"), "<!doctype html><title>another page</title>")
  const gateway = await serve(folder(), ["--web-dir", site])
  await gateway.prints(new RegExp(`web page at ${gateway.origin},`))
  const root = await rootOf(gateway.origin)
  expect(root.status).toBe(200)
  expect(root.text).toContain("another page")
})

it("serves and prints no page if it is disabled or missing, and no /mcp unless it is switched on", async () => {
  for (const webDir of ["none", folder()]) {
    const gateway = await serve(folder(), ["--web-dir", webDir])
    expect((await rootOf(gateway.origin)).status).toBe(404)
    expect((await rootOf(`${gateway.origin}/mcp`)).text).toContain("no such path")
    gateway.signal("SIGTERM")
    expect((await gateway.ended).stdout).not.toContain("by hand")
  }
})
