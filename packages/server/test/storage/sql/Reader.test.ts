import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Reader } from "../../../src/storage/sql/Reader.ts"
import { layerAt, temporaryFolder } from "../../TestStorage.ts"

describe("Reader", () => {
  it.effect("sees every commit, of this process and of another, and nothing before it", () =>
    Effect.gen(function* () {
      const filename = `${yield* temporaryFolder}/gateway.db`
      const [ours, theirs] = yield* Effect.all([Layer.build(layerAt(filename)), Layer.build(layerAt(filename))])
      const read = Context.get(ours, Reader).prepare(`SELECT reached_at FROM milestones WHERE name = ?1`)
      const reachedAt = Effect.map(read("m"), ([row]) => row?.["reached_at"])
      const write = (at: typeof ours, time: number) =>
        Context.get(at, SqlClient)`INSERT INTO milestones (name, reached_at) VALUES ('m', ${time})
          ON CONFLICT (name) DO UPDATE SET reached_at = excluded.reached_at`

      expect(yield* reachedAt).toBe(undefined)
      yield* write(ours, 1)
      expect(yield* reachedAt).toBe(1)
      expect(yield* reachedAt).toBe(1)
      yield* write(theirs, 2)
      expect(yield* reachedAt).toBe(2)
      for (const time of [4, 5]) {
        yield* write(ours, time)
        expect(yield* reachedAt).toBe(time)
      }
      const sql = Context.get(ours, SqlClient)
      const whileOpen = yield* sql.withTransaction(Effect.andThen(write(ours, 3), reachedAt))
      expect(whileOpen).toBe(5)
      expect(yield* reachedAt).toBe(3)
      expect(yield* read("another")).toEqual([])
    })
  )

  it.effect("fails for a missing table, and reads it after it is created", () =>
    Effect.gen(function* () {
      const filename = `${yield* temporaryFolder}/gateway.db`
      const context = yield* Layer.build(layerAt(filename))
      const read = Context.get(context, Reader).prepare(`SELECT n FROM later`)
      expect((yield* Effect.flip(read()))._tag).toBe("SqlError")
      const sql = Context.get(context, SqlClient)
      yield* sql`CREATE TABLE later (n INTEGER)`
      yield* sql`INSERT INTO later (n) VALUES (7)`
      expect(yield* read()).toMatchObject([{ n: 7 }])
    })
  )
})
