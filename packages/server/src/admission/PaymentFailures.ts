/**
 * The answers to paid requests that cannot be paid for: a 402 if credits or a limit do not suffice,
 * a 429 if the free requests of the day are used up.
 */
import { PaymentRequired, phrases, TooManyRequests } from "@model-gateway/core/GatewayError"
import type { InsufficientCredits } from "../accounting/Accounting.ts"
import type { FreeModelDayUsedUp } from "../accounting/FreeModelDays.ts"

/** The 402 if the workspace, the key or its guardrail has too few credits left. */
export const paymentRequired = ({ message }: InsufficientCredits): PaymentRequired =>
  new PaymentRequired({ error: { message } })

/** The 402 for a key of the free tier that may use no candidate of the model. */
export const notFree = (model: string): PaymentRequired =>
  new PaymentRequired({
    error: {
      message:
        `${phrases[402]}: this key is in the free tier, and the model "${model}" is not free. ` +
        "Use a model whose price is 0 in GET /models, or ask for a key outside the free tier."
    }
  })

/** The 429 if the key has used up its free requests of the day. */
export const freeRequestsUsedUp = ({ message, retryAfter }: FreeModelDayUsedUp): TooManyRequests =>
  new TooManyRequests({ error: { message, metadata: { retry_after: retryAfter } } })
