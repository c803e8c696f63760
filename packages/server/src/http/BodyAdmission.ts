/** The checks that can make it unnecessary to read a large body. Admission implements them. */
import type { PaymentRequired, TooManyRequests } from "@model-gateway/core/GatewayError"
import { Context, type Effect } from "effect"
import type { RequestContext } from "./RequestContext.ts"

/** The checks, for the caller of the current request. */
export class BodyAdmission extends Context.Service<
  BodyAdmission,
  {
    /** Counts the request against its key's rate limit, once for each request. */
    readonly withinRate: Effect.Effect<void, TooManyRequests, RequestContext>
    /**
     * Fails if the key, its guardrail or its workspace has nothing left to spend, unless an earlier
     * request has used the `Idempotency-Key`.
     */
    readonly notExhausted: (idempotencyKey: string | undefined) => Effect.Effect<void, PaymentRequired>
  }
>()("@model-gateway/server/http/BodyAdmission") {}
