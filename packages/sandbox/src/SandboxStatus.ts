/**
 * `sandbox/status-<code>`: models that answer with a failure, for testing error handling.
 *
 * There is one for every failure status of every operation that runs a model.
 *
 * @since 0.1.0
 */
import { Duration, Effect } from "effect"
import { retryAfterStatuses } from "@model-gateway/core/GatewayError"
import type { Kind } from "@model-gateway/offers/Offer"
import { ProviderError, Simulated, type SimulatedStatus, simulatedStatuses } from "@model-gateway/offers/ProviderError"

/**
 * The failures that each kind of operation may answer with.
 *
 * @category constants
 * @since 0.1.0
 */
export const statuses: Readonly<Record<Kind, ReadonlyArray<SimulatedStatus>>> = {
  rerank: simulatedStatuses.filter((status) => status !== 504),
  transcription: simulatedStatuses,
  video: [400, 401, 402, 403, 404, 413, 429, 500]
}

/**
 * The model that answers with a status.
 *
 * @example
 * ```ts
 * import { modelId } from "@model-gateway/sandbox/SandboxStatus"
 *
 * modelId(429) // "sandbox/status-429"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const modelId = <Status extends SimulatedStatus>(status: Status): `sandbox/status-${Status}` =>
  `sandbox/status-${status}`

/**
 * Fails with the status.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fail = (status: SimulatedStatus): Effect.Effect<never, ProviderError> =>
  Effect.fail(
    new ProviderError({
      // The wait is short, for people who test their retries.
      reason: new Simulated(retryAfterStatuses.has(status) ? { status, retryAfter: Duration.seconds(1) } : { status })
    })
  )
