/** A retry at a live process, of a request whose process was killed. */
import { NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import { DatabaseSync } from "node:sqlite"
import { temporaryFolder } from "../TestStorage.ts"
import { ask, start } from "./Gateways.ts"

const price = 1000

/** In milliseconds: 10 seconds, and as long again for a busy machine. */
const inTime = 20_000

it.live(
  "a retry is answered within 10 seconds, and charged once, after its process was killed in the middle of the request",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const survivor = yield* start(folder)
      const key = survivor.key ?? ""
      const db = new DatabaseSync(`${folder}/gateway.db`)
      const survives = Effect.fnUntraced(function* (step: string) {
        const victim = yield* start(folder, step)
        expect([step, yield* ask(victim, key, step)]).toEqual([step, undefined])
        const killedAt = yield* Clock.currentTimeMillis
        expect(yield* ask(survivor, key, step)).toMatchObject({ status: 200, replayed: false })
        expect((yield* Clock.currentTimeMillis) - killedAt).toBeLessThan(inTime)
        expect(yield* ask(survivor, key, step)).toMatchObject({ status: 200, replayed: true })
      })
      // At the same time, because they wait until a process counts as dead.
      yield* Effect.forEach(["reserving", "reserved", "charging"], survives, { concurrency: "unbounded" })
      const reserved = db.prepare("SELECT reserved_micro FROM workspaces")
      yield* Effect.sync(() => reserved.get()?.["reserved_micro"]).pipe(
        Effect.repeat({ until: (credits) => credits === 0, schedule: Schedule.spaced("100 millis") }),
        Effect.timeout("30 seconds")
      )
      const charged = { cost_micro: price }
      expect(db.prepare("SELECT cost_micro FROM usage_ledger").all()).toMatchObject([charged, charged, charged])
      // The first one was killed before its reservation was committed.
      expect(db.prepare("SELECT state, amount_micro FROM reservations").all()).toMatchObject([
        { state: "abandoned", amount_micro: price },
        { state: "abandoned", amount_micro: price }
      ])
      db.close()
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
  60_000
)
