/**
 * The built-in models of the adapters, with their published prices.
 *
 * This is data. Each entry names the public page that its price was taken from, and the day. A
 * settings file overrides any of it.
 *
 * @since 0.1.0
 */
import type { Model } from "./Model.ts"

/**
 * Where a price was published.
 *
 * @since 0.1.0
 */
export interface Source {
  readonly page: string
  /** The day on which the page was read: `2026-11-22`. */
  readonly readOn: string
}

/**
 * A built-in model.
 *
 * @since 0.1.0
 */
export type BuiltIn = Model & {
  /** The name of the adapter. */
  readonly adapter: string
  readonly source: Source
}

/**
 * Every built-in model.
 *
 * @since 0.1.0
 */
export const models: ReadonlyArray<BuiltIn> = [
  {
    adapter: "cohere",
    kind: "rerank",
    publicId: "cohere/rerank-v3.5",
    upstreamId: "rerank-v3.5",
    name: "Cohere Rerank 3.5",
    // 2.00 USD for 1,000 search units.
    pricing: { unit: "search_unit", microCredits: 2000 },
    source: { page: "https://cohere.com/pricing", readOn: "2026-11-21" }
  }
]

/**
 * The built-in models of an adapter.
 *
 * @since 0.1.0
 */
export const of = (adapter: string): ReadonlyArray<BuiltIn> => models.filter((model) => model.adapter === adapter)
