import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as RequestLog from "../../src/accounting/RequestLog.ts"
import { databases } from "../TestDatabases.ts"
import { micro, outcome, payerWith, reserve } from "./TestPayer.ts"

describe.each(databases)("the request log on $name", ({ layer: stores }) => {
  const layer = RequestLog.layerSql.pipe(Layer.provideMerge(stores))

  it.effect("lists the requests of an organization, newest first, page by page and by what they were", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const { organizationId, payer } = yield* payerWith(10_000)
      const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "other", slug: "other" })
      yield* accounting.addCredits(other.id, micro(1000))
      const failure = { status: "failed", errorStatus: 502, provider: "p" } as const
      for (let n = 0; n < 5; n++) {
        yield* TestClock.adjust("1 second")
        const held = yield* reserve(`gen-${n}`, n === 4 ? { ...payer, workspaceId: other.id } : payer, 100)
        yield* n === 1 ? accounting.release(held, failure) : accounting.settle(held, outcome(10 * n))
      }
      const idsOf = (filter?: RequestLog.Filter, page?: RequestLog.PageRequest) =>
        Effect.map(log.list(organizationId, filter, page), ({ items, next }) => ({
          ids: items.map(({ id }) => id),
          next
        }))
      expect(yield* idsOf({}, { limit: 3 })).toEqual({ ids: ["gen-4", "gen-3", "gen-2"], next: "gen-2" })
      expect(yield* idsOf({}, { limit: 3, after: "gen-2" })).toEqual({ ids: ["gen-1", "gen-0"], next: undefined })
      expect(yield* idsOf({ workspaceId: other.id })).toMatchObject({ ids: ["gen-4"] })
      expect(yield* idsOf({ status: "failed", errorStatus: 502 })).toMatchObject({ ids: ["gen-1"] })
      expect(yield* idsOf({ from: 2000, to: 4000 })).toMatchObject({ ids: ["gen-2", "gen-1"] })
      expect(yield* Effect.flip(idsOf({}, { after: "none" }))).toMatchObject({ _tag: "UnknownCursor" })
      expect(yield* log.list("another organization")).toEqual({ items: [], next: undefined })
      expect(yield* log.get({ organizationId }, "gen-3")).toMatchObject({ id: "gen-3", cost: 30, status: "completed" })
      expect(yield* log.get({ workspaceId: other.id }, "gen-3")).toBeUndefined()
    }).pipe(Effect.provide(layer))
  )
})
