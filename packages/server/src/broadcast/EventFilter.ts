/** Which events a destination gets: those of its keys, its sample and its filter rules. */
import type { FilterRule } from "@model-gateway/core/Destinations"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { hash } from "node:crypto"
import type { Event } from "../events/Event.ts"
import type { Options } from "./Destination.ts"

type Rule = typeof FilterRule.Type

/** The tokens of an event that went in. A rerank has only input. */
export const inputTokens = ({ type, usage }: Event): number | undefined =>
  usage["input_tokens"] ?? (type.startsWith("rerank.") ? usage["total_tokens"] : undefined)

/** The tokens of an event that came out. */
export const outputTokens = ({ usage }: Event): number | undefined => usage["output_tokens"]

const valueOf = (event: Event, field: Rule["field"]): string | number | undefined => {
  switch (field) {
    case "model":
      return event.model
    case "provider":
      return event.provider ?? undefined
    case "user_id":
      return event.user ?? undefined
    case "total_cost":
      return MicroCredits.toCredits(MicroCredits.make(event.cost_micro))
    case "total_tokens":
      return event.usage["total_tokens"]
    case "prompt_tokens":
      return inputTokens(event)
    case "completion_tokens":
      return outputTokens(event)
  }
}

/** Numbers are compared as numbers, also if the rule has one as text. */
const isEqual = (value: string | number, wanted: string | number): boolean =>
  typeof value === "number" ? value === Number(wanted) : value === String(wanted)

const meets = (event: Event, { field, operator, value: wanted = "" }: Rule): boolean => {
  const value = valueOf(event, field)
  if (operator === "exists") return value !== undefined
  if (operator === "not_exists") return value === undefined
  if (operator === "not_equals") return value === undefined || !isEqual(value, wanted)
  if (operator === "not_contains") return value === undefined || !String(value).includes(String(wanted))
  if (value === undefined) return false
  switch (operator) {
    case "equals":
      return isEqual(value, wanted)
    case "contains":
      return String(value).includes(String(wanted))
    case "starts_with":
      return String(value).startsWith(String(wanted))
    case "ends_with":
      return String(value).endsWith(String(wanted))
    case "gt":
      return Number(value) > Number(wanted)
    case "lt":
      return Number(value) < Number(wanted)
    case "gte":
      return Number(value) >= Number(wanted)
    case "lte":
      return Number(value) <= Number(wanted)
  }
}

const isFiltered = (event: Event, rules: Options["filter_rules"]): boolean => {
  if (rules === null || rules.enabled === false || rules.groups.length === 0) return true
  return rules.groups.some(({ logic, rules }) =>
    logic === "or" ? rules.some((rule) => meets(event, rule)) : rules.every((rule) => meets(event, rule))
  )
}

/** A number from 0 to 1 that depends on the text alone, so that a retry has the same sample. */
const fractionOf = (text: string): number => Number.parseInt(hash("sha256", text, "hex").slice(0, 8), 16) / 2 ** 32

/** Whether the destination gets the event. Events of one trace are sampled together. */
export const accepts = (options: Options, event: Event): boolean => {
  if (options.api_key_hashes !== null && !options.api_key_hashes.includes(event.key_hash)) return false
  if (fractionOf(event.trace?.trace_id ?? event.id) >= options.sampling_rate) return false
  return isFiltered(event, options.filter_rules)
}
