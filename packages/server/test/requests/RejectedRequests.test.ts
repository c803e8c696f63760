import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as RejectedRequests from "../../src/requests/RejectedRequests.ts"
import type * as Page from "../../src/storage/sql/Page.ts"
import { databases } from "../TestDatabases.ts"

const rejected = (n: number, more: Partial<RejectedRequests.NewRejectedRequest> = {}) => ({
  id: `id-${n}`,
  createdAt: n * 1000,
  requestId: `req_${n}`,
  organizationId: "o",
  workspaceId: "w",
  keyHash: "k",
  operation: "rerank",
  model: "m",
  status: 402,
  message: "insufficient credits",
  address: "203.0.113.7",
  durationMs: 3,
  omitted: 0,
  ...more
})

const anonymous = { organizationId: null, workspaceId: null, keyHash: null, status: 401, operation: "listKeys" }

describe.each(databases)("rejected requests on $name", ({ layer: stores }) => {
  const layer = Layer.effect(RejectedRequests.RejectedRequests, RejectedRequests.make(3)).pipe(Layer.provide(stores))

  it.effect("are found by the id of the request and by what they were, and old or too many ones are deleted", () =>
    Effect.gen(function* () {
      const store = yield* RejectedRequests.RejectedRequests
      yield* store.write(
        [
          rejected(1),
          rejected(2, anonymous),
          rejected(3, { organizationId: "other", workspaceId: "v" }),
          // Postgres stores neither of them.
          rejected(4, { message: "a\u0000b\ud800", model: undefined })
        ],
        []
      )
      yield* store.write([], [{ id: "id-1", omitted: 12 }])
      // Written again, because the answer to the first commit was lost.
      yield* store.write([rejected(1), rejected(4)], [])
      const idsOf = (filter?: RejectedRequests.Filter, page?: Page.Request) =>
        Effect.map(store.list("o", filter, page), ({ items, next }) => ({ ids: items.map(({ id }) => id), next }))
      expect(yield* idsOf({}, { limit: 2 })).toEqual({ ids: ["id-4", "id-2"], next: "id-2" })
      expect(yield* idsOf({}, { limit: 2, after: "id-2" })).toEqual({ ids: ["id-1"], next: undefined })
      for (const [filter, id] of [
        [{ requestId: "req_1" }, "id-1"],
        [{ status: 401 }, "id-2"],
        [{ operation: "listKeys" }, "id-2"],
        [{ workspaceIds: ["w"], to: 2000 }, "id-1"],
        [{ keyHash: "k", from: 2000 }, "id-4"]
      ] as const) {
        expect([filter, yield* idsOf(filter)]).toEqual([filter, { ids: [id], next: undefined }])
      }
      expect(yield* idsOf({ requestId: "req_3" })).toEqual({ ids: [], next: undefined })
      expect(yield* Effect.flip(idsOf({}, { after: "id-3" }))).toMatchObject({ _tag: "UnknownCursor" })
      const [newest, , oldest] = (yield* store.list("o")).items
      expect(newest).toMatchObject({ model: null, message: "a\ufffdb\ufffd" })
      expect(oldest).toMatchObject({ requestId: "req_1", omitted: 12, message: "insufficient credits" })

      yield* TestClock.setTime(10_000)
      expect(yield* store.purge(Duration.days(1))).toBe(1)
      expect((yield* idsOf()).ids).toEqual(["id-4", "id-2"])
      expect(yield* store.purge(Duration.millis(7000))).toBe(1)
      expect((yield* idsOf()).ids).toEqual(["id-4"])
    }).pipe(Effect.provide(layer))
  )
})
