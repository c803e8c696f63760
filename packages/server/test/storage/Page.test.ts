import { describe, expect, it } from "@effect/vitest"
import { bounds, limitOf, slice } from "../../src/storage/Page.ts"

describe("Slice", () => {
  it("takes 100 unless asked otherwise, and keeps to whole numbers from 1 to 1000", () => {
    expect([undefined, {}, { limit: 7 }, { limit: 0 }, { limit: 1.9 }, { limit: 1e9 }].map(limitOf)).toEqual([
      100, 100, 7, 1, 1, 1000
    ])
  })

  it("tells by one row more than asked for whether there are more", () => {
    expect(slice([1, 2, 3], 2, String)).toEqual({ items: ["1", "2"], hasMore: true })
    expect(slice([1, 2], 2, String)).toEqual({ items: ["1", "2"], hasMore: false })
  })
})

describe("Page", () => {
  it("takes 100 from the beginning unless asked otherwise", () => {
    expect(bounds(undefined)).toEqual({ offset: 0, limit: 100 })
    expect(bounds({ offset: 20, limit: 7 })).toEqual({ offset: 20, limit: 7 })
  })

  it("keeps to whole numbers within its bounds", () => {
    expect(bounds({ offset: -1, limit: 0 })).toEqual({ offset: 0, limit: 1 })
    expect(bounds({ offset: 1.9, limit: 1e9 })).toEqual({ offset: 1, limit: 1000 })
    expect(bounds({ offset: Number.NaN, limit: Number.NaN })).toEqual({ offset: 0, limit: 1 })
  })
})
