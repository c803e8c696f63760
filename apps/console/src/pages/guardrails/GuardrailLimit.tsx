/** How much of its limit a guardrail has used. */
import { Meter } from "../../parts/Meter.tsx"
import type { Guardrail } from "./GuardrailForm.tsx"

export const GuardrailLimit = ({ of }: { readonly of: Guardrail }) =>
  of.limit_usd === null ? (
    <span className="hint">No limit</span>
  ) : (
    <Meter
      label={`Limit of ${of.name}`}
      used={of.limit_usd - (of.limit_remaining ?? of.limit_usd)}
      limit={of.limit_usd}
    />
  )

/** The share of the limit that is used. Without a limit: -1. */
export const usedShare = ({ limit_remaining, limit_usd }: Guardrail): number =>
  limit_usd === null || limit_usd === 0 ? -1 : (limit_usd - (limit_remaining ?? limit_usd)) / limit_usd
