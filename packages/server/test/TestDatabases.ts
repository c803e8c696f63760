/** The kinds of database that suites run on. */
import { Effect, Layer, type Scope } from "effect"
import * as TestPostgres from "./TestPostgres.ts"
import * as TestStorage from "./TestStorage.ts"

/** A kind of database. */
export interface Database {
  readonly name: "sqlite" | "postgres"
  /**
   * The location of a new database, for `TestStorage.layerAt`. It is deleted when the scope closes.
   */
  readonly create: Effect.Effect<string, never, Scope.Scope>
  /** The stores over a new database. */
  readonly layer: ReturnType<typeof TestStorage.layerAt>
}

const database = (name: Database["name"], create: Database["create"]): Database => ({
  name,
  create,
  layer: Layer.unwrap(Effect.map(create, (location) => TestStorage.layerAt(location)))
})

/**
 * Every kind of database that is installed, for
 * `describe.each(databases)("on $name", ({ create, layer }) => …)`.
 */
export const databases: ReadonlyArray<Database> = [
  database("sqlite", TestStorage.createSqlite),
  ...(TestPostgres.isInstalled ? [database("postgres", TestPostgres.create)] : [])
]
