/**
 * `/keys`: API keys, managed with a management key. `/keys/ephemeral`: ephemeral keys that an
 * ordinary key creates.
 */
import { Authorization } from "@model-gateway/core/unstable/Authorization"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as Keys from "@model-gateway/core/Keys"
import { Effect, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql/SqlClient"
import { currentCaller } from "../access/Caller.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import * as DerivedKey from "../access/DerivedKey.ts"
import { EphemeralKeys } from "../access/EphemeralKeys.ts"
import type { Key } from "../access/Key.ts"
import * as KeyResponses from "../access/KeyResponses.ts"
import { type KeyFilter, KeyStore } from "../access/KeyStore.ts"
import * as Permission from "../access/Permission.ts"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
import * as Budgets from "../accounting/Budgets.ts"
import { Idempotency } from "../admission/Idempotency.ts"
import * as IdempotentRequest from "../admission/IdempotentRequest.ts"
import * as Audited from "../audit/Audited.ts"
import * as CreditAmount from "../http/CreditAmount.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Change from "../internal/Change.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import type * as Page from "../storage/sql/Page.ts"
import * as EphemeralKeysHandlers from "./EphemeralKeysHandlers.ts"
import {
  checkPermission,
  creatorOf,
  expiryOf,
  found,
  invalidField,
  missing,
  ofFreeTier,
  ofOrdinary,
  ownText
} from "./KeyRequests.ts"

/** What the audit log has of a key: all but what it has used. */
const withoutUse = (key: typeof Keys.Key.Type) =>
  Object.fromEntries(Object.entries(key).filter(([name]) => !/usage|remaining|last_used|^ephemeral_keys$/.test(name)))

const recordOf = (key: Key) =>
  withoutUse(KeyResponses.listedWith(key, Budgets.unused({ ...key, includeByok: key.includeByokInLimit }), null))

/** How long the secret before a rotation is accepted by default. */
const defaultGraceSeconds = 86_400

const cannotChange = invalid(
  [{ path: "hash", message: "Expected the hash of a key that is not ephemeral" }],
  "an ephemeral key has the properties of its parent. Change the parent, or delete the ephemeral key."
)

const withDescendants = (key: typeof Keys.Key.Type, descendants = 0): typeof Keys.Key.Type =>
  key.is_management_key ? key : { ...key, ephemeral_keys: descendants }

/** A new key as it is stored for its `Idempotency-Key`: with the salt of its secret text. */
const Created = Schema.fromJsonString(
  Schema.Struct({
    data: Keys.Key,
    salt: Schema.String
  })
)

const encodeCreated = Schema.encodeSync(Created)

const decodeCreated = Schema.decodeSync(Created)

/** The answer of a rotation as it is stored: with the salt of the secret text, and its hash. */
const Rotated = Schema.fromJsonString(
  Schema.Struct({
    data: Keys.Key,
    salt: Schema.String,
    secretHash: Schema.String,
    previous_expires_at: Schema.NullOr(Schema.String)
  })
)

const encodeRotated = Schema.encodeSync(Rotated)

const decodeRotated = Schema.decodeSync(Rotated)

const ofOtherSecret = invalidField(
  "idempotency-key",
  "Expected the secret of this key that the first request was sent with: only with it can the secret in the answer be shown again"
)

const ofOtherSignIn = invalidField(
  "idempotency-key",
  "Expected a new value: the first request was not part of this sign-in to the console, so the secret in its answer cannot be shown again. Rotate the key to get another one"
)

/**
 * The secret text in a stored answer. Fails if the caller's key was rotated since, and the request
 * is sent with another secret than the first one, or if it is of another session of the console.
 */
const restored = Effect.fnUntraced(function* (
  token: Redacted.Redacted<string>,
  {
    data,
    salt,
    secretHash
  }: { readonly data: typeof Keys.Key.Type; readonly salt: string; readonly secretHash: string }
) {
  const { hash, key } = yield* DerivedKey.make(token, salt, kindOf(data.is_management_key))
  if (hash === secretHash) return Redacted.value(key)
  const record = yield* RequestContext.current
  return yield* record?.session === undefined ? ofOtherSecret : ofOtherSignIn
})

const kindOf = (isManagement: boolean | undefined) => (isManagement === true ? "management" : "ordinary")

const make = Effect.gen(function* () {
  const services = { idempotency: yield* Idempotency, sql: yield* SqlClient }
  const random = yield* SecureRandom
  const keys = yield* KeyStore
  const ephemerals = yield* EphemeralKeys
  const records = yield* KeyResponses.KeyResponses
  const workspaceOf = yield* CallerWorkspace.make
  const workspaces = yield* WorkspaceStore
  const audited = yield* Audited.make
  const ephemeral = yield* EphemeralKeysHandlers.make

  /** The ids in lower case, once each. The caller must see each of these workspaces. */
  const managedOf = Effect.fnUntraced(function* (caller: Key, ids: typeof Keys.ManagedWorkspaces.Type) {
    if (ids === null) return null
    const wanted = [...new Set(ids.map((id) => id.toLowerCase()))]
    for (const id of wanted) {
      const unknown = invalidField("workspace_ids", `Expected workspaces of this key: it sees none with the id ${id}`)
      if (!Permission.sees(caller, id)) return yield* unknown
      yield* orUnavailable(workspaces.get(caller.organizationId, id)).pipe(
        Effect.catchTag("WorkspaceNotFound", () => Effect.fail(unknown))
      )
    }
    return wanted
  })

  const toWire = Effect.fnUntraced(function* (key: Key) {
    const descendants = yield* ephemerals.counts([key.hash])
    return withDescendants(yield* records.listed(key), descendants.get(key.hash))
  }, orUnavailable)

  const create = Effect.fnUntraced(function* (
    request: typeof Keys.CreateRequest.Type,
    idempotencyKey: string | undefined
  ) {
    const { key: caller } = yield* currentCaller
    const token = yield* HttpApiBuilder.securityDecode(Authorization.security.bearer)
    const workspace = yield* workspaceOf(request.workspace_id)
    const create = Effect.gen(function* () {
      if (request.external?.api_key !== undefined) return yield* ownText
      const workspaceIds = yield* managedOf(caller, request.workspace_ids ?? null)
      if (request.is_management_key === true)
        yield* checkPermission(caller, { role: request.role ?? "admin", workspaceIds })
      else yield* ofOrdinary(request)
      const expiresAt = yield* expiryOf(request.expires_at ?? null)
      const limit = yield* CreditAmount.fromWireOrNull("limit", request.limit ?? null)
      const salt = yield* DerivedKey.salt(random)
      const { key } = yield* orUnavailable(
        keys.create({
          organizationId: caller.organizationId,
          workspaceId: workspace.id,
          name: request.name,
          isManagement: request.is_management_key,
          role: request.role,
          workspaceIds,
          isFreeTier: request.is_free_tier,
          creatorUserId: yield* creatorOf(caller, request.creator_user_id),
          externalUser: request.external?.user,
          expiresAt,
          limit,
          limitReset: request.limit_reset,
          includeByokInLimit: request.include_byok_in_limit,
          generated: yield* DerivedKey.make(token, salt, kindOf(request.is_management_key))
        })
      ).pipe(
        Effect.catchTags({
          ManagementKeyOfFreeTier: ofFreeTier,
          WorkspaceNotFound: () => Effect.fail(CallerWorkspace.notAMember)
        })
      )
      return {
        data: withDescendants(
          KeyResponses.listedWith(key, Budgets.unused({ ...key, includeByok: key.includeByokInLimit }), null)
        ),
        salt
      }
    })
    return yield* IdempotentRequest.onceInTransaction(
      services,
      {
        operation: "createKey",
        idempotencyKey,
        status: 201,
        payload: Effect.succeed([workspace.id, JSON.stringify(request)]),
        encode: encodeCreated,
        restore: (stored) => {
          const { data, salt } = decodeCreated(stored)
          return Effect.map(restored(token, { data, salt, secretHash: data.hash }), (key) =>
            JSON.stringify({ data, key })
          )
        }
      },
      audited({ kind: "key" }, create)
    )
  })

  const listOrdinary = Effect.fnUntraced(function* (filter: KeyFilter, range: Page.OffsetRequest) {
    const page = yield* orUnavailable(keys.list(filter, range))
    const descendants = yield* orUnavailable(ephemerals.counts(page.items.map(({ hash }) => hash)))
    const data = page.items.map((key) =>
      withDescendants(KeyResponses.listedWith(key, key.budget, key.lastUsedDay), descendants.get(key.hash))
    )
    return { data, has_more: page.hasMore, total_count: page.totalCount }
  })

  const list = Effect.fnUntraced(function* ({
    include_disabled: includeDisabled,
    parent_hash,
    search,
    sort,
    workspace_id,
    ...range
  }: Keys.ListOptions) {
    const { key: caller } = yield* currentCaller
    const workspace = workspace_id === undefined ? undefined : yield* workspaceOf(workspace_id)
    const { organizationId } = caller
    if (parent_hash === undefined) {
      const workspaceIds = workspace === undefined ? yield* Permission.callerWorkspaces : [workspace.id]
      return yield* listOrdinary({ organizationId, workspaceIds, includeDisabled, search, sort }, range)
    }
    const excluded = Object.entries({ search, sort }).flatMap(([path, value]) =>
      value === undefined ? [] : [{ path, message: "Expected no value together with parent_hash" }]
    )
    if (excluded.length > 0) return yield* invalid(excluded)
    const parent = yield* found(keys, organizationId, parent_hash)
    yield* Permission.check(parent.workspaceId, missing)
    if (workspace !== undefined && parent.workspaceId !== workspace.id) {
      return { data: [], has_more: false, total_count: 0 }
    }
    return yield* ephemeral.list(parent, range)
  })

  const get = Effect.fnUntraced(function* (hash: string) {
    const { organizationId } = (yield* currentCaller).key
    const descendant = yield* ephemeral.find(hash)
    if (descendant === null) {
      const key = yield* found(keys, organizationId, hash)
      yield* Permission.check(key.workspaceId, missing)
      return { data: yield* toWire(key) }
    }
    return { data: yield* ephemeral.toWire(descendant) }
  })

  /** Fails unless the caller sees the key and, if it is a management key, may give what it has. */
  const checkChange = Effect.fnUntraced(function* (caller: Key, key: Key) {
    if (!Permission.sees(caller, key.workspaceId)) return yield* missing()
    if (key.isManagement) yield* checkPermission(caller, key)
  })

  /** The key for the audit log. Whoever may not see it does not change it either. */
  const recorded = Effect.fnUntraced(function* (hash: string) {
    return { data: recordOf(yield* found(keys, (yield* currentCaller).key.organizationId, hash)) }
  })

  const update = Effect.fnUntraced(function* (hash: string, request: typeof Keys.UpdateRequest.Type) {
    const { key: caller } = yield* currentCaller
    if ((yield* ephemeral.find(hash)) !== null) return yield* cannotChange
    const { workspace_ids } = request
    const workspaceIds = workspace_ids === undefined ? undefined : yield* managedOf(caller, workspace_ids)
    const change = {
      name: request.name,
      disabled: request.disabled,
      role: request.role,
      workspaceIds,
      isFreeTier: request.is_free_tier,
      limitReset: request.limit_reset,
      includeByokInLimit: request.include_byok_in_limit,
      limit: request.limit === undefined ? undefined : yield* CreditAmount.fromWireOrNull("limit", request.limit),
      expiresAt: request.expires_at === undefined ? undefined : yield* expiryOf(request.expires_at)
    }
    const check = Effect.fnUntraced(function* (before: Key) {
      yield* checkChange(caller, before)
      if (before.isManagement)
        yield* checkPermission(caller, Change.apply(before, { role: request.role, workspaceIds }))
      else yield* ofOrdinary(request)
    })
    const key = yield* audited(
      { kind: "key", before: recorded(hash), after: recordOf },
      orUnavailable(keys.update(caller.organizationId, hash, change, check)).pipe(
        Effect.catchTags({ KeyNotFound: () => Effect.fail(missing()), ManagementKeyOfFreeTier: ofFreeTier })
      )
    )
    return { data: yield* toWire(key) }
  })

  const rotate = Effect.fnUntraced(function* (
    hash: string,
    { grace_seconds = defaultGraceSeconds }: typeof Keys.RotateRequest.Type,
    idempotencyKey: string | undefined
  ) {
    const { key: caller } = yield* currentCaller
    const token = yield* HttpApiBuilder.securityDecode(Authorization.security.bearer)
    const rotated = Effect.gen(function* () {
      const { isManagement } = yield* found(keys, caller.organizationId, hash)
      const salt = yield* DerivedKey.salt(random)
      const generated = yield* DerivedKey.make(token, salt, kindOf(isManagement))
      const { key, previousEndsAt } = yield* orUnavailable(
        keys.rotate(caller.organizationId, hash, { grace: grace_seconds * 1000, generated }, (key) =>
          checkChange(caller, key)
        )
      ).pipe(Effect.catchTag("KeyNotFound", () => Effect.fail(missing())))
      return {
        data: yield* toWire(key),
        salt,
        secretHash: generated.hash,
        previous_expires_at: Timestamp.fromMillisOrNull(previousEndsAt)
      }
    })
    const after = ({ data, previous_expires_at }: Effect.Success<typeof rotated>) => ({
      ...withoutUse(data),
      grace_seconds,
      previous_expires_at
    })
    return yield* IdempotentRequest.onceInTransaction(
      services,
      {
        operation: "rotateKey",
        idempotencyKey,
        payload: Effect.succeed([hash, String(grace_seconds)]),
        encode: encodeRotated,
        restore: (encoded) => {
          const stored = decodeRotated(encoded)
          const { data, previous_expires_at } = stored
          return Effect.map(restored(token, stored), (key) => JSON.stringify({ data, key, previous_expires_at }))
        }
      },
      Effect.gen(function* () {
        if ((yield* ephemeral.find(hash)) !== null) return yield* cannotChange
        return yield* audited({ kind: "key", before: recorded(hash), after }, rotated)
      })
    )
  })

  const remove = Effect.fnUntraced(function* (hash: string) {
    const { key: caller } = yield* currentCaller
    const { organizationId } = caller
    const descendant = yield* ephemeral.find(hash)
    const before =
      descendant === null ? recorded(hash) : Effect.succeed({ data: { hash, parent_hash: descendant.parent.hash } })
    yield* audited(
      { kind: "key", before },
      Effect.gen(function* () {
        if (yield* orUnavailable(ephemerals.remove(organizationId, hash))) return
        yield* orUnavailable(keys.remove(organizationId, hash, (key) => checkChange(caller, key))).pipe(
          Effect.catchTag("KeyNotFound", () => Effect.fail(missing()))
        )
      })
    )
    return { deleted: true as const }
  })

  return { ephemeral, create, list, get, update, rotate, remove }
})

/** The `keys` group of the contract. */
export const layer = RequestServices.group(make, (keys) =>
  HttpApiBuilder.group(GatewayApi, "keys", (handlers) =>
    handlers
      .handle("createKey", ({ headers, payload }) => keys.create(payload, headers["idempotency-key"]))
      .handle("createEphemeralKey", ({ payload }) =>
        Effect.flatMap(keys.ephemeral.callerKey, (key) => keys.ephemeral.create(key, payload))
      )
      .handle("createEphemeralKeyFor", ({ params, payload }) => keys.ephemeral.createFor(params.hash, payload))
      .handle("listKeys", ({ query }) => keys.list(query))
      .handle("getKey", ({ params }) => keys.get(params.hash))
      .handle("updateKey", ({ params, payload }) => keys.update(params.hash, payload))
      .handle("rotateKey", ({ headers, params, payload }) =>
        keys.rotate(params.hash, payload ?? {}, headers["idempotency-key"])
      )
      .handle("deleteKey", ({ params }) => keys.remove(params.hash))
  )
)
