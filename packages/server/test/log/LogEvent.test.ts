/** Every line of the log has an event, and the operator's page has every event. */
import { describe, expect, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as LogEvent from "../../src/log/LogEvent.ts"

const root = join(import.meta.dirname, "..", "..", "..", "..")

const sources = ["packages/server", "packages/providers", "packages/mcp", "packages/offers", "apps/gateway"].flatMap(
  (folder) =>
    globSync(`${folder}/src/**/*.ts`, { cwd: root })
      .map((path) => ({ path: path.replaceAll("\\", "/"), code: readFileSync(join(root, path), "utf8") }))
      .filter(({ path }) => !path.endsWith("/LogEvent.ts"))
)

/** A call that writes a line without an event, unless one is added in the same expression. */
const withoutEvent = (code: string): ReadonlyArray<string> =>
  [...code.matchAll(/Effect\.log(?:Fatal|Error|Warning|Info|WithLevel)?\((?:(?!\bevent\b)[^;])*?\n\n/g)]
    .map(([text]) => text)
    .filter((text) => !/^\s*\*/m.test(text))

describe("events", () => {
  it("are in the operator's page, with what to do", () => {
    const page = readFileSync(join(root, "docs", "operate", "logs.md"), "utf8").replaceAll(/ +/g, " ")
    for (const row of LogEvent.markdown().split("\n").slice(2)) expect(page).toContain(row)
    expect(page.match(/^\| `[a-z_]+` \|/gm)).toHaveLength(Object.keys(LogEvent.events).length)
  })

  it("of warnings and errors say what to do", () => {
    const mute = Object.entries(LogEvent.events).filter(
      ([, { action, level }]) => action === undefined && !["Info", "Debug"].includes(level)
    )
    expect(mute).toEqual([])
  })

  it("all happen somewhere in the code", () => {
    const unused = Object.keys(LogEvent.events).filter(
      (event) => !sources.some(({ code }) => code.includes(`"${event}"`))
    )
    expect(unused).toEqual([])
  })

  it("are named by every line that the code logs", () => {
    expect(
      sources.flatMap(({ code, path }) => withoutEvent(code).map((text) => `${path}: ${text.slice(0, 80)}`))
    ).toEqual([])
    expect(withoutEvent('Effect.logWarning("It failed")\n\n')).toHaveLength(1)
    expect(withoutEvent('Effect.logWarning(what).pipe(Effect.annotateLogs({ event: "a" }))\n\n')).toEqual([])
  })
})
