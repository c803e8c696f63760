import { describe, expect, it } from "@effect/vitest"
import { bounds } from "../../src/storage/Page.ts"

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
