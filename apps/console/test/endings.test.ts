import { expect, it } from "vitest"
import { creditEndings, guardrailEndings, keyEndings } from "../src/pages/overview/endings.ts"

const day = 86_400_000
/** A Saturday. */
const now = Date.parse("2026-11-28T12:00:00.000Z")

type Key = Parameters<typeof keyEndings>[0][number]

const key = (fields: Partial<Key>): Key => ({
  hash: "a",
  name: "search",
  disabled: false,
  expires_at: null,
  include_byok_in_limit: false,
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  ...fields
})

const spends = (credits: number, withProviderKeys = 0) => new Map([["a", { credits, withProviderKeys }]])

/** In how many days each runs out. */
const daysOf = (endings: ReadonlyArray<{ readonly at: number }>) =>
  endings.map(({ at }) => (at === 0 ? 0 : (at - now) / day))

it("credits run out at the rate of their workspace, and not without spend", () => {
  const workspaces = [
    { id: "slow", name: "Slow", credits: 30 },
    { id: "fast", name: "Fast", credits: 8 },
    { id: "idle", name: "Idle", credits: 1 },
    { id: "empty", name: "Empty", credits: -0.5 }
  ]
  const rates = new Map([
    ["slow", 1],
    ["fast", 4],
    ["empty", 1]
  ])
  const endings = creditEndings(workspaces, rates, now)
  expect(endings.map(({ id }) => id)).toEqual(["empty", "fast", "slow"])
  expect(daysOf(endings)).toEqual([0, 2, 30])
})

it("a limit runs out only before it resets", () => {
  const runsOut = (limit_reset: Key["limit_reset"], limit_remaining: number, perDay = 4) =>
    daysOf(keyEndings([key({ limit: 10, limit_remaining, limit_reset })], spends(perDay), now))
  expect(runsOut(null, 6)).toEqual([1.5])
  // It resets at midnight, on Monday, and on the first of December.
  expect(runsOut("daily", 2.1)).toEqual([])
  expect(runsOut("daily", 1.9, 1)).toEqual([Infinity])
  expect(runsOut("daily", 1)).toEqual([0.25])
  expect(runsOut("weekly", 5.9)).toEqual([1.475])
  expect(runsOut("weekly", 6.1)).toEqual([])
  expect(runsOut("monthly", 9.9)).toEqual([2.475])
  expect(runsOut("monthly", 0, 0)).toEqual([0])
})

it("a key has two endings: its limit and its time", () => {
  const limited = { limit: 10, limit_remaining: 5, expires_at: "2026-11-29T12:00:00.000Z" }
  expect(daysOf(keyEndings([key(limited)], spends(1, 4), now))).toEqual([5, 1])
  expect(daysOf(keyEndings([key({ ...limited, include_byok_in_limit: true })], spends(1, 4), now))).toEqual([1, 1])
  expect(keyEndings([key({ ...limited, disabled: true })], spends(1), now)).toEqual([])
  expect(keyEndings([key({ ...limited, expires_at: "2026-11-28T11:59:00.000Z" })], spends(1), now)).toEqual([])
  expect(keyEndings([key({ limit: 0, limit_remaining: 0 })], spends(1), now)).toEqual([])
})

it("the limit of a guardrail runs out at the rate of all its keys, if all are known", () => {
  const guardrail = { id: "g", name: "Interns", key_count: 2, limit_usd: 10, limit_remaining: 6, resets_at: null }
  const rates = new Map([
    ["a", { credits: 1, withProviderKeys: 9 }],
    ["b", { credits: 2, withProviderKeys: 0 }],
    ["c", { credits: 50, withProviderKeys: 0 }]
  ])
  const keys = [
    { hash: "a", guardrail_id: "g" },
    { hash: "b", guardrail_id: "g" },
    { hash: "c", guardrail_id: null }
  ]
  expect(daysOf(guardrailEndings([guardrail], keys, rates, now))).toEqual([2])
  const unknown = { ...guardrail, key_count: 3 }
  expect(guardrailEndings([unknown], keys, rates, now)).toEqual([])
  expect(daysOf(guardrailEndings([{ ...unknown, limit_remaining: 1 }], keys, rates, now))).toEqual([Infinity])
})
