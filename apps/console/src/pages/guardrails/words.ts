/** What a guardrail allows, in words. */
import type { Restriction } from "./restriction.ts"

const some = (entries: ReadonlyArray<string>): string =>
  entries.length <= 2 ? entries.join(", ") : `${entries.slice(0, 2).join(", ")} and ${entries.length - 2} more`

const inWords = (allowed: ReadonlyArray<string> | null, ignored: ReadonlyArray<string> | null): string => {
  const never = ignored ?? []
  if (allowed === null) return never.length === 0 ? "All" : `All but ${some(never)}`
  if (allowed.length === 0) return "None"
  return never.length === 0 ? `Only ${some(allowed)}` : `Only ${some(allowed)}, but not ${some(never)}`
}

/** Its models, such as "Only cohere/*". */
export const modelsInWords = ({ allowed_models, ignored_models }: Restriction): string =>
  inWords(allowed_models, ignored_models)

/** Its providers, such as "All but cohere". */
export const providersInWords = ({ allowed_providers, ignored_providers }: Restriction): string =>
  inWords(allowed_providers, ignored_providers)
