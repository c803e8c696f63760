/**
 * Authenticates the caller, checks whether its key may call the operation, and counts the request
 * against the key's rate limit: 401, 403, 429 in this order, before everything else of an
 * operation. Every request that is authenticated counts here, and nowhere else, whatever its answer
 * will be.
 */
import { Authorization } from "@model-gateway/core/unstable/Authorization"
import { Forbidden, phrases, Unauthorized } from "@model-gateway/core/GatewayError"
import type { Access } from "@model-gateway/core/Operation"
import { Clock, Context, Effect, type Fiber, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import type { RateLimiter } from "effect/persistence/RateLimiter"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as ClientAddress from "../http/ClientAddress.ts"
import * as Routes from "../http/Routes.ts"
import { RequestContext, type RequestRecord } from "../http/RequestContext.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type Caller, CurrentCaller } from "./Caller.ts"
import type { InvalidKey } from "./InvalidKey.ts"
import * as FailedAuthentications from "./FailedAuthentications.ts"
import * as KeyFormat from "./KeyFormat.ts"
import { KeyStore } from "./KeyStore.ts"
import * as ManagementActor from "./ManagementActor.ts"
import { RateLimits } from "./RateLimits.ts"
import * as Permission from "./Permission.ts"
import * as RequestRate from "./RequestRate.ts"
import * as SignedIn from "./SignedIn.ts"
import { type BootstrapOptions, WorkspaceStore } from "./WorkspaceStore.ts"

const unauthorized = (message: string) => new Unauthorized({ error: { message } })

const missing = unauthorized(phrases[401])

const notBearer = unauthorized('invalid authentication header: expected "Authorization: Bearer <API_KEY>"')

const onlyManagement = new Forbidden({
  error: { message: "only management keys can perform this operation" }
})

const onlySpending = new Forbidden({
  error: { message: "insufficient permissions: a management key cannot spend. Use an ordinary key." }
})

const notPermitted = (operation: string) =>
  new Forbidden({
    error: { message: `${phrases[403]}: this ephemeral key may not call ${operation}` }
  })

const wrongKind: { readonly [Who in Access]: (caller: Caller) => Forbidden | undefined } = {
  "any key": () => undefined,
  "ordinary key": ({ key }) => (key.isManagement ? onlySpending : undefined),
  "management key": ({ key }) => (key.isManagement ? undefined : onlyManagement)
}

/** Why a management key may not call the operation. Other keys have no role. */
const beyondPermission = ({ key }: Caller, operation: Routes.Route): Forbidden | undefined =>
  key.isManagement ? Permission.refusalOf(key, operation) : undefined

/** Why the caller may not call the operation. Undefined: it may. */
const refusalOf = (caller: Caller, operation: Routes.Route | undefined): Forbidden | undefined => {
  if (operation === undefined) return undefined
  const { access, errors, name } = operation
  const permitted = caller.ephemeral?.operations ?? null
  // An operation without a 403 is always allowed: GET `/key`, which only reports the key's status.
  return permitted !== null && !permitted.has(name) && errors.has(403)
    ? notPermitted(name)
    : (wrongKind[access](caller) ?? beyondPermission(caller, operation))
}

/** Why the session, if it is one, may not call the operation now. */
const refusalOfSession = (
  session: SignedIn.SignedIn | undefined,
  operation: Routes.Route | undefined,
  fiber: Fiber.Fiber<unknown, unknown>
): Forbidden | undefined =>
  session === undefined || operation === undefined
    ? undefined
    : SignedIn.refusalOf(session, operation, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())

const make = Effect.gen(function* () {
  const keys = yield* KeyStore
  const count = RequestRate.make(yield* RateLimits)
  const { failedAuthentications, trustedProxies } = yield* GatewayServerConfig
  const failed = yield* FailedAuthentications.make(failedAuthentications)
  const addressOf = ClientAddress.make(trustedProxies)
  /** What answers an invalid key, after the delay of a guess. */
  const refused = (
    { message, owner, reason }: InvalidKey,
    credential: Redacted.Redacted<string>,
    request: HttpServerRequest.HttpServerRequest,
    record: RequestRecord
  ): Effect.Effect<never> => {
    const isKey = reason !== "malformed" && reason !== "checksum"
    // Another text may be a secret of something else.
    if (isKey) record.keyHash = owner?.hash ?? KeyFormat.hashKey(Redacted.value(credential))
    // Only its own organization finds the request, although the key is not valid any more.
    record.caller = owner
    return Effect.andThen(
      // A mistyped key is recognized without a lookup. It is not a guess, so it is not delayed.
      isKey ? failed(addressOf(request)) : Effect.void,
      Effect.die(unauthorized(message))
    )
  }

  const authenticate = (
    credential: Redacted.Redacted<string>,
    request: HttpServerRequest.HttpServerRequest,
    record: RequestRecord
  ): Effect.Effect<Caller> =>
    Redacted.value(credential) === ""
      ? Effect.die(request.headers["authorization"] === undefined ? missing : notBearer)
      : Effect.catchEager(keys.authenticate(credential), (error) =>
          error._tag === "InvalidKey" ? refused(error, credential, request, record) : Effect.die(error)
        )

  return Authorization.of({
    bearer: (httpEffect, { credential, endpoint }) =>
      Effect.withFiber((fiber) => {
        const record = Context.getUnsafe(fiber.context, RequestContext)
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const operation = Routes.of(endpoint)
        record.endpoint = endpoint
        const session = record.session instanceof SignedIn.SignedIn ? record.session : undefined
        const sender =
          session === undefined ? authenticate(credential, request, record) : Effect.succeed(session.caller)
        return Effect.flatMapEager(sender, (caller) => {
          record.caller = caller.key
          record.keyHash = caller.key.hash
          record.userId = caller.key.creatorUserId
          if (operation?.access === "management key") record.address = addressOf(request)
          const refusal = refusalOf(caller, operation) ?? refusalOfSession(session, operation, fiber)
          const counted = operation?.isRateLimited === true ? count(caller.key.hash, record) : Effect.void
          // Permission comes before the rate: above the limit too, the answer is the 403.
          return refusal === undefined
            ? Effect.andThen(Effect.orDie(counted), Effect.provideService(httpEffect, CurrentCaller, caller))
            : Effect.andThen(Effect.exit(counted), Effect.die(refusal))
        })
      })
  })
})

/** Authorization over the key store. */
export const layer: Layer.Layer<Authorization, never, KeyStore | RateLimiter | RateLimits> = Layer.effect(
  Authorization,
  make
)

/**
 * Takes every request for one of the operator, with the permissions of a management key of the
 * first organization, which is created if the database has none. Only for a process that serves no
 * network: who can open the database needs no key.
 */
export const layerOperator = (options?: BootstrapOptions): Layer.Layer<Authorization, StorageError, WorkspaceStore> =>
  Layer.effect(
    Authorization,
    Effect.gen(function* () {
      const { id, organizationId } = yield* (yield* WorkspaceStore).ensureDefault(options)
      const key = ManagementActor.keyOf({
        id: "operator",
        label: "operator",
        organizationId,
        workspaceId: id,
        role: "admin",
        workspaceIds: null,
        since: yield* Clock.currentTimeMillis
      })
      const caller: Caller = { key, guardrail: null, ephemeral: null }
      return Authorization.of({
        bearer: (httpEffect, { endpoint }) =>
          Effect.withFiber((fiber) => {
            const record = Context.getUnsafe(fiber.context, RequestContext)
            record.endpoint = endpoint
            record.keyHash = key.hash
            const refusal = refusalOf(caller, Routes.of(endpoint))
            return refusal === undefined
              ? Effect.provideService(httpEffect, CurrentCaller, caller)
              : Effect.die(refusal)
          })
      })
    })
  )
