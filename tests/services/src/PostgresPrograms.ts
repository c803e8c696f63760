/**
 * The server of Postgres with the programs that back it up, for the release tests. The npm package
 * of the other tests has no `pg_dump`, which cannot read a server that is newer than itself.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { forTests, type Program } from "./Program.ts"

/** Debian has a folder for each version. */
const versions = "/usr/lib/postgresql"

const find = (): string | undefined =>
  (existsSync(versions) ? readdirSync(versions) : [])
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(versions, version))
    .find((folder) =>
      ["initdb", "postgres", "pg_dump", "pg_restore"].every((name) => existsSync(join(folder, "bin", name)))
    )

export const program: Program<string> = {
  name: "postgres-programs",
  find,
  // Debian's package would start a service on this machine.
  ensure: find,
  missing:
    "No Postgres with pg_dump was found for the test of its backup. Install it (Debian: apt-get install postgresql)."
}

/** The folder with `bin`. Undefined: the test is skipped. */
export const postgresPrograms = (): string | undefined => forTests(program)
