/** What a guardrail forbids, as the gateway decides it. */

/** The lists of a guardrail. Null: none. */
export interface Restriction {
  readonly allowed_models: ReadonlyArray<string> | null
  readonly ignored_models: ReadonlyArray<string> | null
  readonly allowed_providers: ReadonlyArray<string> | null
  readonly ignored_providers: ReadonlyArray<string> | null
}

/** A key without a guardrail. */
export const unrestricted: Restriction = {
  allowed_models: null,
  ignored_models: null,
  allowed_providers: null,
  ignored_providers: null
}

/** Whether an entry, which may be a prefix such as `cohere/*`, stands for a model. */
export const matches = (entry: string, model: string): boolean =>
  entry.endsWith("/*") ? model.startsWith(entry.slice(0, -1)) : entry === model

export const forbidsModel = ({ allowed_models, ignored_models }: Restriction, model: string): boolean =>
  (allowed_models !== null && !allowed_models.some((entry) => matches(entry, model))) ||
  (ignored_models ?? []).some((entry) => matches(entry, model))

export const forbidsProvider = ({ allowed_providers, ignored_providers }: Restriction, provider: string): boolean =>
  (allowed_providers !== null && !allowed_providers.includes(provider)) || (ignored_providers ?? []).includes(provider)

/** Whether a model may not be used at a provider. */
export const forbids = (restriction: Restriction, model: string, provider: string): boolean =>
  forbidsModel(restriction, model) || forbidsProvider(restriction, provider)
