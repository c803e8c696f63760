/**
 * Paid requests on Postgres whose process is killed, or loses its connections, before each commit
 * and after each commit before its answer, or is suspended.
 */
import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { layerClient, temporaryFolder } from "../TestStorage.ts"
import * as TestPostgres from "../TestPostgres.ts"
import * as BreakingProxy from "./BreakingProxy.ts"
import { ask, startOn } from "./Gateways.ts"

/** In milliseconds: 10 seconds, and as long again for a busy machine. */
const inTime = 20_000

const nameOf = ({ step, when }: BreakingProxy.Break, how: string) => `${how}-${when}-${step}`

/**
 * The database, a gateway on it that is never disturbed, and what all requests together must leave.
 */
const setUp = Effect.gen(function* () {
  const url = yield* TestPostgres.create
  const folder = yield* temporaryFolder
  const survivor = yield* startOn(url, folder)
  const key = survivor.key ?? ""

  /** A retry at the survivor gets an answer in time. */
  const again = Effect.fnUntraced(function* (name: string) {
    const startedAt = yield* Clock.currentTimeMillis
    const answer = yield* ask(survivor, key, name)
    expect([name, answer?.status]).toEqual([name, 200])
    expect((yield* Clock.currentTimeMillis) - startedAt).toBeLessThan(inTime)
    return answer
  })

  /**
   * Each request is charged once, and nothing stays reserved. Returns the abandoned reservations.
   */
  const settled = Effect.fnUntraced(
    function* (requests: number) {
      const sql = yield* SqlClient
      const open = sql`SELECT id FROM reservations WHERE state = 'open'`
      yield* open.pipe(
        Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("200 millis") }),
        Effect.timeout("30 seconds")
      )
      const [workspace] = yield* sql`SELECT reserved_micro FROM workspaces`
      expect(workspace).toMatchObject({ reserved_micro: 0 })
      const [kept] = yield* sql`SELECT COUNT(*) AS total FROM idempotency WHERE status = 200`
      const entries = yield* sql`SELECT cost_micro FROM usage_ledger WHERE status = 'completed'`
      expect(entries.map(({ cost_micro }) => cost_micro)).toEqual(Array.from({ length: requests }, () => 1000))
      expect(kept).toMatchObject({ total: requests })
      expect(yield* sql`SELECT scope FROM idempotency WHERE status IS NULL`).toEqual([])
      return (yield* sql`SELECT id FROM reservations WHERE state = 'abandoned'`).length
    },
    Effect.provide(layerClient(url))
  )

  return { url, folder, key, again, settled }
})

// At the same time, because they wait until a process counts as dead.
describe.skipIf(!TestPostgres.isInstalled).concurrent("a paid request on Postgres", () => {
  it.live(
    "is charged once and repeated within 10 seconds, whichever commit its process is killed before or after",
    () =>
      Effect.gen(function* () {
        const { again, settled, folder, key, url } = yield* setUp
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
        expect(yield* settled(BreakingProxy.breaks.length)).toBe(2)
      }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
    120_000
  )

  it.live(
    "is charged once and repeated within 10 seconds, whichever commit its connection is lost before or after",
    () =>
      Effect.gen(function* () {
        const { again, settled, folder, key, url } = yield* setUp
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
        expect(yield* settled(BreakingProxy.breaks.length)).toBe(1)
      }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
    120_000
  )

  it.live(
    "is charged once when its process is suspended before the charge, and continues after a repetition",
    () =>
      Effect.gen(function* () {
        const { again, settled, folder, key, url } = yield* setUp
        const proxy = yield* BreakingProxy.make(url)
        const victim = yield* startOn(proxy.url, folder)
        let isSuspended = false
        proxy.arm({ step: "end", when: "before" }, "suspended", () => {
          isSuspended = process.kill(victim.pid, "SIGSTOP")
        })
        const late = yield* Effect.forkChild(ask(victim, key, "suspended"))
        yield* Effect.repeat(
          Effect.sync(() => isSuspended),
          { until: (is) => is, schedule: Schedule.spaced("20 millis") }
        )
        expect(yield* again("suspended")).toMatchObject({ replayed: false })
        process.kill(victim.pid, "SIGCONT")
        // It finds that it has lost the key. A further repetition gets the one answer.
        expect(yield* Fiber.join(late)).toMatchObject({ status: 503 })
        expect(yield* ask(victim, key, "suspended")).toMatchObject({ status: 200, replayed: true })
        expect(yield* settled(1)).toBe(1)
      }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
    60_000
  )
})
