// Everything that the service keeps has a row in docs/extend/bounds.md: what it is bounded by, who
// shares it, and what happens when it is full.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { holdersIn, tablesIn } from "./Holders.ts"
import { packages, root, sources } from "./Workspace.ts"

/** What a closure uses, but only until the call that made it returns. */
const perCall = new Set<string>([
  "gateway/CatalogUpdate.ts chunks",
  "gateway/Connections.ts early",
  "gateway/LoadSettings.ts given",
  "offers/Ranking.ts parts",
  "offers/ResponseMemory.ts tickets",
  "offers/internal/audioFrames.ts indices",
  "offers/internal/audioWebm.ts ends",
  "offers/BoundedBody.ts chunks",
  "sandbox/Bm25.ts noWords",
  "sandbox/Bm25.ts queryWords",
  "providers/internal/base64Value.ts kept",
  "providers/internal/base64Value.ts parts",
  "sandbox/Bm25.ts terms",
  "sandbox/Bm25.ts weights",
  "sandbox/internal/imageLink.ts chunks",
  "server/accounting/ActivitySeries.ts counted",
  "server/broadcast/Sender.ts undelivered",
  "server/http/BodyMemory.ts tickets",
  "server/http/Failures.ts unexpected",
  "server/http/JsonBody.ts chunks",
  "server/objects/ObjectStore.ts chunks",
  "server/http/TranscriptionBody.ts audio",
  "server/http/TranscriptionBody.ts text",
  "providers/internal/speakers.ts numbers",
  // Of the program's own text, made once.
  "server/http/FixedAnswer.ts packed",
  "server/http/Routes.ts byEndpoint",
  "server/openapi/Components.ts byEncoded",
  "server/openapi/Components.ts byPart",
  "server/openapi/JsonSchema.ts made",
  "server/openapi/OpenApiDocument.ts declared",
  "server/openapi/OpenApiDocument.ts found",
  "server/console/SessionRoutes.ts chunks",
  "server/site/SiteFolder.ts files",
  // Structures that have their rows where they are used.
  "offers/FairShare.ts acquired",
  "offers/FairShare.ts waiting",
  "server/internal/LruMap.ts entries",
  "server/internal/ShortCache.ts entries",
  "server/internal/ShortCache.ts lookups",
  // Only tests use the store in memory.
  "server/objects/ObjectStore.ts stored"
])

const files = packages
  .filter(({ name }) => ["gateway", "offers", "providers", "sandbox", "server"].includes(name))
  .flatMap((each) =>
    sources(each, "src").map(({ code, path }) => ({ code, path: path.replace("src/", `${each.name}/`) }))
  )

const holders = files.flatMap(({ code, path }) => holdersIn(path, code)).map(({ name, path }) => `${path} ${name}`)
const tables = [...new Set(files.flatMap(({ code }) => tablesIn(code)))]

interface Row {
  readonly places: ReadonlyArray<string>
  readonly cells: ReadonlyArray<string>
}

/** The rows of the page's tables: what, where, bounded by, shared by, when it is full. */
const rows: ReadonlyArray<Row> = readFileSync(join(root, "docs/extend/bounds.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| What ") && !line.startsWith("|---"))
  .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "").trim()))
  .map((cells) => ({ cells, places: Array.from((cells[1] ?? "").matchAll(/`([^`]+)`/g), ([, place = ""]) => place) }))

const listed = rows.flatMap(({ places }) => places)

describe("docs/extend/bounds.md", () => {
  it("has a row for everything that the service keeps in memory", () => {
    expect(holders.filter((holder) => !listed.includes(holder) && !perCall.has(holder))).toEqual([])
  })

  it("has a row for every table", () => {
    expect(tables.filter((table) => !listed.includes(`table ${table}`))).toEqual([])
  })

  it("has no row for what is gone", () => {
    const known = new Set([...holders, ...tables.map((table) => `table ${table}`)])
    expect([...listed, ...perCall].filter((place) => !known.has(place))).toEqual([])
  })

  it("says of each its place, its bound, who shares it, and what happens when it is full", () => {
    const wrong = rows.filter(({ cells, places }) => cells.length !== 5 || cells.includes("") || places.length === 0)
    expect(wrong.map(({ cells }) => cells.join(" | "))).toEqual([])
    expect(rows.length).toBeGreaterThan(50)
  })
})

describe("the search for what is kept", () => {
  const found = (code: string) => holdersIn("A.ts", code).map(({ name }) => name)

  it("finds a collection, a cache, a queue and a thread that a function keeps", () => {
    expect(found("const make = () => { const seen = new Set(); return { add: (a) => seen.add(a) } }")).toEqual(["seen"])
    expect(found("const make = Effect.gen(function*() { const slots = yield* Semaphore.make(2) })")).toEqual(["slots"])
    expect(found("const run = () => new Worker(url)")).toEqual(["Worker"])
  })

  it("ignores a collection that ends with its call", () => {
    expect(
      found("const f = (all) => { const seen = new Set(); for (const a of all) seen.add(a); return seen }")
    ).toEqual([])
    expect(found("const f = (all) => { const seen = new Set(); return all.filter((a) => seen.has(a)) }")).toEqual([])
  })
})
