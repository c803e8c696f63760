/**
 * Paid requests on Postgres whose process is killed, or loses its connections, before each commit
 * and after each commit before its answer.
 */
import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { layerClient, temporaryFolder } from "../TestStorage.ts"
import * as TestPostgres from "../TestPostgres.ts"
import * as BreakingProxy from "./BreakingProxy.ts"
import { ask, startOn } from "./Gateways.ts"

const nameOf = ({ step, when }: BreakingProxy.Break, how: string) => `${how}-${when}-${step}`

/** The database, a gateway on it that nothing happens to, and what all requests together must leave. */
const setUp = Effect.gen(function* () {
  const url = yield* TestPostgres.create
  const folder = yield* temporaryFolder
  const survivor = yield* startOn(url, folder)
  const key = survivor.key ?? ""

  /** A repetition at the survivor gets an answer in time. */
  const again = Effect.fnUntraced(function* (name: string) {
    const startedAt = yield* Clock.currentTimeMillis
    const answer = yield* ask(survivor, key, name)
    expect([name, answer?.status]).toEqual([name, 200])
    expect((yield* Clock.currentTimeMillis) - startedAt).toBeLessThan(10_000)
    return answer
  })

  /** Each request is charged once, and nothing stays reserved. */
  const books = Effect.gen(function* () {
    const sql = yield* SqlClient
    const open = sql`SELECT id FROM intents WHERE state = 'open'`
    yield* open.pipe(
      Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("200 millis") }),
      Effect.timeout("30 seconds")
    )
    const [workspace] = yield* sql`SELECT reserved_micro FROM workspaces`
    expect(workspace).toMatchObject({ reserved_micro: 0 })
    const [kept] = yield* sql`SELECT COUNT(*) AS total FROM idempotency WHERE status = 200`
    const entries = yield* sql`SELECT cost_micro FROM usage_ledger WHERE status = 'completed'`
    expect(entries.map(({ cost_micro }) => cost_micro)).toEqual(BreakingProxy.breaks.map(() => 1000))
    expect(kept).toMatchObject({ total: BreakingProxy.breaks.length })
    expect(yield* sql`SELECT scope FROM idempotency WHERE status IS NULL`).toEqual([])
    return (yield* sql`SELECT id FROM intents WHERE state = 'abandoned'`).length
  }).pipe(Effect.provide(layerClient(url)))

  return { url, folder, key, again, books }
})

describe.skipIf(!TestPostgres.isInstalled)("a paid request on Postgres", () => {
  it.live(
    "is charged once and repeated within 10 seconds, whichever commit its process is killed before or after",
    () =>
      Effect.gen(function* () {
        const { again, books, folder, key, url } = yield* setUp
        yield* Effect.forEach(
          BreakingProxy.breaks,
          Effect.fnUntraced(function* (at) {
            const name = nameOf(at, "killed")
            const proxy = yield* BreakingProxy.make(url)
            const victim = yield* startOn(proxy.url, folder)
            proxy.arm(at, name, () => process.kill(victim.pid, "SIGKILL"))
            expect([name, yield* ask(victim, key, name)]).toEqual([name, undefined])
            const answer = yield* again(name)
            expect([name, answer?.replayed]).toEqual([name, at.step === "end" && at.when === "after"])
          }, Effect.scoped),
          { concurrency: 3 }
        )
        // Reserved by processes that were killed between reservation and charge.
        expect(yield* books).toBe(2)
      }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
    120_000
  )

  it.live(
    "is charged once and repeated within 10 seconds, whichever commit its connection is lost before or after",
    () =>
      Effect.gen(function* () {
        const { again, books, folder, key, url } = yield* setUp
        const proxy = yield* BreakingProxy.make(url)
        const gateway = yield* startOn(proxy.url, folder)
        for (const at of BreakingProxy.breaks) {
          const name = nameOf(at, "cut")
          let isCut = false
          proxy.arm(at, name, () => {
            isCut = true
          })
          const first = yield* ask(gateway, key, name)
          expect([name, isCut]).toEqual([name, true])
          // A charge is tried again.
          expect([name, first?.status]).toEqual([name, at.step === "end" ? 200 : 503])
          const answer = yield* again(name)
          expect([name, answer?.replayed]).toEqual([name, at.step === "end"])
          if (at.step === "end") expect(answer?.body).toBe(first?.body)
        }
        // A reservation whose confirmation was lost.
        expect(yield* books).toBe(1)
      }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
    120_000
  )
})
