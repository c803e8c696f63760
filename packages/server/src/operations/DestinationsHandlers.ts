/** `/observability/destinations`: where the events of a workspace are sent. */
import type * as Destinations from "@model-gateway/core/Destinations"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { BadRequest, Issue } from "@model-gateway/core/GatewayError"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import { Clock, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpApiBuilder } from "effect/http-api"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { currentCaller } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import type { Destination, Secrets, Settings, WithDelivery } from "../broadcast/Destination.ts"
import { DestinationNotFound, DestinationStore } from "../broadcast/DestinationStore.ts"
import * as TestEvent from "../broadcast/TestEvent.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Audited from "../audit/Audited.ts"
import * as RequestServices from "../http/RequestServices.ts"
import { invalid } from "../internal/Issues.ts"
import * as OutboundHttp from "../outbound/OutboundHttp.ts"
import * as OutboundUrl from "../outbound/OutboundUrl.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as WebhookSignature from "../outbound/WebhookSignature.ts"
import * as Change from "../internal/Change.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"

/** What responses have in place of a secret. In a request it stands for the present value. */
const mask = "********"

const isMask = (text: string): boolean => /^\*+$/.test(text)

/** Headers that belong to the message, or that the gateway sets itself. */
const reserved =
  /^(host|content-(length|type|encoding)|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|webhook-(id|timestamp|signature))$/i

const configToWire = ({ options, secrets, type }: Destination): Destinations.Destination["config"] => {
  const { headers } = Redacted.value(secrets)
  const masked = Object.fromEntries(Object.keys(headers).map((name) => [name, mask]))
  return type === "webhook"
    ? { url: options.url, method: options.method, headers: masked, signing_secret: mask }
    : { endpoint: options.url, headers: masked }
}

const toWire = (destination: WithDelivery, now: number): Destinations.Destination => {
  const { delivery, options } = destination
  const { waitingSince } = delivery
  return {
    id: destination.id,
    name: destination.name,
    type: destination.type,
    workspace_id: destination.workspaceId,
    enabled: destination.enabled,
    config: configToWire(destination),
    api_key_hashes: options.api_key_hashes,
    broadcast_generation_cost: options.broadcast_generation_cost,
    broadcast_generation_identity: options.broadcast_generation_identity,
    broadcast_generation_request_context: options.broadcast_generation_request_context,
    filter_rules: options.filter_rules,
    privacy_mode: options.privacy_mode,
    regions: ["global"],
    sampling_rate: options.sampling_rate,
    created_at: Timestamp.fromMillis(destination.createdAt),
    updated_at: Timestamp.fromMillis(destination.updatedAt),
    delivery: {
      last_delivered_at: Timestamp.fromMillisOrNull(delivery.deliveredAt),
      lag_seconds: waitingSince === null ? 0 : Math.max(0, now - waitingSince) / 1000,
      dropped: delivery.dropped,
      last_error: delivery.error,
      last_error_at: Timestamp.fromMillisOrNull(delivery.errorAt)
    }
  }
}

/** The destination at this time. */
const wired = (destination: WithDelivery) =>
  Effect.map(Clock.currentTimeMillis, (now) => ({ data: toWire(destination, now) }))

/** A destination before its first settings. */
const fresh = {
  name: "",
  enabled: true,
  options: {
    url: "",
    method: "POST",
    api_key_hashes: null,
    broadcast_generation_cost: false,
    broadcast_generation_identity: false,
    broadcast_generation_request_context: false,
    filter_rules: null,
    privacy_mode: false,
    sampling_rate: 1
  },
  secrets: Redacted.make({ headers: {} })
} satisfies Settings

/** Whether both are URLs of one origin. */
const hasSameOrigin = (one: string, other: string): boolean => URL.parse(one)?.origin === URL.parse(other)?.origin

const keptElsewhere: Issue = {
  path: "config.headers",
  message:
    "Expected the values of the headers again, because the destination moves to another origin, which may not be " +
    "meant to get them. {} removes the headers"
}

/**
 * The new headers. One that is masked keeps its present value, but not at another origin: whoever
 * may change a destination could read a value that is sent to an address of their own.
 */
const headersOf = (
  given: Destinations.Config["headers"],
  present: Secrets["headers"],
  isMoved: boolean
): { readonly headers: Secrets["headers"]; readonly issues: ReadonlyArray<Issue> } => {
  if (given === undefined) {
    return { headers: present, issues: isMoved && Object.keys(present).length > 0 ? [keptElsewhere] : [] }
  }
  const headers: Record<string, string> = {}
  const issues: Array<Issue> = []
  for (const [name, value] of Object.entries(given)) {
    const path = `config.headers.${name}`
    const kept = Object.hasOwn(present, name) ? present[name] : undefined
    if (reserved.test(name)) issues.push({ path, message: "Expected a header that the gateway does not set itself" })
    else if (!isMask(value)) headers[name] = value
    else if (kept !== undefined && isMoved) issues.push({ ...keptElsewhere, path })
    else if (kept !== undefined) headers[name] = kept
    else issues.push({ path, message: "Expected a value: the destination has no such header yet" })
  }
  return { headers, issues }
}

/** What the audit log has of a destination. Its endpoint may contain a secret. */
const recorded = ({ data: { config: _config, delivery: _delivery, ...shown } }: Destinations.Response) => shown

const missing = new NotFound({ error: { message: `${phrases[404]}: there is no such destination` } })

const found = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  orUnavailable(
    Effect.catchIf(
      effect,
      (error: E): error is Extract<E, DestinationNotFound> => error instanceof DestinationNotFound,
      () => Effect.fail(missing)
    )
  )

