/** The checks of admission that come before a request's body is read. Admission implements them. */
import type { PaymentRequired, TooManyRequests } from "@model-gateway/core/GatewayError"
import { Context, type Effect } from "effect"
import type { RequestRecord } from "./RequestContext.ts"

/** The checks. */
export class BodyAdmission extends Context.Service<
  BodyAdmission,
  {
    /**
     * Counts the request against its key's rate limit. Authorization calls it, and nothing else, so
     * that no request counts twice.
     */
    readonly withinRate: (keyHash: string, record: RequestRecord) => Effect.Effect<void, TooManyRequests>
    /**
     * For a large body: fails if the caller's key, its guardrail or its workspace has nothing left
     * to spend, unless an earlier request has used the `Idempotency-Key`.
     */
    readonly notExhausted: (idempotencyKey: string | undefined) => Effect.Effect<void, PaymentRequired>
  }
>()("@model-gateway/server/http/BodyAdmission") {}
