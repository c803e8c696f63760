/** `/byok`: the provider keys that callers store. */
import type * as Byok from "@model-gateway/core/Byok"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import * as KeyCheck from "@model-gateway/offers/KeyCheck"
import { Clock, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import {
  InvalidProviderKey,
  type ProviderKey,
  ProviderKeyNotFound,
  ProviderKeys,
  type UpdateProviderKey
} from "../access/ProviderKeys.ts"
import { ProviderKeyUse } from "../access/ProviderKeyUse.ts"
import * as Permission from "../access/Permission.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Audited from "../audit/Audited.ts"
import * as RequestServices from "../http/RequestServices.ts"
import { invalid } from "../internal/Issues.ts"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as FileProviders from "../objects/FileProviders.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as Page from "../storage/sql/Page.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"

const toWire = (key: ProviderKey): Byok.ByokKey => ({
  id: key.id,
  provider: key.provider,
  name: key.name,
  label: key.label,
  workspace_id: key.workspaceId,
  disabled: key.disabled,
  is_fallback: key.isFallback,
  is_required: key.isRequired,
  is_byok_only: key.isByokOnly,
  declared_zdr: key.declaredZdr,
  allowed_api_key_hashes: key.allowedKeys,
  allowed_models: key.allowedModels,
  allowed_user_ids: key.allowedUsers,
  sort_order: key.sortOrder,
  created_at: Timestamp.fromMillis(key.createdAt),
  last_used_at: Timestamp.fromMillisOrNull(key.usedAt),
  last_outcome: key.outcome,
  last_status: key.outcomeStatus
})

/** What the audit log has of a key. That it was used is no change. */
const recorded = ({
  data: { last_outcome: _outcome, last_status: _status, last_used_at: _used, ...shown }
}: {
  readonly data: Byok.ByokKey
}) => shown

const notTried: Byok.TestResult = {
  accepted: null,
  outcome: "NotTried",
  status: null,
  message: null,
  model: null,
  duration_ms: 0
}

const fromWire = (request: typeof Byok.UpdateRequest.Type): UpdateProviderKey => ({
  ...(request.key === undefined ? {} : { secret: Redacted.make(request.key) }),
  ...(request.sort_order === undefined ? {} : { sortOrder: request.sort_order }),
  ...(request.name === undefined ? {} : { name: request.name }),
  ...(request.disabled === undefined ? {} : { disabled: request.disabled }),
  ...(request.is_fallback === undefined ? {} : { isFallback: request.is_fallback }),
  ...(request.is_required === undefined ? {} : { isRequired: request.is_required }),
  ...(request.is_byok_only === undefined ? {} : { isByokOnly: request.is_byok_only }),
  ...(request.declared_zdr === undefined ? {} : { declaredZdr: request.declared_zdr }),
  ...(request.allowed_api_key_hashes === undefined ? {} : { allowedKeys: request.allowed_api_key_hashes }),
  ...(request.allowed_models === undefined ? {} : { allowedModels: request.allowed_models }),
  ...(request.allowed_user_ids === undefined ? {} : { allowedUsers: request.allowed_user_ids })
})

const missing = new NotFound({ error: { message: `${phrases[404]}: there is no such provider key` } })

/** Maps the errors of the store to the contract's. */
const mapped = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  orUnavailable(effect).pipe(
    Effect.catchIf(
      (error): error is Extract<typeof error, ProviderKeyNotFound> => error instanceof ProviderKeyNotFound,
      () => Effect.fail(missing)
    ),
    Effect.catchIf(
      (error): error is Extract<typeof error, InvalidProviderKey> => error instanceof InvalidProviderKey,
      ({ message, path }) => Effect.fail(invalid([{ path, message }]))
    )
  )

/** The providers that a key can be stored for: those that do not run in this process. */
const providersOf = ({ all }: ModelCatalog["Service"], apis: FileProviders.FileApis): ReadonlyArray<string> => {
  const providers = all.flatMap(({ offers }) => offers.filter(({ isInProcess }) => isInProcess !== true))
  return [...new Set([...providers.map(({ provider }) => provider), ...FileProviders.namesOf(apis)])].toSorted()
}

const organization = Effect.map(currentCaller, ({ key }) => key.organizationId)

const make = Effect.gen(function* () {
  const keys = yield* ProviderKeys
  const workspaceOf = yield* CallerWorkspace.make
  const audited = yield* Audited.make
  const catalog = yield* ModelCatalog
  const apis = yield* FileProviders.FileProviders
  const used = yield* ProviderKeyUse

  const create = Effect.fnUntraced(function* (request: typeof Byok.CreateRequest.Type) {
    const { id, organizationId } = yield* workspaceOf(request.workspace_id)
    const known = providersOf(catalog, apis())
    if (!known.includes(request.provider)) {
      return yield* invalid([{ path: "provider", message: `Expected one of ${known.join(", ")}` }])
    }
    const created = keys
      .create({
        ...fromWire(request),
        organizationId,
        workspaceId: id,
        provider: request.provider,
        secret: Redacted.make(request.key)
      })
      .pipe(Effect.catchTag("WorkspaceNotFound", () => Effect.fail(CallerWorkspace.notAMember)))
    return { data: toWire(yield* mapped(created)) }
  })

  const list = Effect.fnUntraced(function* (query: Byok.ListOptions) {
    const { id } = yield* workspaceOf(query.workspace_id)
    // A workspace has few keys, so reading them all is cheaper than an index for each filter.
    const all = yield* orUnavailable(keys.list(id))
    const { provider } = query
    const matching = provider === undefined ? all : all.filter((key) => key.provider === provider)
    const { items, totalCount } = Page.ofAll(matching, query)
    return { data: items.map(toWire), total_count: totalCount }
  })

  const find = Effect.fnUntraced(function* (id: string) {
    const key = yield* mapped(keys.get(yield* organization, id))
    yield* Permission.check(key.workspaceId, () => missing)
    return key
  })

  const get = (id: string) => Effect.map(find(id), (key) => ({ data: toWire(key) }))

  const before = (id: string) => Effect.map(get(id), (response) => ({ data: recorded(response) }))

  /** The cheapest offer that the key is for. */
  const offerFor = ({ allowedModels, provider }: ProviderKey) =>
    KeyCheck.cheapest(
      catalog.all
        .flatMap(({ offers }) => offers)
        .filter((offer) => offer.provider === provider && allowedModels?.includes(offer.publicId) !== false)
    )

  const tried = Effect.fnUntraced(function* (key: ProviderKey) {
    const offer = offerFor(key)
    const credential = yield* mapped(keys.credentialOf(key.organizationId, key.id))
    if (offer === undefined || credential === undefined) return notTried
    const start = yield* MonotonicTime.millis
    const { isAccepted, message, outcome, status } = yield* KeyCheck.check(offer, credential)
    used(credential, { at: yield* Clock.currentTimeMillis, outcome, status })
    const result: Byok.TestResult = {
      accepted: isAccepted ?? null,
      outcome,
      status: status ?? null,
      message: message ?? null,
      model: offer.publicId,
      duration_ms: Math.round((yield* MonotonicTime.millis) - start)
    }
    return result
  })

  const test = Effect.fnUntraced(function* (id: string) {
    const data = yield* tried(yield* find(id))
    // The transaction of the record must not wait for the provider.
    return yield* audited({ kind: "provider_key", id }, Effect.succeed({ data }))
  })

  const update = Effect.fnUntraced(function* (id: string, request: typeof Byok.UpdateRequest.Type) {
    return { data: toWire(yield* mapped(keys.update(yield* organization, id, fromWire(request)))) }
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    yield* mapped(keys.remove(yield* organization, id))
    return { deleted: true as const }
  })

  return { audited, before, create, list, get, update, remove, test }
})

/** UUIDs are case-insensitive. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `byok` group of the contract. */
export const layer = RequestServices.group(make, (byok) =>
  HttpApiBuilder.group(GatewayApi, "byok", (handlers) =>
    handlers
      .handle("createByokKey", ({ payload }) =>
        byok.audited({ kind: "provider_key", after: recorded }, byok.create(payload))
      )
      .handle("listByokKeys", ({ query }) => byok.list(query))
      .handle("getByokKey", ({ params }) => byok.get(idOf(params)))
      .handle("updateByokKey", ({ params, payload }) =>
        byok.audited(
          { kind: "provider_key", before: byok.before(idOf(params)), after: recorded },
          byok.update(idOf(params), payload)
        )
      )
      .handle("deleteByokKey", ({ params }) =>
        byok.audited({ kind: "provider_key", before: byok.before(idOf(params)) }, byok.remove(idOf(params)))
      )
      .handle("testByokKey", ({ params }) => byok.test(idOf(params)))
  )
)
