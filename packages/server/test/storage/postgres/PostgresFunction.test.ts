import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as PostgresFunction from "../../../src/storage/postgres/PostgresFunction.ts"
import * as TestPostgres from "../../TestPostgres.ts"
import { layerClient } from "../../TestStorage.ts"

const functionOf = (answer: number) =>
  PostgresFunction.make("gateway_test", `() RETURNS int LANGUAGE sql AS $$ SELECT ${answer} $$`)

it.live.skipIf(!TestPostgres.isInstalled)(
  "processes of two versions that start together each call the text that they were built with",
  () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.createEmpty
      const start = (answer: number) =>
        Effect.gen(function* () {
          const { name } = functionOf(answer)
          yield* PostgresFunction.ensure([functionOf(answer)])
          return yield* (yield* SqlClient).unsafe(`SELECT ${name}() AS answer`)
        }).pipe(Effect.provide(Layer.fresh(layerClient(url)), { local: true }))
      const starts = [1, 2, 1, 2, 1]
      const answers = yield* Effect.forEach(starts, start, { concurrency: "unbounded" })
      expect(answers).toMatchObject(starts.map((answer) => [{ answer }]))
      // A later start finds the function of its version.
      expect(yield* start(1)).toMatchObject([{ answer: 1 }])
    })
)
