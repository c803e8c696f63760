/**
 * Authenticates the caller and checks whether its kind of key is allowed: implements the contract's
 * three middlewares.
 *
 * They run before everything else of an operation, in the order of the checks: 401, 403, the key's
 * rate limit (429), then the size of the body. Every request that is authenticated counts against
 * the rate limit here, and nowhere else, whatever its answer will be.
 */
import { Authorization, ManagementKey, SpendingKey } from "@model-gateway/core/Authorization"
import { Forbidden, phrases, Unauthorized } from "@model-gateway/core/GatewayError"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import type { RateLimiter } from "effect/persistence/RateLimiter"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { type Caller, CurrentCaller, currentCaller } from "./Caller.ts"
import { KeyStore } from "./KeyStore.ts"
import { BodyAdmission } from "../http/BodyAdmission.ts"
import type { BodyMemory } from "../http/BodyMemory.ts"
import * as ClientAddress from "../http/ClientAddress.ts"
import * as FailedAuthentications from "./FailedAuthentications.ts"
import * as Failures from "../http/Failures.ts"
import * as Operations from "../http/Operations.ts"
import * as RequestBody from "../http/RequestBody.ts"
import { RequestContext } from "../http/RequestContext.ts"

const unauthorized = (message: string) => new Unauthorized({ error: { message } })

const missing = unauthorized(phrases[401])

const notBearer = unauthorized('invalid authentication header: expected "Authorization: Bearer <API_KEY>"')

/**
 * An ephemeral key may be restricted to some operations. An operation without a 403 is always
 * allowed: GET `/key`, which only reports the key's own status.
 */
const isPermitted = ({ ephemeral }: Caller, endpoint: HttpApiEndpoint.Top): boolean =>
  ephemeral === null ||
  ephemeral.operations === null ||
  ephemeral.operations.has(endpoint.identifier) ||
  Operations.of(endpoint)?.errors.has(403) === false

const notPermitted = (operation: string) =>
  new Forbidden({
    error: { message: `${phrases[403]}: this ephemeral key may not call ${operation}` }
  })

/**
 * Counts a request of the caller against the key's rate limit, if its operation has one. Then
 * answers with the refusal, if there is one, or with a 429 above the limit, or guards the body.
 * Both are defects, which the outermost middleware answers like any other error: which operation it
 * is, and thus whether it has the status, is known only at run time.
 */
type Admit = <E, R>(
  endpoint: HttpApiEndpoint.Top,
  caller: Caller,
  refusal: Forbidden | undefined,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

const makeAdmit = Effect.gen(function* () {
  const guard = yield* RequestBody.make
  const { withinRate } = yield* BodyAdmission
  const admit: Admit = (endpoint, { key }, refusal, httpEffect) =>
    Effect.withFiber((fiber) => {
      const counted =
        Operations.of(endpoint)?.isRateLimited === true
          ? withinRate(key.hash, Context.getUnsafe(fiber.context, RequestContext))
          : Effect.void
      // Permission comes before the rate: above the limit too, the answer is the 403.
      return refusal === undefined
        ? Effect.andThen(Effect.orDie(counted), guard(endpoint, key.hash, httpEffect))
        : Effect.andThen(Effect.exit(counted), Effect.die(refusal))
    })
  return admit
})

const makeAuthorization = Effect.gen(function* () {
  const keys = yield* KeyStore
  const admit = yield* makeAdmit
  const { failedAuthentications, trustedProxies } = yield* GatewayServerConfig
  const failed = yield* FailedAuthentications.make(failedAuthentications)
  const addressOf = ClientAddress.make(trustedProxies)
  const authenticate = Effect.fnUntraced(function* (
    credential: Redacted.Redacted<string>,
    request: HttpServerRequest.HttpServerRequest
  ) {
    if (Redacted.value(credential) === "") {
      return yield* request.headers["authorization"] === undefined ? missing : notBearer
    }
    return yield* Effect.catchTag(keys.authenticate(credential), "InvalidKey", ({ message, reason }) =>
      Effect.andThen(
        // A mistyped key is recognized without a lookup. It is not a guess, so it is not delayed.
        reason === "malformed" || reason === "checksum" ? Effect.void : failed(addressOf(request)),
        unauthorized(message)
      )
    )
  }, Failures.orUnavailable)

  return Authorization.of({
    bearer: (httpEffect, { credential, endpoint }) => {
      // The middleware for the kind of key admits the request itself, after its own check.
      const isAdmittedLater = endpoint.middlewares.has(ManagementKey) || endpoint.middlewares.has(SpendingKey)
      return Effect.withFiber((fiber) => {
        const record = Context.getUnsafe(fiber.context, RequestContext)
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        record.endpoint = endpoint
        return Effect.flatMap(authenticate(credential, request), (caller) => {
          record.userId = caller.key.creatorUserId
          const refusal = isPermitted(caller, endpoint) ? undefined : notPermitted(endpoint.identifier)
          return Effect.provideService(
            refusal === undefined && isAdmittedLater ? httpEffect : admit(endpoint, caller, refusal, httpEffect),
            CurrentCaller,
            caller
          )
        })
      })
    }
  })
})

const onlyManagement = new Forbidden({
  error: { message: "only management keys can perform this operation" }
})

const onlySpending = new Forbidden({
  error: { message: "insufficient permissions: a management key cannot spend. Use an ordinary key." }
})

/** Admits the requests of the callers that may make them. */
const permit =
  (admit: Admit, may: (caller: Caller) => boolean, refusal: Forbidden) =>
  <E, R>(
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
    Effect.flatMap(currentCaller, (caller) => admit(endpoint, caller, may(caller) ? undefined : refusal, httpEffect))

/** The three middlewares, over the key store. */
export const layer: Layer.Layer<
  Authorization | ManagementKey | SpendingKey,
  never,
  KeyStore | RateLimiter | BodyAdmission | BodyMemory
> = Layer.mergeAll(
  Layer.effect(Authorization, makeAuthorization),
  Layer.effect(
    ManagementKey,
    Effect.map(makeAdmit, (admit) => permit(admit, ({ key }) => key.isManagement, onlyManagement))
  ),
  Layer.effect(
    SpendingKey,
    Effect.map(makeAdmit, (admit) => permit(admit, ({ key }) => !key.isManagement, onlySpending))
  )
)
