import { describe, expect, it } from "vitest"
import { groupText, newRule, problemOfRules, rulesOf, toJson, withField } from "../src/pages/destinations/rules.ts"

const rules = {
  groups: [
    {
      rules: [
        { field: "model", operator: "starts_with", value: "acme/" },
        { field: "total_cost", operator: "gt", value: 0.1 }
      ]
    },
    { logic: "or", rules: [{ field: "user_id", operator: "exists" }] }
  ]
}

describe("the fields of filter rules", () => {
  it("keep what the JSON says, with numbers as numbers", () => {
    const read = rulesOf(JSON.stringify(rules))
    expect(read?.groups[0]?.rules[1]).toEqual({ field: "total_cost", operator: "gt", value: "0.1" })
    expect(read && JSON.parse(toJson(read))).toEqual(rules)
    const paused = { ...rules, enabled: false }
    const readPaused = rulesOf(JSON.stringify(paused))
    expect(readPaused && JSON.parse(toJson(readPaused))).toEqual(paused)
  })

  it("are an empty text without groups", () => {
    expect(rulesOf("")).toEqual({ isEnabled: true, groups: [] })
    expect(toJson({ isEnabled: true, groups: [] })).toBe("")
  })

  it.each([
    ["a field that there is not", { groups: [{ rules: [{ field: "color", operator: "equals", value: "red" }] }] }],
    ["a comparison of texts with a number", { groups: [{ rules: [{ field: "total_cost", operator: "contains" }] }] }],
    ["a property that there is not", { groups: [], note: "for the warehouse" }],
    ["no groups", []]
  ])("leave to JSON what has %s", (_, json) => {
    expect(rulesOf(JSON.stringify(json))).toBeUndefined()
  })

  it("say what is wrong", () => {
    expect(problemOfRules("{")).toBe("This is not JSON.")
    expect(problemOfRules(toJson({ isEnabled: true, groups: [{ logic: "and", rules: [newRule] }] }))).toBe(
      "Each rule needs a value."
    )
    expect(problemOfRules(JSON.stringify(rules))).toBeUndefined()
    // The gateway knows better what it takes.
    expect(problemOfRules('{"groups":[],"note":"for the warehouse"}')).toBeUndefined()
  })

  it("keep the comparison where another field has it", () => {
    const rule = { field: "model", operator: "contains", value: "rerank" } as const
    expect(withField(rule, "provider")).toEqual({ ...rule, field: "provider" })
    expect(withField(rule, "total_cost")).toEqual({ field: "total_cost", operator: "equals", value: "" })
  })

  it("can be read aloud", () => {
    const text = (given: unknown) => rulesOf(JSON.stringify(given))?.groups.map(groupText)
    expect(text(rules)).toEqual(["Model starts with acme/ and Cost in credits is more than 0.1", "User is known"])
  })
})
