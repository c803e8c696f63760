/** A guardrail: which models and providers a key may use and how much it may spend, shared by all keys that hold it. */
import type { MicroCredits } from "../accounting/MicroCredits.ts"
import type { LimitReset } from "../keys/Periods.ts"

/** A guardrail as it is stored. Times are epoch milliseconds, money is micro-credits. */
export interface Guardrail {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  /** What all keys that hold it may spend together in a period; null: no limit. */
  readonly limit: MicroCredits | null
  /** Null: the limit never starts anew. */
  readonly limitReset: LimitReset | null
  /** Null: all models. */
  readonly allowedModels: ReadonlyArray<string> | null
  /** Null: all providers. */
  readonly allowedProviders: ReadonlyArray<string> | null
  readonly createdAt: number
  readonly updatedAt: number
}
