/** The names of keys and guardrails by their ids. */
import { useRead } from "../api/hooks.ts"
import { shortId } from "./format.ts"

/**
 * The keys whose names are known: the 1,000 that used most, which is what the API gives at once.
 */
export const useKeys = (enabled = true) =>
  useRead("GET /keys", { query: { limit: 1000, include_disabled: true, sort: "usage" } }, { enabled })

/** The name of a key, or the start of its hash if it is not known, as that of a deleted key. */
export const useKeyName = (enabled = true): ((hash: string) => string) => {
  const { data } = useKeys(enabled)
  const names = new Map(data?.data.map(({ hash, name }) => [hash, name]))
  return (hash) => names.get(hash) ?? shortId(hash)
}

/** The first 100 guardrails, which is what the API gives at once. */
export const useGuardrails = (enabled = true) => useRead("GET /guardrails", { query: { limit: 100 } }, { enabled })

/** The name of a guardrail, or the start of its id if it is not known. */
export const useGuardrailName = (enabled = true): ((id: string) => string) => {
  const { data } = useGuardrails(enabled)
  const names = new Map(data?.data.map(({ id, name }) => [id, name]))
  return (id) => names.get(id) ?? shortId(id)
}
