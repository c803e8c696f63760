/**
 * Says how requests to operations ended: in the log, and failed ones that are not in the usage
 * ledger in the database ({@link RejectedRequests}), so that each can be found by its id.
 *
 * A successful request costs nothing here unless the log has all requests. Failed ones are sampled
 * ({@link FailureSampling}) and written together, once per second, after their answer.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as LogEvent from "../log/LogEvent.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Purge from "../storage/sql/Purge.ts"
import * as FailureSampling from "./FailureSampling.ts"
import { type NewRejectedRequest, type Omission, RejectedRequests } from "./RejectedRequests.ts"

/** A request that was answered, or whose caller disconnected (status 499). */
export interface EndedRequest {
  readonly id: string
  readonly operation: string
  readonly status: number
  readonly durationMs: number
  /** The network address of the caller. */
  readonly address: string
  /** The message of the error, if it contains nothing of a provider's answer. */
  readonly message: string | undefined
  readonly model: string | undefined
  readonly keyHash: string | undefined
  readonly workspaceId: string | undefined
  readonly organizationId: string | undefined
  /** The id of its entry in the usage ledger, if it has one. */
  readonly generationId: string | undefined
}

/** The access log. */
export class AccessLog extends Context.Service<
  AccessLog,
  {
    /** Whether it wants to know of a request that ended with this status. */
    readonly wants: (status: number) => boolean
    readonly ended: (request: EndedRequest) => Effect.Effect<void>
  }
>()("@model-gateway/server/requests/AccessLog") {}

/** The requests that wait to be written. Beyond it, the oldest are lost, as the log says. */
const maxWaiting = 1000

/** The longest message that is stored. */
const maxMessage = 500

const isFailure = (status: number): boolean => status >= 400

const annotationsOf = ({ durationMs, id, ...request }: EndedRequest): Record<string, string | number> => {
  const fields = {
    request_id: id,
    operation: request.operation,
    status: request.status,
    duration_ms: durationMs,
    key_hash: request.keyHash,
    workspace_id: request.workspaceId,
    model: request.model,
    generation_id: request.generationId,
    address: request.address
  }
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  )
}

/** Makes the log. Closing the scope writes what waits. */
export const make = Effect.gen(function* () {
  const store = yield* RejectedRequests
  const random = yield* SecureRandom
  const { accessLog } = yield* GatewayServerConfig
  const sampling = FailureSampling.make(yield* MonotonicTime.millis)
  let waiting: Array<NewRejectedRequest> = []
  let omissions: Array<Omission> = []

  const endMinute = (now: number) => {
    const ended = sampling.next(now)
    if (ended === undefined) return Effect.void
    omissions.push(...ended.omissions)
    return ended.others === 0
      ? Effect.void
      : LogEvent.log("failures_not_recorded", `${ended.others} further failed requests of a minute were not recorded`)
  }

  const lose = () => {
    const lost = waiting.length - maxWaiting
    if (lost <= 0) return Effect.void
    waiting = waiting.slice(lost)
    return LogEvent.log("failures_not_recorded", `${lost} rejected requests were not stored`)
  }

  const flush = Effect.gen(function* () {
    yield* endMinute(yield* MonotonicTime.millis)
    while (waiting.length + omissions.length > 0) {
      const requests = waiting.slice(0, Purge.atOnce)
      const updates = omissions.slice(0, Purge.atOnce)
      yield* store.write(requests, updates)
      waiting = waiting.slice(requests.length)
      omissions = omissions.slice(updates.length)
    }
  }).pipe(
    Effect.catch(({ message }) =>
      Effect.andThen(
        FailureLog.report({
          kind: "rejected requests",
          event: "rejected_requests_not_stored",
          message: `Rejected requests could not be stored: ${message}`
        }),
        Effect.suspend(lose)
      )
    )
  )

  yield* Effect.addFinalizer(() => flush)
  yield* Effect.forkScoped(Effect.repeat(flush, Schedule.spaced("1 second")))

  const write = (request: EndedRequest) => {
    const { durationMs, message, operation, status } = request
    const what = `${operation} ${status} in ${durationMs} ms`
    return LogEvent.log(
      isFailure(status) ? "request_failed" : "request",
      message === undefined ? what : `${what}: ${message}`,
      annotationsOf(request)
    )
  }

  const failed = Effect.fnUntraced(function* (request: EndedRequest) {
    yield* endMinute(yield* MonotonicTime.millis)
    const isKnown = request.workspaceId !== undefined
    const id = yield* random.uuidV7()
    const isTaken = sampling.take({
      source: `${request.keyHash ?? request.address} ${request.status}`,
      isKnown,
      id
    })
    // Before `waiting` is read: the fiber may yield here, and a flush then replaces the list.
    const createdAt = yield* Clock.currentTimeMillis
    if (isTaken && request.generationId === undefined) {
      waiting.push({
        ...request,
        id,
        requestId: request.id,
        createdAt,
        message: request.message?.slice(0, maxMessage),
        omitted: 0
      })
    }
    if (accessLog === "all" || (isTaken && accessLog === "failures")) yield* write(request)
  })

  return AccessLog.of({
    wants: (status) => isFailure(status) || accessLog === "all",
    ended: (request) => (isFailure(request.status) ? failed(request) : write(request))
  })
})

/** The access log over the store in the context, as {@link GatewayServerConfig} says. */
export const layer: Layer.Layer<AccessLog, never, RejectedRequests | SecureRandom> = Layer.effect(AccessLog, make)

/** No access log: the caller is in this process, and sees how its request ended. */
export const layerNone: Layer.Layer<AccessLog> = Layer.succeed(AccessLog, {
  wants: () => false,
  ended: () => Effect.void
})
