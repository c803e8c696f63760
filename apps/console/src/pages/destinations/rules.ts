/** Filter rules as the fields of a form. JSON that has more than those is edited as text. */
import type { Payload } from "../../api/Contract.ts"

export type FilterRules = NonNullable<Payload<"PATCH /observability/destinations/:id">["filter_rules"]>

type ApiRule = FilterRules["groups"][number]["rules"][number]
export type Field = ApiRule["field"]
export type Operator = ApiRule["operator"]

export interface Rule {
  readonly field: Field
  readonly operator: Operator
  /** As it was typed. */
  readonly value: string
}

export interface Group {
  /** `and`: an event must match all rules of the group. `or`: at least one. */
  readonly logic: "and" | "or"
  readonly rules: ReadonlyArray<Rule>
}

export interface Rules {
  readonly isEnabled: boolean
  readonly groups: ReadonlyArray<Group>
}

const texts: ReadonlyArray<readonly [Field, string]> = [
  ["model", "Model"],
  ["provider", "Provider"],
  ["user_id", "User"]
]

const numbers: ReadonlyArray<readonly [Field, string]> = [
  ["total_cost", "Cost in credits"],
  ["total_tokens", "Tokens"],
  ["prompt_tokens", "Input tokens"],
  ["completion_tokens", "Output tokens"]
]

export const fields = [...texts, ...numbers]

const ofBoth: ReadonlyArray<readonly [Operator, string]> = [
  ["equals", "is"],
  ["not_equals", "is not"]
]

const presence: ReadonlyArray<readonly [Operator, string]> = [
  ["exists", "is known"],
  ["not_exists", "is not known"]
]

const ofTexts: ReadonlyArray<readonly [Operator, string]> = [
  ...ofBoth,
  ["contains", "contains"],
  ["not_contains", "does not contain"],
  ["starts_with", "starts with"],
  ["ends_with", "ends with"],
  ...presence
]

const ofNumbers: ReadonlyArray<readonly [Operator, string]> = [
  ["gt", "is more than"],
  ["gte", "is at least"],
  ["lt", "is less than"],
  ["lte", "is at most"],
  ...ofBoth,
  ...presence
]

export const isNumber = (field: Field): boolean => numbers.some(([name]) => name === field)

/** How the values of a field can be compared. */
export const operatorsOf = (field: Field) => (isNumber(field) ? ofNumbers : ofTexts)

export const needsValue = (operator: Operator): boolean => !presence.some(([name]) => name === operator)

/** A rule with another field. Its comparison stays where the field has it. */
export const withField = (rule: Rule, field: Field): Rule => ({
  field,
  operator: operatorsOf(field).find(([name]) => name === rule.operator)?.[0] ?? "equals",
  value: isNumber(field) === isNumber(rule.field) ? rule.value : ""
})

export const newRule: Rule = { field: "model", operator: "equals", value: "" }

export const newGroup: Group = { logic: "and", rules: [newRule] }

const isRecord = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const has = (value: { readonly [name: string]: unknown }, ...names: ReadonlyArray<string>): boolean =>
  Object.keys(value).every((name) => names.includes(name))

const ruleOf = (given: unknown): Rule | undefined => {
  if (!isRecord(given) || !has(given, "field", "operator", "value")) return undefined
  const field = fields.find(([name]) => name === given["field"])?.[0]
  const operator = field && operatorsOf(field).find(([name]) => name === given["operator"])?.[0]
  const { value = "" } = given
  if (field === undefined || operator === undefined) return undefined
  return typeof value === "string" || typeof value === "number" ? { field, operator, value: String(value) } : undefined
}

const groupOf = (given: unknown): Group | undefined => {
  if (!isRecord(given) || !has(given, "logic", "rules") || !Array.isArray(given["rules"])) return undefined
  const { logic = "and" } = given
  const rules = given["rules"].flatMap((rule) => ruleOf(rule) ?? [])
  return (logic === "and" || logic === "or") && rules.length === given["rules"].length ? { logic, rules } : undefined
}

const parse = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The rules that a text of JSON has. Undefined: the form has no fields for them. */
export const rulesOf = (json: string): Rules | undefined => {
  if (json.trim() === "") return { isEnabled: true, groups: [] }
  const given = parse(json)
  if (!isRecord(given) || !has(given, "enabled", "groups") || !Array.isArray(given["groups"])) return undefined
  const { enabled = true } = given
  const groups = given["groups"].flatMap((group) => groupOf(group) ?? [])
  return typeof enabled === "boolean" && groups.length === given["groups"].length
    ? { isEnabled: enabled, groups }
    : undefined
}

const toApi = ({ field, operator, value }: Rule): ApiRule =>
  needsValue(operator)
    ? { field, operator, value: isNumber(field) && value.trim() !== "" ? Number(value) : value }
    : { field, operator }

/** Returns the rules as JSON, or an empty string if there are none. */
export const toJson = ({ groups, isEnabled }: Rules): string => {
  if (groups.length === 0) return ""
  const rules: FilterRules = {
    ...(!isEnabled && { enabled: false }),
    groups: groups.map((group) => ({
      ...(group.logic === "or" && { logic: "or" as const }),
      rules: group.rules.map(toApi)
    }))
  }
  return JSON.stringify(rules, null, 2)
}

const nameOf = <Name extends string>(names: ReadonlyArray<readonly [Name, string]>, name: Name): string =>
  names.find(([each]) => each === name)?.[1] ?? name

const wordsOf = ({ field, operator, value }: Rule): string =>
  [nameOf(fields, field), nameOf(operatorsOf(field), operator), ...(needsValue(operator) ? [value] : [])].join(" ")

/** A group in words: "Model is acme/rerank and Cost in credits is more than 0.1". */
export const groupText = ({ logic, rules }: Group): string => rules.map(wordsOf).join(` ${logic} `)

/** What is wrong with the rules. Undefined: nothing, or only the gateway can say it. */
export const problemOfRules = (json: string): string | undefined => {
  const rules = rulesOf(json)
  if (rules === undefined) return parse(json) === undefined ? "This is not JSON." : undefined
  const all = rules.groups.flatMap((group) => group.rules)
  if (all.some(({ operator, value }) => needsValue(operator) && value.trim() === "")) return "Each rule needs a value."
  return undefined
}
