import type { FilterRule } from "@model-gateway/core/Destinations"
import { describe, expect, it } from "vitest"
import { accepts } from "../../src/broadcast/EventFilter.ts"
import { event, options } from "./TestEvent.ts"

type Rule = typeof FilterRule.Type

const one = event()
const meets = (...rules: ReadonlyArray<Rule>) => accepts(options({ filter_rules: { groups: [{ rules }] } }), one)

describe("a rule", () => {
  const rules: ReadonlyArray<readonly [boolean, Rule]> = [
    [true, { field: "model", operator: "equals", value: "cohere/rerank-v3.5" }],
    [false, { field: "model", operator: "equals", value: "cohere" }],
    [true, { field: "model", operator: "not_equals", value: "cohere" }],
    [true, { field: "model", operator: "starts_with", value: "cohere/" }],
    [true, { field: "model", operator: "ends_with", value: "3.5" }],
    [true, { field: "provider", operator: "contains", value: "here" }],
    [false, { field: "provider", operator: "not_contains", value: "here" }],
    [true, { field: "user_id", operator: "equals", value: "ada" }],
    [true, { field: "user_id", operator: "exists" }],
    [false, { field: "user_id", operator: "not_exists" }],
    [true, { field: "total_cost", operator: "gte", value: 0.002 }],
    [false, { field: "total_cost", operator: "gt", value: 0.002 }],
    [true, { field: "total_cost", operator: "lt", value: "0.01" }],
    [true, { field: "total_tokens", operator: "equals", value: "40" }],
    [true, { field: "prompt_tokens", operator: "lte", value: 40 }],
    [true, { field: "completion_tokens", operator: "not_exists" }],
    [false, { field: "completion_tokens", operator: "gte", value: 0 }],
    [true, { field: "completion_tokens", operator: "not_equals", value: 0 }]
  ]
  it.each(rules)("is %s: %o", (expected, rule) => expect(meets(rule)).toBe(expected))
})

const yes: Rule = { field: "model", operator: "exists" }
const no: Rule = { field: "model", operator: "not_exists" }

it("an event has to meet all rules of a group, or one if its logic is or", () => {
  expect(meets(yes, yes)).toBe(true)
  expect(meets(yes, no)).toBe(false)
  const any = (rules: ReadonlyArray<Rule>) =>
    accepts(options({ filter_rules: { groups: [{ logic: "or", rules }] } }), one)
  expect(any([no, yes])).toBe(true)
  expect(any([no, no])).toBe(false)
})

it("an event has to meet one of the groups, unless there are none or the rules are off", () => {
  const groups = [{ rules: [no] }, { rules: [yes] }]
  expect(accepts(options({ filter_rules: { groups } }), one)).toBe(true)
  expect(accepts(options({ filter_rules: { groups: [{ rules: [no] }] } }), one)).toBe(false)
  expect(accepts(options({ filter_rules: { groups: [] } }), one)).toBe(true)
  expect(accepts(options({ filter_rules: { enabled: false, groups: [{ rules: [no] }] } }), one)).toBe(true)
})

it("only events of the listed keys are accepted", () => {
  expect(accepts(options({ api_key_hashes: ["other", one.key_hash] }), one)).toBe(true)
  expect(accepts(options({ api_key_hashes: ["other"] }), one)).toBe(false)
})

describe("a sample", () => {
  const ids = Array.from({ length: 4000 }, (_, index) => `evt_${index}`)

  it("has about as many events as its rate says, and the same ones each time", () => {
    const sampled = () => ids.filter((id) => accepts(options({ sampling_rate: 0.25 }), event({ id })))
    expect(sampled().length).toBeGreaterThan(850)
    expect(sampled().length).toBeLessThan(1150)
    expect(sampled()).toEqual(sampled())
    expect(ids.every((id) => accepts(options(), event({ id })))).toBe(true)
  })

  it("has all events of a trace, or none", () => {
    for (const trace_id of ["a", "b", "c", "d", "e", "f"]) {
      const some = ids
        .slice(0, 50)
        .map((id) => accepts(options({ sampling_rate: 0.5 }), event({ id, trace: { trace_id } })))
      expect(new Set(some).size).toBe(1)
    }
  })
})
