/**
 * The metrics of the service, for `/metrics`. `docs/reference/metrics.md` is made of these
 * declarations.
 *
 * No label has a key, a workspace or a text of a caller: the contract and the catalog bound the
 * number of series. Outcomes and states are in the words of the API and of the log.
 */
import { Status } from "@model-gateway/core/Video"
import { type Context, Effect, Metric, type Scope } from "effect"
import { constVoid } from "effect/Function"
import type * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as MetricFamily from "./MetricFamily.ts"

const { counter, families, gauge, histogram } = MetricFamily.declarations()

/** Every family that the service declares. */
export { families }

/** The labels of all families, and what their values are. */
export const labels: Readonly<Record<string, string>> = {
  credits_left: "`none`, `below_1`, `below_10` or `more`",
  destination: "`otel-collector` or `webhook`",
  kind: "`rate_limit` or `circuit`",
  model:
    "the id of a model in the catalog, such as `cohere/rerank-v3.5`, or the pattern that offers it, such as `tei/*`",
  node: "the version of Node",
  operation: "an operation of the contract, such as `rerank`, or `none` for other paths",
  outcome: "see the family",
  part: "a part of `/readyz`, such as `database`",
  provider: "the provider of an offer, such as `cohere`",
  source: "what could not be read, such as `webhooks`",
  state: "see the family",
  status: "of a response its HTTP status, of a job or a webhook its status in the API",
  storage: "`sqlite` or `postgres`",
  version: "the version of the gateway"
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const requests = counter("model_gateway_requests_total", {
  help: "Requests answered, by operation and status",
  labels: ["operation", "status"]
})

const durations = histogram("model_gateway_request_duration_seconds", {
  help: "Time from request headers to response headers, by operation",
  labels: ["operation"],
  boundaries: seconds
})

const requestsInFlight = gauge("model_gateway_requests_in_flight", {
  help: "Requests without response headers",
  labels: []
})

const attempts = counter("model_gateway_upstream_attempts_total", {
  help: "Calls of providers, by outcome: `Success`, the reason of the failure as in the request log, or `Interrupted`",
  labels: ["provider", "model", "outcome"]
})

const attemptDurations = histogram("model_gateway_upstream_attempt_duration_seconds", {
  help: "Duration of calls of providers",
  labels: ["provider", "model"],
  boundaries: seconds
})

const skips = counter("model_gateway_upstream_skipped_total", {
  help: "Attempts that were skipped: the circuit was open (`CircuitOpen`), or the provider takes no more calls (`Overloaded`)",
  labels: ["provider", "model", "outcome"]
})

const circuitStates = gauge("model_gateway_circuit_state", {
  help: "Circuit of a model at a provider, for the key of the gateway: 0 closed, 1 half open, 2 open. With Redis, all processes share it",
  labels: ["provider", "model"]
})

const circuitChanges = counter("model_gateway_circuit_changes_total", {
  help: "Circuits that this process changed, also of provider keys, by their new state: `open`, `half_open` or `closed`",
  labels: ["provider", "model", "state"]
})

const credits = counter("model_gateway_micro_credits_spent_total", {
  help: "Micro-credits charged, by operation",
  labels: ["operation"]
})

const overruns = counter("model_gateway_overruns_total", {
  help: "Requests that cost more than was reserved for them, by operation",
  labels: ["operation"]
})

const overrunCredits = counter("model_gateway_overrun_micro_credits_total", {
  help: "Micro-credits that requests cost beyond what was reserved, by operation",
  labels: ["operation"]
})

const unchargedCredits = counter("model_gateway_uncharged_micro_credits_total", {
  help: "Micro-credits that requests cost beyond what the limits of their keys allowed to charge, by operation",
  labels: ["operation"]
})

const reservationStates = ["open", "abandoned"] as const

const reservations = gauge("model_gateway_reservations", {
  help: "Reservations, at most 10,000: `open` ones belong to requests and jobs in progress, `abandoned` ones wait for an operator",
  labels: ["state"],
  values: reservationStates,
  scope: "all"
})

const reservedCredits = gauge("model_gateway_reserved_micro_credits", {
  help: "Micro-credits of these reservations",
  labels: ["state"],
  values: reservationStates,
  scope: "all"
})

const oldestReservation = gauge("model_gateway_oldest_request_reservation_seconds", {
  help: "Age of the oldest open reservation of a request that is no video job. Beyond the time limits of requests, the ledger is behind",
  labels: [],
  scope: "all"
})

const creditsLeft = gauge("model_gateway_micro_credits_left", {
  help: "Micro-credits that all workspaces have left and have not reserved, of 10,000 workspaces",
  labels: [],
  scope: "all"
})

/** Groups of workspaces by the credits that they have left. */
export const creditGroups = ["none", "below_1", "below_10", "more"] as const

const workspaces = gauge("model_gateway_workspaces", {
  help: "Workspaces by the credits that they have left, at most 10,000",
  labels: ["credits_left"],
  values: creditGroups,
  scope: "all"
})

const jobs = counter("model_gateway_video_jobs_total", {
  help: "Video jobs that entered a status",
  labels: ["status"],
  values: Status.literals
})

const jobsInWork = gauge("model_gateway_video_jobs_in_work", {
  help: "Video jobs for which this process waits for an upstream",
  labels: []
})

const openJobs = gauge("model_gateway_video_jobs_open", {
  help: "Video jobs that have not ended, at most 10,000",
  labels: [],
  scope: "all"
})

const oldestJob = gauge("model_gateway_video_jobs_oldest_seconds", {
  help: "Age of the video job that expires next",
  labels: [],
  scope: "all"
})

const queueDue = gauge("model_gateway_video_queue_due", {
  help: "Steps of video jobs that are due and that no process works on, at most 10,000",
  labels: [],
  scope: "all"
})

const queueLag = gauge("model_gateway_video_queue_lag_seconds", {
  help: "How long the oldest of these steps has been due",
  labels: [],
  scope: "all"
})

const broadcasts = counter("model_gateway_broadcast_events_total", {
  help: "Events for broadcast destinations: `delivered`, `retried`, `dropped` (given up) or `set_aside` (cannot be sent)",
  labels: ["destination", "outcome"]
})

const broadcastBacklog = gauge("model_gateway_broadcast_backlog_events", {
  help: "Events of all workspaces that the slowest destination of this process has not passed",
  labels: []
})

const broadcastLag = gauge("model_gateway_broadcast_lag_seconds", {
  help: "How long the slowest destination of this process has been trying to send the same events",
  labels: []
})

const webhooks = counter("model_gateway_webhook_attempts_total", {
  help: "Attempts to deliver webhooks, by the status of the delivery after it: `delivered`, `pending` (tried again later) or `failed` (given up)",
  labels: ["status"],
  values: ["delivered", "pending", "failed"]
})

const waitingWebhooks = gauge("model_gateway_webhooks_waiting", {
  help: "Webhooks that are neither delivered nor given up, at most 10,000",
  labels: [],
  scope: "all"
})

const webhookLag = gauge("model_gateway_webhooks_lag_seconds", {
  help: "How long an attempt to deliver a webhook has been due that no process has begun",
  labels: [],
  scope: "all"
})

const redisMisses = counter("model_gateway_redis_fallbacks_total", {
  help: "Decisions that this process made by itself because Redis did not answer",
  labels: ["kind"],
  values: ["rate_limit", "circuit"]
})

const databaseConnections = gauge("model_gateway_database_connections", {
  help: "Connections to Postgres that are `in_use`, and the work that is `waiting` for one",
  labels: ["state"]
})

const maxDatabaseConnections = gauge("model_gateway_database_connections_max", {
  help: "Maximum number of connections to Postgres",
  labels: []
})

const readyParts = gauge("model_gateway_ready", {
  help: "Parts of `/readyz`: 1 if the part works, else 0",
  labels: ["part"]
})

const freeDisk = gauge("model_gateway_disk_free_bytes", {
  help: "Free bytes on the disk of the data folder",
  labels: []
})

const failedSources = counter("model_gateway_metrics_failures_total", {
  help: "Values of this page that could not be read. They keep their last value",
  labels: ["source"]
})

const buildInfo = gauge("model_gateway_build_info", {
  help: "Always 1",
  labels: ["version", "node", "storage"]
})

const workers = gauge("model_gateway_workers", {
  help: "Processes that one scrape shows: 1, or `--workers`. Each that has answered has a `model_gateway_build_info`",
  labels: [],
  scope: "all"
})

/**
 * Creates the series whose labels are known beforehand, so that their first increase is visible.
 */
export const prepareUnsafe = (context: Context.Context<never>): void => {
  for (const family of families) if (family.type !== "gauge") family.prepareUnsafe(context)
  jobsInWork().valueUnsafe(context)
}

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

/** A model at a provider, both from the catalog. */
export interface Offered {
  readonly provider: string
  readonly publicId: string
}

/**
 * Counts a call of a provider. `outcome` is that of the `ProviderAttempt`. On the hot path, so it
 * is not an Effect.
 */
export const attemptedUnsafe = (
  context: Context.Context<never>,
  { provider, publicId }: Offered,
  outcome: string,
  durationSeconds: number
): void => {
  attempts(provider, publicId, outcome).updateUnsafe(1, context)
  attemptDurations(provider, publicId).updateUnsafe(durationSeconds, context)
}

/** Counts an attempt that was skipped. `outcome` is that of the `ProviderAttempt`. */
export const skipped = ({ provider, publicId }: Offered, outcome: string): Effect.Effect<void> =>
  Metric.update(skips(provider, publicId, outcome), 1)

const states = { Closed: ["closed", 0], HalfOpen: ["half_open", 1], Open: ["open", 2] } as const

/** Counts a circuit that this process opened, half opened or closed. */
export const circuitChanged = (
  { provider, publicId }: Offered,
  { to }: CircuitBreaker.Transition
): Effect.Effect<void> => Metric.update(circuitChanges(provider, publicId, states[to][0]), 1)

/** Sets the state of a circuit. */
export const circuitIs = ({ provider, publicId }: Offered, { _tag }: CircuitBreaker.State): Effect.Effect<void> =>
  Metric.update(circuitStates(provider, publicId), states[_tag][1])

/** Counts the micro-credits charged for an operation. */
export const spent = (operation: string, microCredits: number): Effect.Effect<void> =>
  Effect.withFiber(({ context }) => {
    credits(operation).updateUnsafe(microCredits, context)
    return Effect.void
  })

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

/** Counts a video job as long as this process works on it. */
export const workingOnVideoJob = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Metric.modify(jobsInWork(), 1),
    () => work,
    () => Metric.modify(jobsInWork(), -1)
  )

