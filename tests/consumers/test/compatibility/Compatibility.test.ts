// The clients that people already have, run against a gateway process. `Entry.ts` says how to add a
// call. `vitest run --project compatibility --update` writes the tables of the guide.
import { WireNames } from "@model-gateway/core"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { ClientName, Entry, Expectation } from "./Entry.ts"
import * as Byok from "./byok.ts"
import * as Errors from "./errors.ts"
import * as Files from "./files.ts"
import { type Gateways, startGateways } from "./Gateways.ts"
import * as Guardrails from "./guardrails.ts"
import * as Keys from "./keys.ts"
import { migrationTests } from "./Migration.ts"
import * as Models from "./models.ts"
import * as Observability from "./observability.ts"
import * as Rerank from "./rerank.ts"
import * as Transcription from "./transcription.ts"
import * as Usage from "./usage.ts"
import * as Videos from "./videos.ts"
import * as Workspaces from "./workspaces.ts"

const areas: ReadonlyArray<{ readonly name: string; readonly entries: ReadonlyArray<Entry> }> = [
  { name: "rerank", entries: Rerank.entries },
  { name: "transcription", entries: Transcription.entries },
  { name: "videos", entries: Videos.entries },
  { name: "files", entries: Files.entries },
  { name: "models", entries: Models.entries },
  { name: "usage", entries: Usage.entries },
  { name: "keys", entries: Keys.entries },
  { name: "workspaces", entries: Workspaces.entries },
  { name: "guardrails", entries: Guardrails.entries },
  { name: "provider keys", entries: Byok.entries },
  { name: "observability", entries: Observability.entries },
  { name: "errors", entries: Errors.entries }
]

const titleOf = ({ call, client }: Entry) => `${client} ${call}`

const expectationOf = (entry: Entry, wireNames: WireNames.Preset): Expectation =>
  wireNames === "openrouter" ? (entry.withWireNames ?? entry.expectation) : entry.expectation

/** The entries that passed, by wire names: the table says nothing of others. */
const passed = new Set<string>()
const passedKey = (entry: Entry, wireNames: WireNames.Preset) => `${wireNames} ${titleOf(entry)}`

let gateways: Gateways

beforeAll(async () => {
  gateways = await startGateways()
})

afterAll(() => gateways?.stop())

it("lists each call of a client once", () => {
  const titles = areas.flatMap(({ entries }) => entries.map(titleOf))
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
})

// Loops, because `each` would shorten the titles.
for (const [index, wireNames] of WireNames.presets.entries()) {
  describe(`with ${wireNames} wire names`, () => {
    for (const { entries, name } of areas.filter(({ entries }) => entries.length > 0)) {
      describe(name, () => {
        for (const entry of entries) {
          it(titleOf(entry), async () => {
            expect.hasAssertions()
            const gateway = gateways.all[index]
            if (gateway === undefined) throw new Error("This gateway did not start")
            await entry.run(gateway)
            passed.add(passedKey(entry, wireNames))
          })
        }
      })
    }
  })
}

describe("the pages about migration", () => {
  migrationTests(() => {
    const [gateway] = gateways.all
    if (gateway === undefined) throw new Error("This gateway did not start")
    return gateway
  })
})

const Manifest = Schema.Struct({ devDependencies: Schema.Record(Schema.String, Schema.String) })

const { devDependencies: versions } = Schema.decodeSync(Schema.fromJsonString(Manifest))(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8")
)

const page = fileURLToPath(new URL("../../../../docs/reference/compatibility.md", import.meta.url))
const clients: ReadonlyArray<ClientName> = ["@openrouter/sdk", "openai", "cohere-ai"]

const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`

const table = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("")

const cell = (entry: Entry, wireNames: WireNames.Preset): string => {
  if (!passed.has(passedKey(entry, wireNames))) return "**fails**"
  const expectation = expectationOf(entry, wireNames)
  return expectation === "works" ? "works" : expectation.differs
}

const headings = { neutral: "By default", openrouter: "With `--wire-names openrouter`" }

const callCell = (call: string): string => {
  const [method = "", ...rest] = call.split(": ")
  return rest.length === 0 ? `\`${method}\`` : `\`${method}\`: ${rest.join(": ")}`
}

const cellsOf = (entry: Entry) => WireNames.presets.map((wireNames) => cell(entry, wireNames))

const works = (entry: Entry): boolean => cellsOf(entry).every((text) => text === "works")

/** Writes "the same" where both presets differ in the same way. */
const differences = (entry: Entry): ReadonlyArray<string> =>
  cellsOf(entry).map((text, index, cells) => (index > 0 && text === cells[0] ? "the same" : text))

/** The methods of an area that work, each with the cases of it that were tried. */
const workingCalls = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const cases = new Map<string, ReadonlyArray<string>>()
  for (const { call } of entries.filter(works)) {
    const [method = "", ...rest] = call.split(": ")
    cases.set(method, [...(cases.get(method) ?? []), ...(rest.length === 0 ? [] : [rest.join(": ")])])
  }
  return [...cases].map(([method, tried]) => {
    const plainDiffers = entries.some((entry) => entry.call === method && !works(entry))
    const listed = `${plainDiffers ? "only: " : ""}${tried.join("; ")}`
    return tried.length === 0 ? `\`${method}\`` : `\`${method}\` (${listed})`
  })
}

const sectionOf = (client: ClientName): string => {
  const of = areas
    .map(({ entries, name }) => ({ name, entries: entries.filter((entry) => entry.client === client) }))
    .filter(({ entries }) => entries.length > 0)
  const working = of.map(({ entries, name }) => [name, workingCalls(entries).join(", ")])
  const differing = of.flatMap(({ entries }) =>
    entries.filter((entry) => !works(entry)).map((entry) => [callCell(entry.call), ...differences(entry)])
  )
  return [
    `### \`${client}\` ${versions[client]}\n\n`,
    table(
      ["Area", "Calls that work"],
      working.filter(([, calls]) => calls !== "")
    ),
    "\n",
    table(["Call that differs", ...WireNames.presets.map((wireNames) => headings[wireNames])], differing)
  ].join("")
}

it("the tables of the guide have the results (written by vitest run --update)", async () => {
  const begin = "<!-- results -->\n"
  const end = "\n<!-- end of results -->"
  const tables = `${begin}\n${clients.map(sectionOf).join("\n")}${end}`
  const written = readFileSync(page, "utf8").replace(new RegExp(`${begin}[^]*${end}`), () => tables)
  expect(written).toContain(tables)
  await expect(written).toMatchFileSnapshot(page)
})
