import { expect, it } from "vitest"
import { nearest } from "../src/Nearest.ts"

it.each([
  ["limit", ["name", "limit_usd", "ignored_models"], "limit_usd"],
  ["Limit_USD", ["limit", "limit_usd"], "limit_usd"],
  ["is_require", ["is_required", "is_fallback"], "is_required"],
  ["limt", ["name", "limit"], "limit"],
  ["limt", ["name", "limit_usd", "ignored_models"], "limit_usd"],
  ["max_limit_usd", ["limit", "limit_usd"], "limit_usd"],
  ["videos.concurency", ["videos", "videos.concurrency"], "videos.concurrency"],
  ["ab", ["abcdefgh", "ac"], "ac"],
  ["zzz", ["first", "other"], "first"]
] as const)("suggests, for %s among %j, %s", (name, candidates, meant) => {
  expect(nearest(name, candidates)).toBe(meant)
})
