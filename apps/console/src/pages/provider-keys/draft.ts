/** The fields of a provider key as texts of a form, and as the API takes them. */
import type { Item, Payload } from "../../api/Contract.ts"

export type ProviderKey = Item<"GET /byok">

/** When a provider key is used beside the gateway's own. */
export type Use = "first" | "fallback" | "required" | "only"

export const uses: ReadonlyArray<readonly [Use, string]> = [
  ["first", "Before the gateway's own key"],
  ["fallback", "After the gateway's own key"],
  ["required", "Instead of it, for the models of this key"],
  ["only", "Instead of it, for all models of the provider"]
]

export const useOf = ({ is_byok_only, is_fallback, is_required }: ProviderKey): Use =>
  is_byok_only ? "only" : is_required ? "required" : is_fallback ? "fallback" : "first"

export interface Draft {
  readonly provider: string
  readonly secret: string
  readonly name: string
  readonly use: Use
  /** The ids of models. Empty: all. */
  readonly models: ReadonlyArray<string>
  /** The hashes of keys. Empty: all. */
  readonly keys: ReadonlyArray<string>
  /** One a line. Empty: all. */
  readonly users: string
  /** What the owner says of the account. */
  readonly zdr: "" | "yes" | "no"
}

export const emptyDraft: Draft = {
  provider: "",
  secret: "",
  name: "",
  use: "first",
  models: [],
  keys: [],
  users: "",
  zdr: ""
}

export const draftOf = (key: ProviderKey): Draft => ({
  provider: key.provider,
  secret: "",
  name: key.name ?? "",
  use: useOf(key),
  models: key.allowed_models ?? [],
  keys: key.allowed_api_key_hashes ?? [],
  users: key.allowed_user_ids?.join("\n") ?? "",
  zdr: key.declared_zdr === null ? "" : key.declared_zdr ? "yes" : "no"
})

const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

const orNull = (list: ReadonlyArray<string>): ReadonlyArray<string> | null => (list.length === 0 ? null : list)

/** As a change. An empty secret stays as it is. */
export const fieldsOf = (draft: Draft): Payload<"PATCH /byok/:id"> => ({
  ...(draft.secret.trim() !== "" && { key: draft.secret.trim() }),
  name: draft.name.trim() === "" ? null : draft.name.trim(),
  is_fallback: draft.use === "fallback",
  is_required: draft.use === "required",
  is_byok_only: draft.use === "only",
  declared_zdr: draft.zdr === "" ? null : draft.zdr === "yes",
  allowed_models: orNull(draft.models),
  allowed_api_key_hashes: orNull(draft.keys),
  allowed_user_ids: orNull(linesOf(draft.users))
})
