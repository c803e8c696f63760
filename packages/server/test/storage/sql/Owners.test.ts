/** Which folder's SQL names which tables. */
import { describe, expect, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { owners } from "../../../src/storage/sql/Migrations.ts"

interface Source {
  /** Relative to `src`. */
  readonly path: string
  readonly code: string
}

/** The tables that a folder's SQL names although another folder owns them, each with the reason. */
const exceptions: Readonly<Record<string, ReadonlyArray<string>>> = {
  // The balance is in the row of the workspace, which each paid request reads and writes. Lists of
  // an organization find its workspaces.
  accounting: ["workspaces", "idempotency", "idempotency_bytes"],
  // One lookup, which identifies the database: objects/ is below access/.
  objects: ["organizations"],
  // Lists of an organization find its workspaces.
  video: ["workspaces"],
  // The log of events, which accounting/ appends to, and whether a destination will read them. Its
  // reader is the outbox of events/.
  storage: ["events", "destinations"]
}

const names = Object.keys(owners).join("|")

/** A table after a keyword, or before one of its columns. Keywords of SQL are in upper case. */
const mention = new RegExp(
  `\\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\\s+(${names})\\b|\\b(?:WHERE|AND|OR|ON|=)\\s+(${names})\\.\\w`,
  "g"
)

/** A table that is named by an expression, which this test cannot read. */
const dynamic = /\b(?:FROM|JOIN|INTO|UPDATE)\s+\$\{sql\(/

/** Migrations make all tables, and the checks of the whole database read all. */
const isWholeDatabase = (path: string) =>
  /^storage\/(?:sql\/(?:migrations\/|Migrations\.ts$)|postgres\/postgresMigrations\.ts$)/.test(path)

const foreign = (sources: ReadonlyArray<Source>): ReadonlyArray<string> =>
  sources.flatMap(({ code, path }) => {
    if (isWholeDatabase(path)) return []
    const folder = path.split("/")[0] ?? path
    const named = [...code.matchAll(mention)].map((match) => match[1] ?? match[2] ?? "")
    const wrong = new Set(named.filter((table) => owners[table] !== folder && !exceptions[folder]?.includes(table)))
    return [
      ...[...wrong].toSorted().map((table) => `${path} names ${table} of ${owners[table]}/`),
      ...(dynamic.test(code) ? [`${path} names a table by an expression`] : [])
    ]
  })

describe("a table", () => {
  const src = join(import.meta.dirname, "..", "..", "..", "src")
  const sources = globSync("**/*.ts", { cwd: src }).map((path) => ({
    path: path.replaceAll("\\", "/"),
    code: readFileSync(join(src, path), "utf8")
  }))

  it("is named in the SQL of its folder only", () => {
    expect(foreign(sources)).toEqual([])
  })

  it("has an owner that names it, and each exception is needed", () => {
    const namedIn = (folder: string) => {
      const code = sources.filter(({ path }) => path.startsWith(`${folder}/`) && !isWholeDatabase(path))
      return new Set(code.flatMap(({ code }) => [...code.matchAll(mention)].map((match) => match[1] ?? match[2])))
    }
    const declared = [
      ...Object.entries(owners).map(([table, folder]) => `${folder} ${table}`),
      ...Object.entries(exceptions).flatMap(([folder, tables]) => tables.map((table) => `${folder} ${table}`))
    ]
    const unused = declared.filter((one) => {
      const [folder = "", table] = one.split(" ")
      return !namedIn(folder).has(table)
    })
    expect(unused).toEqual([])
  })

  it("would be found in the SQL of another folder", () => {
    const wrong = [
      { path: "video/A.ts", code: "sql`SELECT 1 FROM keys k\n  JOIN files f ON f.id = k.id WHERE events.body = ''`" },
      { path: "webhooks/A.ts", code: 'const table = "files"\nsql`DELETE FROM ${sql(table)} WHERE id = ${id}`' },
      { path: "access/A.ts", code: "sql`UPDATE keys SET name = ''` // from files" }
    ]
    expect(foreign(wrong)).toEqual([
      "video/A.ts names events of events/",
      "video/A.ts names files of objects/",
      "video/A.ts names keys of access/",
      "webhooks/A.ts names a table by an expression"
    ])
  })
})
