/**
 * `/keys`: API keys, managed with a management key. `/keys/ephemeral`: ephemeral keys that an
 * ordinary key creates.
 */
import { Authorization } from "@model-gateway/core/unstable/Authorization"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { type BadRequest, Forbidden, NotFound, phrases } from "@model-gateway/core/GatewayError"
import * as Keys from "@model-gateway/core/Keys"
import { Clock, Effect, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql/SqlClient"
import { currentCaller } from "../access/Caller.ts"
import * as DerivedKey from "../access/DerivedKey.ts"
import * as Budgets from "../accounting/Budgets.ts"
import { Idempotency } from "../admission/Idempotency.ts"
import * as IdempotentRequest from "../admission/IdempotentRequest.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Audited from "../audit/Audited.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Change from "../internal/Change.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import { type Descendant, EphemeralKeys } from "../access/EphemeralKeys.ts"
import { endOf, type Key } from "../access/Key.ts"
import * as KeyResponses from "../access/KeyResponses.ts"
import { type KeyFilter, KeyStore, type ManagementKeyOfFreeTier } from "../access/KeyStore.ts"
import * as Permission from "../access/Permission.ts"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
import type * as Page from "../storage/sql/Page.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import * as CreditAmount from "../http/CreditAmount.ts"

const invalidField = (path: string, message: string) => invalid([{ path, message }])

/** Parses an expiry time. It must be in the future: creating an expired key is a mistake. */
const expiryOf = Effect.fnUntraced(function* (expiresAt: string | null) {
  if (expiresAt === null) return null
  const millis = yield* Timestamp.toMillis("expires_at", expiresAt)
  if (millis <= (yield* Clock.currentTimeMillis))
    return yield* invalidField("expires_at", "Expected a time in the future")
  return millis
})

const ownText = invalidField("external.api_key", "Expected no key: the service makes the text of every key")

/**
 * The user who creates a key. A management key acts for its user and for nobody else. One without a
 * user may name any: its holder knows the users.
 */
const creatorOf = (
  { creatorUserId }: Key,
  named: string | null | undefined
): Effect.Effect<string | null, BadRequest> =>
  creatorUserId === null
    ? Effect.succeed(named ?? null)
    : named === undefined || named === creatorUserId
      ? Effect.succeed(creatorUserId)
      : Effect.fail(
          invalidField("creator_user_id", "Expected the user of the management key that makes the request, or nothing")
        )

const ofFreeTier = ({ message }: ManagementKeyOfFreeTier) => Effect.fail(invalidField("is_free_tier", message))

/** What a key that is made or changed is to be allowed. */
type Wanted = Pick<typeof Keys.UpdateRequest.Type, "role" | "workspace_ids">

const ofOrdinary = ({ role, workspace_ids }: Wanted): Effect.Effect<void, BadRequest> =>
  role !== undefined
    ? Effect.fail(invalidField("role", "Expected no role: only a management key has one"))
    : workspace_ids === undefined || workspace_ids === null
      ? Effect.void
      : Effect.fail(invalidField("workspace_ids", "Expected nothing: only a management key can have such a list"))

const ofAdmin = invalidField(
  "workspace_ids",
  "Expected null: an admin manages all workspaces. The roles viewer and operator can be restricted to some"
)

const notGiven = new Forbidden({
  error: {
    message: `${phrases[403]}: this key is restricted to some workspaces. A management key that it creates or changes needs some of these in workspace_ids`
  }
})

/** Fails if the caller may not give the permission, or change a management key that has it. */
const checkPermission = (caller: Key, permission: Permission.Permission): Effect.Effect<void, BadRequest | Forbidden> =>
  permission.role === "admin" && permission.workspaceIds !== null
    ? Effect.fail(ofAdmin)
    : Permission.includes(caller, permission)
      ? Effect.void
      : Effect.fail(
          Permission.includesRole(caller.role, permission.role)
            ? notGiven
            : Permission.roleNeeded(permission.role, caller.role)
        )

/** What the audit log has of a key: all but what it has used. */
const withoutUse = (key: typeof Keys.Key.Type) =>
  Object.fromEntries(Object.entries(key).filter(([name]) => !/usage|remaining|last_used|^ephemeral_keys$/.test(name)))

const recordOf = (key: Key) =>
  withoutUse(KeyResponses.listedWith(key, Budgets.unused({ ...key, includeByok: key.includeByokInLimit }), null))

const missing = () => new NotFound({ error: { message: `${phrases[404]}: there is no such key` } })

/** Default and longest lifetime of an ephemeral key, in seconds. */
const maxLifetimeSeconds = 900

/** How long the secret before a rotation is accepted by default. */
const defaultGraceSeconds = 86_400

const cannotCreate = new Forbidden({
  error: {
    message: `${phrases[403]}: an ephemeral key cannot create another. Use its parent key.`
  }
})

const cannotChange = invalid(
  [{ path: "hash", message: "Expected the hash of a key that is not ephemeral" }],
  "an ephemeral key has the properties of its parent. Change the parent, or delete the ephemeral key."
)

const ofParent = (message: string, reason: string) => invalid([{ path: "hash", message }], reason)

const expectedOrdinary = "Expected the hash of an ordinary key"

const notOfEphemeral = ofParent(expectedOrdinary, "an ephemeral key has no ephemeral keys. Name its parent.")

const notOfManagement = ofParent(
  expectedOrdinary,
  "a management key has no ephemeral keys, because it cannot spend. Name an ordinary key."
)

const notUsable = (reason: string) =>
  ofParent("Expected the hash of a key that can be used", `the key cannot be used: ${reason}.`)

const descendantToWire = (
  { ephemeral, parent }: Descendant,
  listedParent: typeof Keys.Key.Type
): typeof Keys.Key.Type => ({
  ...listedParent,
  hash: ephemeral.hash,
  label: ephemeral.label,
  created_at: Timestamp.fromMillis(ephemeral.createdAt),
  updated_at: Timestamp.fromMillis(ephemeral.createdAt),
  expires_at: Timestamp.fromMillis(endOf(ephemeral, parent)),
  parent_hash: parent.hash,
  ...(ephemeral.operations === null ? {} : { operations: [...ephemeral.operations] }),
  own_files: ephemeral.ownFiles
})

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

  const found = (organizationId: string, hash: string) =>
    orUnavailable(keys.get(organizationId, hash)).pipe(Effect.catchTag("KeyNotFound", () => Effect.fail(missing())))

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

  /** The caller's key. Fails with a 403 if it is an ephemeral key. */
  const callerKey = Effect.flatMap(currentCaller, ({ ephemeral, key }) =>
    ephemeral === null ? Effect.succeed(key) : Effect.fail(cannotCreate)
  )

  const createEphemeral = Effect.fnUntraced(function* (key: Key, request: typeof Keys.EphemeralRequest.Type | null) {
    const lifetime = (request?.expires_in ?? maxLifetimeSeconds) * 1000
    const limits = { operations: request?.operations, ownFiles: request?.own_files }
    const created = yield* orUnavailable(ephemerals.create(key, lifetime, limits))
    return { key: created.plain, expires_at: Timestamp.fromMillis(created.ephemeral.expiresAt) }
  })

  /** As {@link createEphemeral}, of a key that the caller sees. */
  const createEphemeralFor = Effect.fnUntraced(function* (
    hash: string,
    request: typeof Keys.EphemeralRequest.Type | null
  ) {
    if ((yield* findEphemeral(hash)) !== null) return yield* notOfEphemeral
    const parent = yield* found((yield* currentCaller).key.organizationId, hash)
    yield* Permission.check(parent.workspaceId, missing)
    if (parent.isManagement) return yield* notOfManagement
    if (parent.disabled) return yield* notUsable("it is disabled")
    const now = yield* Clock.currentTimeMillis
    if (parent.expiresAt !== null && parent.expiresAt <= now) return yield* notUsable("it has expired")
    const { expires_in, operations, own_files } = request ?? {}
    const after = ({ expires_at }: typeof Keys.EphemeralResponse.Type) => ({
      expires_at,
      expires_in,
      operations,
      own_files
    })
    return yield* audited({ kind: "key", id: parent.hash, after }, createEphemeral(parent, request))
  })

  const listOrdinary = Effect.fnUntraced(function* (filter: KeyFilter, range: Page.OffsetRequest) {
    const page = yield* orUnavailable(keys.list(filter, range))
    const descendants = yield* orUnavailable(ephemerals.counts(page.items.map(({ hash }) => hash)))
    const data = page.items.map((key) =>
      withDescendants(KeyResponses.listedWith(key, key.budget, key.lastUsedDay), descendants.get(key.hash))
    )
    return { data, has_more: page.hasMore, total_count: page.totalCount }
  })

  const listDescendants = Effect.fnUntraced(function* (parent: Key, range: Page.OffsetRequest) {
    const page = yield* orUnavailable(ephemerals.list(parent, range))
    const listed = yield* orUnavailable(records.listed(parent))
    return {
      data: page.items.map((one) => descendantToWire(one, listed)),
      has_more: page.hasMore,
      total_count: (yield* orUnavailable(ephemerals.counts([parent.hash]))).get(parent.hash) ?? 0
    }
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
    const parent = yield* found(organizationId, parent_hash)
    yield* Permission.check(parent.workspaceId, missing)
    if (workspace !== undefined && parent.workspaceId !== workspace.id) {
      return { data: [], has_more: false, total_count: 0 }
    }
    return yield* listDescendants(parent, range)
  })

  /**
   * An ephemeral key of a key that the caller sees. Null: the hash is not that of an ephemeral key.
   */
  const findEphemeral = Effect.fnUntraced(function* (hash: string) {
    const descendant = yield* orUnavailable(ephemerals.get((yield* currentCaller).key.organizationId, hash))
    if (descendant !== null) yield* Permission.check(descendant.parent.workspaceId, missing)
    return descendant
  })

  const get = Effect.fnUntraced(function* (hash: string) {
    const { organizationId } = (yield* currentCaller).key
    const descendant = yield* findEphemeral(hash)
    if (descendant === null) {
      const key = yield* found(organizationId, hash)
      yield* Permission.check(key.workspaceId, missing)
      return { data: yield* toWire(key) }
    }
    const { parent } = descendant
    return { data: descendantToWire(descendant, yield* orUnavailable(records.listed(parent))) }
  })

  /** Fails unless the caller sees the key and, if it is a management key, may give what it has. */
  const checkChange = Effect.fnUntraced(function* (caller: Key, key: Key) {
    if (!Permission.sees(caller, key.workspaceId)) return yield* missing()
    if (key.isManagement) yield* checkPermission(caller, key)
  })

  /** The key for the audit log. Whoever may not see it does not change it either. */
  const recorded = Effect.fnUntraced(function* (hash: string) {
    return { data: recordOf(yield* found((yield* currentCaller).key.organizationId, hash)) }
  })

  const update = Effect.fnUntraced(function* (hash: string, request: typeof Keys.UpdateRequest.Type) {
    const { key: caller } = yield* currentCaller
    if ((yield* findEphemeral(hash)) !== null) return yield* cannotChange
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
      const { isManagement } = yield* found(caller.organizationId, hash)
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
        if ((yield* findEphemeral(hash)) !== null) return yield* cannotChange
        return yield* audited({ kind: "key", before: recorded(hash), after }, rotated)
      })
    )
  })

  const remove = Effect.fnUntraced(function* (hash: string) {
    const { key: caller } = yield* currentCaller
    const { organizationId } = caller
    const descendant = yield* findEphemeral(hash)
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

  return { create, createEphemeral, createEphemeralFor, callerKey, list, get, update, rotate, remove }
})

/** The `keys` group of the contract. */
export const layer = RequestServices.group(make, (keys) =>
  HttpApiBuilder.group(GatewayApi, "keys", (handlers) =>
    handlers
      .handle("createKey", ({ headers, payload }) => keys.create(payload, headers["idempotency-key"]))
      .handle("createEphemeralKey", ({ payload }) =>
        Effect.flatMap(keys.callerKey, (key) => keys.createEphemeral(key, payload))
      )
      .handle("createEphemeralKeyFor", ({ params, payload }) => keys.createEphemeralFor(params.hash, payload))
      .handle("listKeys", ({ query }) => keys.list(query))
      .handle("getKey", ({ params }) => keys.get(params.hash))
      .handle("updateKey", ({ params, payload }) => keys.update(params.hash, payload))
      .handle("rotateKey", ({ headers, params, payload }) =>
        keys.rotate(params.hash, payload ?? {}, headers["idempotency-key"])
      )
      .handle("deleteKey", ({ params }) => keys.remove(params.hash))
  )
)
