import { describe, expect, it } from "@effect/vitest"
import * as LruMap from "../../src/internal/LruMap.ts"

describe("LruMap", () => {
  it("evicts the least recently used entry", () => {
    const map = LruMap.make<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    expect(map.get("a")).toBe(1)
    map.set("c", 3)
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3])
  })

  it("evicts nothing when an existing key is set", () => {
    const map = LruMap.make<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    map.set("a", 3)
    expect([map.get("a"), map.get("b")]).toEqual([3, 2])
  })
})
