/**
 * Nothing is paid for twice and no answer changes, whenever the process dies: a gateway is killed
 * again and again in the middle of paid requests, and every caller retries.
 *
 * It dies at each step that changes what the database contains of a request, and at random moments.
 * Chance decides which request that is; `KILL_SEED` repeats the choices of an earlier run.
 */
import { NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { randomInt } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import * as Dice from "../Dice.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { ask, type Gateway, start } from "./Gateways.ts"

/** Where it dies: see the fixture. At `any` it is killed from outside. */
const deaths = ["charged", "any", "reserving", "charging", "any", "reserved"] as const

const concurrency = 24
const price = 1000

/** Of the choices; a number that was printed by a failed run makes them again. */
const seed = Number(process.env["KILL_SEED"] ?? randomInt(2 ** 31))

const open = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(`${folder}/gateway.db`)),
    (db) => Effect.sync(() => db.close())
  )

const idOf = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

/** The rows of the ledger, budgets and balances after all processes have ended. */
const ledgerOf = Effect.fnUntraced(function* (folder: string) {
  const db = yield* open(folder)
  return {
    usage: db.prepare("SELECT id, cost_micro, is_late FROM usage_ledger").all(),
    reported: db.prepare("SELECT json_extract(body, '$.generation_id') AS id FROM events ORDER BY sequence").all(),
    workspace: db.prepare("SELECT balance_micro, reserved_micro FROM workspaces").get(),
    credits: db.prepare("SELECT SUM(amount_micro) AS total FROM credit_ledger").get()?.["total"],
    budgets: db.prepare("SELECT usage, reserved FROM budgets WHERE usage > 0 OR reserved > 0").all(),
    underWay: db.prepare("SELECT id FROM reservations WHERE state = 'open'").all(),
    kept: db.prepare("SELECT status, COUNT(*) AS total FROM idempotency GROUP BY status").all()
  }
}, Effect.scoped)

it.live(
  "a gateway killed repeatedly in the middle of paid requests charges each once and answers each the same",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const dice = Dice.make(seed, "kills")
      let key = ""
      const names: Array<string> = []
      const first = new Map<string, string>()
      let replays = 0

      /** Asks, and compares an answer with the first one of that name. */
      const once = Effect.fnUntraced(function* (gateway: Gateway, name: string) {
        const answer = yield* ask(gateway, key, name)
        if (answer === undefined) return false
        expect([name, answer.status, answer.body]).toEqual([name, 200, first.get(name) ?? answer.body])
        // Whoever has an answer gets it again, and nobody works for it.
        if (first.has(name)) expect([name, answer.replayed]).toEqual([name, true])
        else if (answer.replayed) replays++
        first.set(name, answer.body)
        return true
      })

      for (const [round, death] of deaths.entries()) {
        yield* Effect.gen(function* () {
          const gateway = yield* start(folder, death, String(dice.int(1, 40)))
          key = gateway.key ?? key
          const waiting = names.filter((name) => !first.has(name))
          const again = names.filter((name) => first.has(name) && dice.chance(0.1))
          const next = (): string => {
            const known = waiting.shift() ?? again.shift()
            if (known !== undefined) return known
            const name = `${round}-${names.length}`
            names.push(name)
            return name
          }
          // There are always as many under way.
          let left = death === "any" ? dice.int(1, 200) : Number.POSITIVE_INFINITY
          const kill = Effect.delay(gateway.kill, Duration.millis(dice.next() * 20))
          let isDead = false
          const asking = Effect.gen(function* () {
            while (!isDead) {
              if (!(yield* once(gateway, next()))) isDead = true
              else if (--left === 0) yield* Effect.forkScoped(kill)
            }
          })
          yield* Effect.all(
            Array.from({ length: concurrency }, () => asking),
            { concurrency, discard: true }
          )
        }).pipe(Effect.scoped)
        expect(first.size).toBeLessThan(names.length)
      }

      yield* Effect.gen(function* () {
        const gateway = yield* start(folder)
        const answered = yield* Effect.forEach(names, (name) => once(gateway, name), { concurrency })
        expect(answered.every(Boolean)).toBe(true)
        yield* gateway.kill
      }).pipe(Effect.scoped)

      const { budgets, credits, kept, reported, underWay, usage, workspace } = yield* ledgerOf(folder)
      const spent = names.length * price
      expect(new Set(usage.map(({ id }) => id))).toEqual(new Set(Array.from(first.values(), (body) => idOf(body).id)))
      expect(usage.length).toBe(names.length)
      // Each charge is reported once.
      expect(reported.map(({ id }) => String(id)).toSorted()).toEqual(usage.map(({ id }) => String(id)).toSorted())
      expect(usage.every(({ cost_micro, is_late }) => cost_micro === price && is_late === 0)).toBe(true)
      expect(workspace).toMatchObject({ balance_micro: Number(credits) - spent, reserved_micro: 0 })
      expect(budgets).toMatchObject([{ usage: spent, reserved: 0 }])
      expect(underWay).toEqual([])
      expect(kept).toMatchObject([{ status: 200, total: names.length }])
      // Charged by a process that died before it had answered.
      expect(replays).toBeGreaterThan(0)
    }).pipe(
      Effect.onError(() => Effect.logError(`Give KILL_SEED=${seed} to choose the same again`)),
      Effect.provide(NodeServices.layer),
      Effect.scoped
    ),
  60_000
)