/** The video jobs that this process works on now. */
export const videoJobsInWorkUnsafe = (context: Context.Context<never>): number =>
  jobsInWork().valueUnsafe(context).value

/**
 * Counts events for a kind of destination. An event that is retried is counted for each failure.
 * One that is set aside cannot be read, or has no form that can be sent.
 */
export const broadcast = (
  destination: string,
  outcome: "delivered" | "dropped" | "retried" | "set_aside",
  events: number
): Effect.Effect<void> => (events === 0 ? Effect.void : Metric.update(broadcasts(destination, outcome), events))

/** Counts an attempt to deliver a webhook, by the status of the delivery after it. */
export const webhook = (status: "delivered" | "pending" | "failed"): Effect.Effect<void> =>
  Metric.update(webhooks(status), 1)

/** Counts a decision that this process made by itself because Redis did not answer. */
export const redisMissed = (kind: "rate_limit" | "circuit"): Effect.Effect<void> => Metric.update(redisMisses(kind), 1)

/** Counts a source of `/metrics` that failed. */
export const sourceFailed = (source: string): Effect.Effect<void> => Metric.update(failedSources(source), 1)

/** The number of webhooks that wait, and how long one has been due. */
export const webhooksWaiting = (count: number, lagSeconds: number): Effect.Effect<void> =>
  set([waitingWebhooks(), count], [webhookLag(), lagSeconds])

