/**
 * The outermost middleware: gives each request its id, turns every failure into the envelope, holds each operation to its status set, and counts.
 *
 * It is the one place that all answers pass, so that none leaves without an id or outside of its operation's set.
 */
import { Cause, Clock, type Context, Effect, Option } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Envelope from "./Envelope.ts"
import * as Failures from "./Failures.ts"
import { Lifecycle } from "./Lifecycle.ts"
import * as Metrics from "./Metrics.ts"
import * as Operations from "./Operations.ts"
import * as RequestContext from "./RequestContext.ts"

const shuttingDown: Failures.Classified = {
  failure: { status: 503, message: `${Failures.phrases[503]}: the service is stopping` },
  unexpected: false
}

const isClientAbort = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => reason._tag === "Interrupt" && reason.annotations.has(HttpServerError.ClientAbort.key))

/** An answer that is no success: as it is when the handler made an envelope of the operation's set, else made into one. */
const reviewed = (
  operation: Operations.Operation | undefined,
  response: HttpServerResponse.HttpServerResponse
): Failures.Classified => {
  const read = Envelope.read(response)
  if (Option.isSome(read)) return Failures.close(operation, { failure: read.value, unexpected: false })
  // Not one of ours: the router's or the builder's own refusal of a content type or a size.
  const failure: Envelope.Failure =
    response.status === 413
      ? { status: 413, message: Failures.phrases[413] }
      : response.status < 500
        ? {
            status: 400,
            message: `${Failures.phrases[400]}: the content type is not supported`,
            metadata: {
              issues: [{ path: "content-type", message: "Expected a content type that the operation takes" }]
            }
          }
        : { status: 500, message: Failures.phrases[500] }
  return Failures.close(operation, { failure, unexpected: response.status >= 500 })
}

const logged = (
  record: RequestContext.RequestRecord,
  operation: Operations.Operation | undefined,
  what: string
): Effect.Effect<void> =>
  Effect.logError(what).pipe(Effect.annotateLogs({ request_id: record.id, operation: operation?.name ?? "none" }))

const make = Effect.gen(function* () {
  const random = yield* SecureRandom
  const lifecycle = yield* Lifecycle
  // Ids need to be unlike each other, not unguessable: one random part a process and a counter.
  const prefix = `req_${(yield* random.uuidV7()).replaceAll("-", "")}`
  let count = 0

  return <E, R>(
    effect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ): Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    E,
    Exclude<R, RequestContext.RequestContext> | HttpServerRequest.HttpServerRequest
  > =>
    Effect.withFiber((fiber) => {
      const clock = fiber.getRef(Clock.Clock)
      const startedAt = clock.monotonicTimeNanosUnsafe()
      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const chosen = request.headers["x-request-id"]
        const id =
          chosen !== undefined && RequestContext.isSafeId(chosen) ? chosen : `${prefix}${(count++).toString(36)}`
        const record = RequestContext.make(id)

        const finish = (response: HttpServerResponse.HttpServerResponse, context: Context.Context<never>) => {
          const operation = record.endpoint === undefined ? "none" : record.endpoint.identifier
          const nanos = clock.monotonicTimeNanosUnsafe() - startedAt
          Metrics.answeredUnsafe(context, operation, response.status, Number(nanos) / 1e9)
          return Effect.succeed(response)
        }

        const refuse = (classified: Failures.Classified, operation: Operations.Operation | undefined, why: unknown) => {
          const response = finish(Envelope.respond(record, classified.failure), fiber.context)
          return classified.unexpected
            ? Effect.andThen(logged(record, operation, Failures.describe(why)), response)
            : response
        }

        return Effect.matchCauseEffect(Effect.provideService(effect, RequestContext.RequestContext, record), {
          onSuccess: (response) => {
            if (response.status >= 400) {
              const operation = record.endpoint === undefined ? undefined : Operations.of(record.endpoint)
              return refuse(
                reviewed(operation, response),
                operation,
                new Error(`an answer with status ${response.status} and no envelope`)
              )
            }
            record.headers["x-request-id"] = id
            if (lifecycle.isStopping) record.headers["connection"] = "close"
            return finish(HttpServerResponse.setHeaders(response, record.headers), fiber.context)
          },
          onFailure: (cause) => {
            const operation = record.endpoint === undefined ? undefined : Operations.of(record.endpoint)
            if (Cause.hasInterruptsOnly(cause)) {
              return isClientAbort(cause)
                ? Effect.failCause(cause)
                : refuse(Failures.close(operation, shuttingDown), operation, cause)
            }
            const error = Failures.errorOf(cause)
            if (request.method === "OPTIONS") {
              const allow = Operations.allowedMethods(request.url)
              if (allow !== undefined) {
                return finish(
                  HttpServerResponse.empty({ status: 204, headers: { allow, "x-request-id": id } }),
                  fiber.context
                )
              }
            }
            return refuse(Failures.close(operation, Failures.classify(error)), operation, error)
          }
        })
      })
    })
})

/** Serves every route under it. */
export const layer = HttpRouter.middleware<{ provides: RequestContext.RequestContext; handles: unknown }>()(make, {
  global: true
})