const make = Effect.gen(function* () {
  const store = yield* DestinationStore
  const workspaceOf = yield* CallerWorkspace.make
  const audited = yield* Audited.make
  const random = yield* SecureRandom
  const sendTest = yield* TestEvent.make
  const { outboundExemptHosts } = yield* GatewayServerConfig

  /** The settings after the request. */
  const changed = Effect.fnUntraced(function* (
    type: Destinations.DestinationType,
    present: Settings,
    request: typeof Destinations.UpdateRequest.Type
  ): Effect.fn.Return<Settings, BadRequest> {
    const { config = {}, enabled, name, regions: _regions, ...options } = request
    const field = type === "webhook" ? "url" : "endpoint"
    const url = config[field] ?? present.options.url
    const problem = url === "" ? `Missing: it is required for ${type}` : OutboundUrl.problemOf(url, outboundExemptHosts)
    const secrets = Redacted.value(present.secrets)
    const isMoved = !hasSameOrigin(url, present.options.url)
    const { headers, issues } = headersOf(config.headers, secrets.headers, isMoved)
    const { signing_secret } = config
    const secret = signing_secret === undefined || isMask(signing_secret) ? secrets.signing_secret : signing_secret
    const all = problem === undefined ? issues : [{ path: `config.${field}`, message: problem }, ...issues]
    if (all.length > 0) return yield* invalid(all)
    return {
      name: name ?? present.name,
      enabled: enabled ?? present.enabled,
      options: Change.apply(present.options, { ...options, url, method: config.method }),
      secrets: Redacted.make({
        headers,
        ...(type === "webhook" && secret !== undefined ? { signing_secret: secret } : {})
      })
    }
  })

  const create = Effect.fnUntraced(function* ({
    type,
    workspace_id,
    ...request
  }: typeof Destinations.CreateRequest.Type) {
    const { organizationId, id: workspaceId } = yield* workspaceOf(workspace_id)
    const given = request.config.signing_secret
    const made =
      type === "webhook" && (given === undefined || isMask(given))
        ? Redacted.value(yield* Effect.provideService(WebhookSignature.generate, SecureRandom, random))
        : undefined
    const present =
      made === undefined ? fresh : { ...fresh, secrets: Redacted.make({ headers: {}, signing_secret: made }) }
    const settings = yield* changed(type, present, request)
    const destination = yield* orUnavailable(store.create({ organizationId, workspaceId, type, ...settings })).pipe(
      Effect.catchTag("TooManyDestinations", ({ message }) => Effect.fail(invalid([{ path: "", message }]))),
      Effect.catchTag("WorkspaceNotFound", () => Effect.fail(CallerWorkspace.notAMember))
    )
    return { ...(yield* wired(destination)), ...(made === undefined ? {} : { signing_secret: made }) }
  })

  const list = Effect.fnUntraced(function* (query: Destinations.ListOptions) {
    const workspace = yield* workspaceOf(query.workspace_id)
    const { items, totalCount } = yield* orUnavailable(store.list(workspace.id, query))
    const now = yield* Clock.currentTimeMillis
    return { data: items.map((destination) => toWire(destination, now)), total_count: totalCount }
  })

  const find = Effect.fnUntraced(function* (id: string) {
    const { key } = yield* currentCaller
    const destination = yield* found(store.get(key.organizationId, id))
    yield* Permission.check(destination.workspaceId, () => missing)
    return destination
  })

  const get = (id: string) => Effect.flatMap(find(id), wired)

  const test = Effect.fnUntraced(function* (id: string) {
    const { durationMillis, error, eventId } = yield* sendTest(yield* find(id))
    const result = { accepted: error === null, error, duration_ms: durationMillis, event_id: eventId }
    // The transaction of the record must not wait for the destination.
    return yield* audited({ kind: "destination", id }, Effect.succeed({ data: result }))
  })

  const before = (id: string) => Effect.map(get(id), (response) => ({ data: recorded(response) }))

  const update = Effect.fnUntraced(function* (id: string, request: typeof Destinations.UpdateRequest.Type) {
    const { key } = yield* currentCaller
    const destination = yield* found(
      store.update(key.organizationId, id, (present) => changed(present.type, present, request))
    )
    return yield* wired(destination)
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    const { key } = yield* currentCaller
    yield* found(store.remove(key.organizationId, id))
    return { deleted: true as const }
  })

  return { audited, before, create, list, get, update, remove, test }
})

/** UUIDs are case-insensitive. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `destinations` group of the contract. */
export const layer = RequestServices.group(make, (destinations) =>
  HttpApiBuilder.group(GatewayApi, "destinations", (handlers) =>
    handlers
      .handle("createDestination", ({ payload }) =>
        destinations.audited({ kind: "destination", after: recorded }, destinations.create(payload))
      )
      .handle("listDestinations", ({ query }) => destinations.list(query))
      .handle("getDestination", ({ params }) => destinations.get(idOf(params)))
      .handle("updateDestination", ({ params, payload }) =>
        destinations.audited(
          { kind: "destination", before: destinations.before(idOf(params)), after: recorded },
          destinations.update(idOf(params), payload)
        )
      )
      .handle("deleteDestination", ({ params }) =>
        destinations.audited(
          { kind: "destination", before: destinations.before(idOf(params)) },
          destinations.remove(idOf(params))
        )
      )
      .handle("testDestination", ({ params }) => destinations.test(idOf(params)))
  )
).pipe(Layer.provide([OutboundHttp.layer, OtlpSerialization.layerProtobuf]))