/** What the destinations of this process have still to send. */
export const broadcastBehind = (events: number, lagSeconds: number): Effect.Effect<void> =>
  set([broadcastBacklog(), events], [broadcastLag(), lagSeconds])

/** The video jobs that have not ended, and the age of the one that expires next. */
export const videoJobsOpen = (count: number, oldestSeconds: number): Effect.Effect<void> =>
  set([openJobs(), count], [oldestJob(), oldestSeconds])

/** The steps of video jobs that are due, and how long the oldest has been. */
export const videoQueue = (due: number, lagSeconds: number): Effect.Effect<void> =>
  set([queueDue(), due], [queueLag(), lagSeconds])

/** The reservations of a state, and the micro-credits that they hold. */
export const reserved = (
  state: (typeof reservationStates)[number],
  count: number,
  microCredits: number
): Effect.Effect<void> => set([reservations(state), count], [reservedCredits(state), microCredits])

/** The age of the oldest open reservation of a request. 0: there is none. */
export const oldestRequestReservation = (ageSeconds: number): Effect.Effect<void> =>
  set([oldestReservation(), ageSeconds])

/** What the workspaces have left, and how many of them have how much. */
export const workspacesHave = (
  microCredits: number,
  counts: Readonly<Record<(typeof creditGroups)[number], number>>
): Effect.Effect<void> =>
  set([creditsLeft(), microCredits], ...creditGroups.map((group) => [workspaces(group), counts[group]] as const))

/** Reads the connections to Postgres when the metrics are read, as long as the scope is open. */
export const observeConnections = (
  max: number,
  read: () => { readonly inUse: number; readonly waiting: number }
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.all(
    [
      observe(databaseConnections("in_use"), () => read().inUse),
      observe(databaseConnections("waiting"), () => read().waiting),
      observe(maxDatabaseConnections(), () => max)
    ],
    { discard: true }
  )

/** Whether a part of `/readyz` works. */
export const partIsReady = (part: string, isReady: boolean): Effect.Effect<void> =>
  set([readyParts(part), isReady ? 1 : 0])

/** The free bytes on the disk of the data folder. */
export const diskFree = (bytes: number): Effect.Effect<void> => set([freeDisk(), bytes])

/** Reads the number of requests without response headers when the metrics are read. */
export const observeRequests = (read: () => number): Effect.Effect<void, never, Scope.Scope> =>
  observe(requestsInFlight(), read)

/** The versions, the kind of database, and the number of processes that one scrape shows. */
export const build = (version: string, node: string, storage: string, processes: number): Effect.Effect<void> =>
  set([buildInfo(version, node, storage), 1], [workers(), processes])

const set = (...values: ReadonlyArray<readonly [Metric.Gauge<number>, number]>): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      for (const [series, value] of values) series.updateUnsafe(value, context)
    })
  )

const observe = (series: Metric.Gauge<number>, read: () => number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() =>
          Metric.registerUnsafe(series, context, {
            get: () => ({ value: read() }),
            update: constVoid,
            modify: constVoid
          })
        ),
        (registration) => Effect.sync(registration.remove)
      )
    )
  )
