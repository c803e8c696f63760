import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Page from "../../../src/storage/sql/Page.ts"

/** A list of items that were created one millisecond after the other, from 1 on. */
const listOf = (length: number, start: Page.Place = Page.oldestFirst): Page.List<number, never> => ({
  start,
  createdAt: (after) => Effect.succeed(Number(after) <= length ? Number(after) : undefined),
  rows: (place, limit) =>
    Effect.succeed(
      Array.from({ length }, (_, at) => ({ n: at + 1 }))
        .filter(({ n }) => n > place.createdAt)
        .slice(0, limit)
    ),
  item: ({ n }) => Number(n)
})

describe("Page.read", () => {
  it.effect("reads 100 items unless a limit is given, and clamps the limit to whole numbers from 1 to 1000", () =>
    Effect.gen(function* () {
      for (const [limit, length] of [
        [undefined, 100],
        [7, 7],
        [0, 1],
        [-5, 1],
        [1.9, 1],
        [Number.NaN, 1],
        [1e9, 1000]
      ] as const) {
        expect((yield* Page.read(listOf(2000), { limit })).items).toHaveLength(length)
      }
      expect((yield* Page.read(listOf(2000), undefined)).items).toHaveLength(100)
    })
  )

  it.effect("says that more follow only if more follow", () =>
    Effect.gen(function* () {
      expect(yield* Page.read(listOf(3), { limit: 2 })).toEqual({ items: [1, 2], hasMore: true })
      expect(yield* Page.read(listOf(2), { limit: 2 })).toEqual({ items: [1, 2], hasMore: false })
      expect(yield* Page.read(listOf(0), { limit: 2 })).toEqual({ items: [], hasMore: false })
    })
  )

  it.effect("continues after the named item, and fails if the list has no such item", () =>
    Effect.gen(function* () {
      expect(yield* Page.read(listOf(5), { after: "3" })).toEqual({ items: [4, 5], hasMore: false })
      expect(yield* Effect.flip(Page.read(listOf(5), { after: "6" }))).toEqual(new Page.UnknownCursor({ after: "6" }))
    })
  )

  it.effect("starts where the order of the list begins", () =>
    Effect.gen(function* () {
      expect((yield* Page.read(listOf(5), undefined)).items).toHaveLength(5)
      expect((yield* Page.read(listOf(5, Page.newestFirst), undefined)).items).toEqual([])
    })
  )
})
