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

  it("deletes one entry or all", () => {
    const map = LruMap.make<string, number>(3)
    for (const [i, key] of ["a", "b", "c"].entries()) map.set(key, i)
    map.delete("b")
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([0, undefined, 2])
    map.clear()
    expect([map.get("a"), map.get("c")]).toEqual([undefined, undefined])
  })
})
