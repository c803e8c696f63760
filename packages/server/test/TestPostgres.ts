/** Databases for tests on the Postgres of this test run, each a copy of one that is migrated. */
import { Effect } from "effect"
import type {} from "@model-gateway/test-services/VitestSetup"
import { inject } from "vitest"
import { createAt } from "./PostgresDatabases.ts"

export { at } from "./PostgresDatabases.ts"

const provided = inject("postgres")

if (provided === undefined && process.env["CI"]) {
  throw new Error("no Postgres to test with; `npm run setup` installs it")
}

/** Whether this platform has a Postgres to test with. */
export const isInstalled = provided !== undefined

/** The database of this run's Postgres that always exists. */
export const admin = Effect.suspend(() => {
  return provided === undefined
    ? Effect.die(new Error("Postgres is not installed"))
    : Effect.promise(async () => {
        const response = await fetch(provided)
        const url = await response.text()
        if (!response.ok) throw new Error(url)
        return url
      })
})

/** The URL of a new migrated database, which is deleted when the scope closes. */
export const create = Effect.flatMap(admin, (url) => createAt(url, false))

/** Like {@link create}, without tables. */
export const createEmpty = Effect.flatMap(admin, (url) => createAt(url, true))
