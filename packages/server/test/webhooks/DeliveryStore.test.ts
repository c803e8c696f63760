import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { type DeliveryAttempt, type Claimed, DeliveryStore, type Next } from "../../src/webhooks/DeliveryStore.ts"
import { overlap } from "../Overlap.ts"
import { databases } from "../TestDatabases.ts"
import { read, workspace, write } from "./TestDelivery.ts"

const url = "https://hooks.example/in"

const attempt: DeliveryAttempt = { attemptedAt: 0, status: 500, durationMillis: 1, error: "It failed.", excerpt: null }

/** Claims the delivery, which must be due. */
const claim = Effect.fnUntraced(function* (name: string) {
  const claimed = yield* (yield* DeliveryStore).claim(`evt_${name}`)
  return claimed ?? (yield* Effect.die(new Error(`${name} is not due`)))
})

const record = (claimed: Claimed, next: Next) =>
  Effect.flatMap(DeliveryStore, (store) => store.record(claimed, attempt, next))

const dueNow = Effect.flatMap(DeliveryStore, (store) => store.due(10, { workspaces: [], hosts: [] })).pipe(
  Effect.map((due) => due.map(({ id }) => id.slice(4)))
)

describe.each(databases)("deliveries on $name", ({ layer }) => {
  it.effect("are claimed by one at a time, and are due again 10 seconds after the claim's last extension", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* write(url, "a")
      const claims = yield* Effect.all([store.claim("evt_a"), store.claim("evt_a")], { concurrency: "unbounded" })
      expect(claims.filter((one) => one !== undefined)).toHaveLength(1)
      yield* TestClock.adjust("9 seconds")
      yield* store.extend(claims.flatMap((one) => one ?? []))
      yield* TestClock.adjust("9999 millis")
      expect(yield* dueNow).toEqual([])
      yield* TestClock.adjust("1 milli")
      expect(yield* dueNow).toEqual(["a"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("ignore what follows an attempt whose claim was lost, and keep the attempt", () =>
    Effect.gen(function* () {
      yield* write(url, "a")
      const lost = yield* claim("a")
      yield* TestClock.adjust("10 seconds")
      const holder = yield* claim("a")
      yield* record(lost, { status: "failed" })
      expect(yield* read("a")).toMatchObject({ status: "pending", tries: 0, attempts: [attempt] })
      yield* record(holder, { status: "pending", after: Duration.seconds(5) })
      expect(yield* read("a")).toMatchObject({ status: "pending", tries: 1, nextAttemptAt: 15_000 })
      yield* TestClock.adjust("4999 millis")
      expect(yield* dueNow).toEqual([])
      yield* TestClock.adjust("1 milli")
      expect(yield* dueNow).toEqual(["a"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("keep their latest 50 attempts", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const { organizationId } = yield* workspace
      yield* write(url, "a")
      for (let n = 0; n < 52; n++) {
        yield* store.record(yield* claim("a"), { ...attempt, attemptedAt: n }, { status: "failed" })
        yield* store.redeliver(organizationId, "evt_a")
        yield* TestClock.adjust("1 second")
      }
      expect((yield* read("a")).attempts.map(({ attemptedAt }) => attemptedAt)).toEqual(
        Array.from({ length: 50 }, (_, n) => n + 2)
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("are due although the clock was ahead when their job ended", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(7_200_000)
      yield* write(url, "a")
      yield* TestClock.setTime(3_600_000)
      expect(yield* dueNow).toEqual(["a"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are deleted with their attempts when they were finished long enough ago, and never before", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const sql = yield* SqlClient
      for (const name of ["delivered", "failed", "pending", "later"]) yield* write(url, name)
      for (const status of ["delivered", "failed"] as const) yield* record(yield* claim(status), { status })
      yield* TestClock.adjust("1 hour")
      yield* record(yield* claim("later"), { status: "delivered" })
      yield* TestClock.adjust("23 hours")
      expect(yield* store.purge(Duration.hours(24))).toBe(2)
      const left = yield* sql`SELECT id FROM webhook_deliveries ORDER BY id`
      expect(left.map(({ id }) => id)).toEqual(["evt_later", "evt_pending"])
      expect(yield* sql`SELECT delivery_id FROM webhook_attempts`).toHaveLength(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("leave out the workspaces and hosts that have no room", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const { id } = yield* workspace
      yield* write("https://one.example/", "one")
      yield* write("https://two.example:8443/", "two")
      yield* write("https://one.example./", "three")
      const due = (except: { workspaces?: ReadonlyArray<string>; hosts?: ReadonlyArray<readonly [string, string]> }) =>
        Effect.map(store.due(10, { workspaces: [], hosts: [], ...except }), (found) => found.map(({ host }) => host))
      expect((yield* due({})).toSorted()).toEqual(["one.example", "one.example", "two.example"])
      expect(yield* due({ hosts: [[id, "one.example"]] })).toEqual(["two.example"])
      expect(yield* due({ hosts: [["another", "one.example"]] })).toHaveLength(3)
      expect(yield* due({ workspaces: [id] })).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.live("what is due to a receiver can be postponed together, and nothing else", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const { id: workspaceId, organizationId } = yield* workspace
      const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "Other", slug: "other" })
      yield* write("https://slow.example/", "one")
      yield* write("https://slow.example/", "two")
      yield* write("https://slow.example/", "claimed")
      yield* write("https://fast.example/", "fast")
      yield* write("https://slow.example/", "other", { workspaceId: other.id })
      yield* store.claim("evt_claimed")
      expect(yield* store.postpone({ workspaceId, host: "slow.example" }, Duration.minutes(1))).toBe(2)
      expect(yield* store.postpone({ workspaceId, host: "slow.example" }, Duration.minutes(1))).toBe(0)
      const due = yield* store.due(10, { workspaces: [], hosts: [] })
      expect(due.map(({ id }) => id).toSorted()).toEqual(["evt_fast", "evt_other"])
      const { attempts, nextAttemptAt, tries } = yield* read("one")
      expect([attempts, tries, (nextAttemptAt ?? 0) > 0]).toEqual([[], 0, true])
    }).pipe(Effect.provide(layer))
  )
})

// SQLite has one writer.
describe.each(databases.filter(({ name }) => name === "postgres"))("an old delivery on $name", ({ layer }) => {
  it.live("is kept if it is sent again while old ones are deleted", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const { organizationId } = yield* workspace
      yield* write(url, "a")
      yield* record(yield* claim("a"), { status: "failed" })
      yield* overlap(store.redeliver(organizationId, "evt_a"), store.purge(Duration.zero))
      expect(yield* read("a")).toMatchObject({ status: "pending", attempts: [attempt] })
    }).pipe(Effect.provide(layer))
  )
})
