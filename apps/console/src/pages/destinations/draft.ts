/** The fields of a destination as texts of a form, and as the API takes them. */
import type { Item, Payload } from "../../api/Contract.ts"
import type { FilterRules } from "./rules.ts"

export type Destination = Item<"GET /observability/destinations">

export type Type = "otel-collector" | "webhook"

export const types: ReadonlyArray<readonly [Type, string]> = [
  ["otel-collector", "OpenTelemetry collector: traces over OTLP/HTTP"],
  ["webhook", "Webhook: signed JSON"]
]

export interface Draft {
  readonly name: string
  readonly type: Type
  readonly address: string
  readonly method: "POST" | "PUT"
  /** One a line, as `name: value`. */
  readonly headers: string
  readonly secret: string
  readonly rate: string
  /** The hashes of keys. Empty: all. */
  readonly keys: ReadonlyArray<string>
  /** JSON. Empty: none. */
  readonly rules: string
  readonly sendsCost: boolean
  readonly sendsIdentity: boolean
  readonly sendsContext: boolean
}

export const emptyDraft: Draft = {
  name: "",
  type: "otel-collector",
  address: "",
  method: "POST",
  headers: "",
  secret: "",
  rate: "1",
  keys: [],
  rules: "",
  sendsCost: false,
  sendsIdentity: false,
  sendsContext: false
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Where a destination is. */
export const addressOf = ({ config, type }: Destination): string =>
  textOf(type === "webhook" ? config["url"] : config["endpoint"])

const headersOf = (value: unknown): string =>
  Object.entries(value ?? {})
    .map(([name, text]) => `${name}: ${textOf(text)}`)
    .join("\n")

export const draftOf = (destination: Destination): Draft => ({
  name: destination.name ?? "",
  type: destination.type === "webhook" ? "webhook" : "otel-collector",
  address: addressOf(destination),
  method: destination.config["method"] === "PUT" ? "PUT" : "POST",
  headers: headersOf(destination.config["headers"]),
  secret: "",
  rate: String(destination.sampling_rate),
  keys: destination.api_key_hashes ?? [],
  rules: destination.filter_rules === null ? "" : JSON.stringify(destination.filter_rules, null, 2),
  sendsCost: destination.broadcast_generation_cost,
  sendsIdentity: destination.broadcast_generation_identity,
  sendsContext: destination.broadcast_generation_request_context
})

const parsedHeaders = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const colon = line.indexOf(":")
        return colon === -1 ? [line.trim(), ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
      })
  )

type Fields = Payload<"PATCH /observability/destinations/:id">

/** The gateway checks the rules, and says what is wrong with them. */
const parsedRules = (rules: string) => {
  if (rules.trim() === "") return null
  const parsed: unknown = JSON.parse(rules)
  return parsed as FilterRules
}

/** As a change. */
export const fieldsOf = (draft: Draft): Fields => ({
  name: draft.name.trim(),
  config: {
    ...(draft.type === "webhook"
      ? { url: draft.address.trim(), method: draft.method }
      : { endpoint: draft.address.trim() }),
    headers: parsedHeaders(draft.headers),
    ...(draft.type === "webhook" && draft.secret.trim() !== "" && { signing_secret: draft.secret.trim() })
  },
  sampling_rate: Number(draft.rate),
  api_key_hashes: draft.keys.length === 0 ? null : draft.keys,
  filter_rules: parsedRules(draft.rules),
  broadcast_generation_cost: draft.sendsCost,
  broadcast_generation_identity: draft.sendsIdentity,
  broadcast_generation_request_context: draft.sendsContext
})
