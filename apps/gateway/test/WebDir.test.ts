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

it("serves the playground and, on loopback, the console, and prints their addresses", async () => {
  const gateway = await serve(folder(), ["--host", "127.0.0.1"])
  await gateway.prints(new RegExp(`playground at ${gateway.origin}/play, console at ${gateway.origin}/console,`))
  for (const [path, page] of [
    ["/", "/play"],
    ["/console", "/console/"]
  ]) {
    const { status, text, url } = await fetch(gateway.origin + path).then(async (response) => ({
      status: response.status,
      url: response.url,
      text: await response.text()
    }))
    expect([status, url]).toEqual([200, gateway.origin + page])
    const files = [...text.matchAll(/(?:src|href)="(\.[^"]+)"/g)].map(([, file = ""]) => file)
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) expect([file, (await fetch(new URL(file, url))).status]).toEqual([file, 200])
  }
  expect((await fetch(`${gateway.origin}/console/session`)).status).toBe(200)
})

it("has no console on other addresses, unless it is switched on", async () => {
  const statusOf = async (flags: ReadonlyArray<string>) => {
    const gateway = await serve(folder(), flags)
    const { status } = await rootOf(`${gateway.origin}/console/session`)
    gateway.signal("SIGTERM")
    await gateway.ended
    return status
  }
  expect(await statusOf(["--host", "0.0.0.0"])).toBe(404)
  expect(await statusOf(["--host", "0.0.0.0", "--console", "on"])).toBe(200)
  expect(await statusOf(["--console", "off"])).toBe(404)
})
