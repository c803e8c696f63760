import { describe, expect, it } from "@effect/vitest"
import * as LruMap from "../../src/storage/LruMap.ts"

describe("LruMap", () => {
  it("forgets what was used longest ago, and says so", () => {
    const forgotten: Array<[string, number]> = []
    const map = LruMap.make<string, number>(2, (key, value) => forgotten.push([key, value]))
    map.set("a", 1)
    map.set("b", 2)
    expect(map.get("a")).toBe(1)
    map.set("c", 3)
    expect(forgotten).toEqual([["b", 2]])
    expect([map.get("a"), map.get("b"), map.get("c"), map.size()]).toEqual([1, undefined, 3, 2])
  })

  it("forgets nothing for setting a key it holds", () => {
    const map = LruMap.make<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    map.set("a", 3)
    expect([map.get("a"), map.get("b")]).toEqual([3, 2])
    map.delete("a")
    expect(map.size()).toBe(1)
    map.clear()
    expect(map.get("b")).toBe(undefined)
  })
})
