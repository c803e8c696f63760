/**
 * Authenticates the caller and checks whether its kind of key is allowed: implements the contract's
 * three middlewares.
 *
 * They run before everything else of an operation, in the order of the checks: 401, 403, then the
 * size of the body.
 */
import { Authorization, Caller, ManagementKey, SpendingKey } from "@model-gateway/core/Authorization"
import { Forbidden, phrases, Unauthorized } from "@model-gateway/core/GatewayError"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Accounting } from "../accounting/Accounting.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import type * as Key from "./Key.ts"
import { KeyStore } from "./KeyStore.ts"
import { RateLimits } from "../admission/RateLimits.ts"
import type { BodyMemory } from "../http/BodyMemory.ts"
import * as ClientAddress from "../http/ClientAddress.ts"
import * as FailedAuthentications from "./FailedAuthentications.ts"
import * as Failures from "../http/Failures.ts"
import * as RequestBody from "../http/RequestBody.ts"
import { RequestContext } from "../http/RequestContext.ts"

const unauthorized = (message: string) => new Unauthorized({ error: { message } })

const missing = unauthorized(phrases[401])

const notBearer = unauthorized('invalid authentication header: expected "Authorization: Bearer <API_KEY>"')

const toCaller = ({ guardrail, key }: Key.Caller): Caller["Service"] => ({
  keyHash: key.hash,
  organizationId: key.organizationId,
  workspaceId: key.workspaceId,
  userId: key.creatorUserId,
  isManagementKey: key.isManagement,
  guardrailId: guardrail?.id ?? null
})

/**
 * An ephemeral key may be restricted to some operations. GET `/key` is always allowed: it has no
 * 403 and only reports the key's own status.
 */
const isPermitted = ({ ephemeral }: Key.Caller, operation: string): boolean =>
  ephemeral === null ||
  ephemeral.operations === null ||
  ephemeral.operations.has(operation) ||
  operation === "currentKey"

const notPermitted = (operation: string) =>
  new Forbidden({
    error: { message: `${phrases[403]}: this ephemeral key may not call ${operation}` }
  })

const makeAuthorization = Effect.gen(function* () {
  const keys = yield* KeyStore
  const guard = yield* RequestBody.make
  const failed = FailedAuthentications.make(yield* RateLimits)
  const addressOf = ClientAddress.make((yield* GatewayServerConfig).trustedProxies)
  // One `Caller` per key record: the key store's cache returns the same record for a while.
  const callers = new WeakMap<Key.Caller, Caller["Service"]>()

  const callerOf = (found: Key.Caller): Caller["Service"] => {
    const known = callers.get(found)
    if (known !== undefined) return known
    const made = toCaller(found)
    callers.set(found, made)
    return made
  }

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
      const guarded =
        endpoint.middlewares.has(ManagementKey) || endpoint.middlewares.has(SpendingKey)
          ? httpEffect
          : guard(endpoint, httpEffect)
      return Effect.withFiber((fiber) => {
        const record = Context.getUnsafe(fiber.context, RequestContext)
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        record.endpoint = endpoint
        return Effect.flatMap(authenticate(credential, request), (found) => {
          record.caller = found
          if (!isPermitted(found, endpoint.identifier)) return Effect.die(notPermitted(endpoint.identifier))
          return Effect.provideService(guarded, Caller, callerOf(found))
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

const permit = <A, E, R>(
  may: (caller: Caller["Service"]) => boolean,
  refusal: Forbidden,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | Forbidden, R | Caller> =>
  Effect.flatMap(Caller, (caller): Effect.Effect<A, E | Forbidden, R> => (may(caller) ? effect : Effect.fail(refusal)))

/** The three middlewares, over the key store. */
export const layer: Layer.Layer<
  Authorization | ManagementKey | SpendingKey,
  never,
  KeyStore | RateLimits | Accounting | BodyMemory
> = Layer.mergeAll(
  Layer.effect(Authorization, makeAuthorization),
  Layer.effect(
    ManagementKey,
    Effect.map(
      RequestBody.make,
      (guard): ManagementKey["Service"] =>
        (httpEffect, { endpoint }) =>
          permit((caller) => caller.isManagementKey, onlyManagement, guard(endpoint, httpEffect))
    )
  ),
  Layer.effect(
    SpendingKey,
    Effect.map(
      RequestBody.make,
      (guard): SpendingKey["Service"] =>
        (httpEffect, { endpoint }) =>
          permit((caller) => !caller.isManagementKey, onlySpending, guard(endpoint, httpEffect))
    )
  )
)
