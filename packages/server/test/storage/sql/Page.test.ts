import { describe, expect, it } from "@effect/vitest"
import { bounds, limitOf, slice } from "../../../src/storage/sql/Page.ts"

describe("Slice", () => {
  it("defaults to 100 items, and clamps to whole numbers from 1 to 1000", () => {
    expect([undefined, {}, { limit: 7 }, { limit: 0 }, { limit: 1.9 }, { limit: 1e9 }].map(limitOf)).toEqual([
      100, 100, 7, 1, 1, 1000
    ])
  })

  it("detects further items by one extra row", () => {
    expect(slice([1, 2, 3], 2, String)).toEqual({ items: ["1", "2"], hasMore: true })
    expect(slice([1, 2], 2, String)).toEqual({ items: ["1", "2"], hasMore: false })
  })
})

describe("Page", () => {
  it("defaults to 100 items from the start", () => {
    expect(bounds(undefined)).toEqual({ offset: 0, limit: 100 })
    expect(bounds({ offset: 20, limit: 7 })).toEqual({ offset: 20, limit: 7 })
  })

  it("keeps to whole numbers within its bounds", () => {
    expect(bounds({ offset: -1, limit: 0 })).toEqual({ offset: 0, limit: 1 })
    expect(bounds({ offset: 1.9, limit: 1e9 })).toEqual({ offset: 1, limit: 1000 })
    expect(bounds({ offset: Number.NaN, limit: Number.NaN })).toEqual({ offset: 0, limit: 1 })
  })
})
