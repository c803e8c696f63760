import { Layer } from "effect"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"

/** A new database in memory that tells of each synchronous statement before it runs. */
export const layer = (before: (text: string) => void = () => {}) =>
  Layer.fresh(
    Migrations.layer.pipe(
      Layer.provideMerge(
        SqliteClient.layer({
          filename: ":memory:",
          wrapLocal: (text, statement) => {
            before(text)
            return statement()
          }
        })
      )
    )
  )
