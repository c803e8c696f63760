/**
 * The metrics of the service, for `/metrics`. Labels are operations, statuses, providers and
 * outcomes, never a key, a workspace or a model.
 */
import { type Context, Effect, Metric } from "effect"

const labeled = <const Labels extends ReadonlyArray<string>, M>(make: (labels: Labels) => M) => {
  const made = new Map<string, M>()
  return (...labels: Labels): M => {
    const key = labels.join("\n")
    let metric = made.get(key)
    if (metric === undefined) {
      metric = make(labels)
      made.set(key, metric)
    }
    return metric
  }
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const requests = labeled<readonly [operation: string, status: string], Metric.Counter<number>>(([operation, status]) =>
  Metric.counter("model_gateway_requests_total", {
    description: "Requests answered, by operation and status",
    attributes: { operation, status },
    incremental: true
  })
)

const durations = labeled<readonly [operation: string], Metric.Histogram<number>>(([operation]) =>
  Metric.histogram("model_gateway_request_duration_seconds", {
    description: "Time from request headers to response headers, by operation",
    attributes: { operation },
    boundaries: seconds
  })
)

const attempts = labeled<readonly [provider: string, outcome: string], Metric.Counter<number>>(([provider, outcome]) =>
  Metric.counter("model_gateway_upstream_attempts_total", {
    description: "Upstream calls, by provider and outcome",
    attributes: { provider, outcome },
    incremental: true
  })
)

const attemptDurations = labeled<readonly [provider: string], Metric.Histogram<number>>(([provider]) =>
  Metric.histogram("model_gateway_upstream_attempt_duration_seconds", {
    description: "Duration of upstream calls, by provider",
    attributes: { provider },
    boundaries: seconds
  })
)

const credits = labeled<readonly [operation: string], Metric.Counter<number>>(([operation]) =>
  Metric.counter("model_gateway_micro_credits_spent_total", {
    description: "Micro-credits charged, by operation",
    attributes: { operation },
    incremental: true
  })
)

const overruns = labeled<readonly [operation: string], Metric.Counter<number>>(([operation]) =>
  Metric.counter("model_gateway_overruns_total", {
    description: "Requests that cost more than was reserved for them, by operation",
    attributes: { operation },
    incremental: true
  })
)

const overrunCredits = labeled<readonly [operation: string], Metric.Counter<number>>(([operation]) =>
  Metric.counter("model_gateway_overrun_micro_credits_total", {
    description: "Micro-credits that requests cost beyond what was reserved, by operation",
    attributes: { operation },
    incremental: true
  })
)

const unchargedCredits = labeled<readonly [operation: string], Metric.Counter<number>>(([operation]) =>
  Metric.counter("model_gateway_uncharged_micro_credits_total", {
    description:
      "Micro-credits that requests cost beyond what the limits of their keys allowed to charge, by operation",
    attributes: { operation },
    incremental: true
  })
)

const jobs = labeled<readonly [status: string], Metric.Counter<number>>(([status]) =>
  Metric.counter("model_gateway_video_jobs_total", {
    description: "Video jobs that entered a state, by state",
    attributes: { status },
    incremental: true
  })
)

/** Counts a response. On the hot path, so it is not an Effect. */
export const answeredUnsafe = (
  context: Context.Context<never>,
  operation: string,
  status: number,
  durationSeconds: number
): void => {
  requests(operation, String(status)).updateUnsafe(1, context)
  durations(operation).updateUnsafe(durationSeconds, context)
}

/** Counts an upstream call. `outcome` is `success` or the reason of the failure. */
export const attempted = (provider: string, outcome: string, durationSeconds: number): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      attempts(provider, outcome).updateUnsafe(1, context)
      attemptDurations(provider).updateUnsafe(durationSeconds, context)
    })
  )

/** Counts the micro-credits charged for an operation. */
export const spent = (operation: string, microCredits: number): Effect.Effect<void> =>
  Metric.update(credits(operation), microCredits)

/**
 * Counts a request that cost this many micro-credits more than was reserved for it, of which some
 * could not be charged.
 */
export const overran = (operation: string, microCredits: number, uncharged: number): Effect.Effect<void> =>
  Effect.all(
    [
      Metric.update(overruns(operation), 1),
      Metric.update(overrunCredits(operation), microCredits),
      uncharged > 0 ? Metric.update(unchargedCredits(operation), uncharged) : Effect.void
    ],
    { discard: true }
  )

/** Counts a video job that entered a state. */
export const jobEntered = (status: string): Effect.Effect<void> => Metric.update(jobs(status), 1)

const jobsInWork = Metric.gauge("model_gateway_video_jobs_in_work", {
  description: "Video jobs for which this process waits for an upstream"
})

/** Counts a video job as long as this process works on it. */
export const workingOnVideoJob = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Metric.modify(jobsInWork, 1),
    () => work,
    () => Metric.modify(jobsInWork, -1)
  )

/** The video jobs that this process works on now. */
export const videoJobsInWorkUnsafe = (context: Context.Context<never>): number => jobsInWork.valueUnsafe(context).value

const broadcasts = labeled<readonly [destination: string, outcome: string], Metric.Counter<number>>(
  ([destination, outcome]) =>
    Metric.counter("model_gateway_broadcast_events_total", {
      description: "Events sent to broadcast destinations, by kind of destination and outcome",
      attributes: { destination, outcome },
      incremental: true
    })
)

/**
 * Counts events for a kind of destination. An event that is retried is counted for each failure.
 * One that is set aside cannot be read, or has no form that can be sent.
 */
export const broadcast = (
  destination: string,
  outcome: "delivered" | "dropped" | "retried" | "set_aside",
  events: number
): Effect.Effect<void> => (events === 0 ? Effect.void : Metric.update(broadcasts(destination, outcome), events))

const webhooks = labeled<readonly [outcome: string], Metric.Counter<number>>(([outcome]) =>
  Metric.counter("model_gateway_webhook_attempts_total", {
    description: "Attempts to deliver webhooks, by outcome. Failed: the delivery was given up",
    attributes: { outcome },
    incremental: true
  })
)

/** Counts an attempt to deliver a webhook. */
export const webhook = (outcome: "delivered" | "retried" | "failed"): Effect.Effect<void> =>
  Metric.update(webhooks(outcome), 1)

const waitingWebhooks = Metric.gauge("model_gateway_webhooks_waiting", {
  description: "Webhooks that are neither delivered nor given up, of all processes, at most 10,000"
})

/** Sets the number of webhooks that wait. */
export const webhooksWaiting = (count: number): Effect.Effect<void> => Metric.update(waitingWebhooks, count)

const redisMisses = labeled<readonly [kind: string], Metric.Counter<number>>(([kind]) =>
  Metric.counter("model_gateway_redis_fallbacks_total", {
    description: "Decisions that this process made by itself because Redis did not answer, by kind",
    attributes: { kind },
    incremental: true
  })
)

/** Counts a decision that this process made by itself because Redis did not answer. */
export const redisMissed = (kind: "rate_limit" | "circuit"): Effect.Effect<void> => Metric.update(redisMisses(kind), 1)
