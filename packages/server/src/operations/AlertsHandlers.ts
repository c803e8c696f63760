/** `/alerts`: rules that watch the gateway, and when they fired. */
import type * as Alerts from "@model-gateway/core/Alerts"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { type BadRequest, type Issue, NotFound, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import { GuardrailStore } from "../access/GuardrailStore.ts"
import { KeyStore } from "../access/KeyStore.ts"
import * as Permission from "../access/Permission.ts"
import { type Alert, type Firing, messageId, type Settings } from "../alerts/Alert.ts"
import * as AlertMessage from "../alerts/AlertMessage.ts"
import { AlertNotFound, AlertStore } from "../alerts/AlertStore.ts"
import * as Audited from "../audit/Audited.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Paging from "../http/Paging.ts"
import * as RequestServices from "../http/RequestServices.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as OutboundUrl from "../outbound/OutboundUrl.ts"
import * as Page from "../storage/sql/Page.ts"
import { type Delivery, DeliveryStore } from "../webhooks/DeliveryStore.ts"
import * as WebhooksHandlers from "./WebhooksHandlers.ts"

const toWire = (alert: Alert): Alerts.Alert => ({
  ...AlertMessage.watchedOf(alert),
  // The path is the secret of a URL of Slack, and may be that of any other one.
  target: { type: alert.targetType, url: URL.parse(alert.url)?.origin ?? "" },
  enabled: alert.enabled,
  state: alert.firingId === null ? "ok" : "firing",
  state_since: Timestamp.fromMillisOrNull(alert.stateSince),
  last_value: alert.lastValue,
  last_evaluated_at: Timestamp.fromMillisOrNull(alert.evaluatedAt),
  created_at: Timestamp.fromMillis(alert.createdAt),
  updated_at: Timestamp.fromMillis(alert.updatedAt)
})

const deliveryToWire = (delivery: Delivery | undefined): Alerts.FiringDelivery | null =>
  delivery === undefined
    ? null
    : { id: delivery.id, status: delivery.status, error: delivery.attempts.at(-1)?.error ?? null }

const firingToWire = (firing: Firing, deliveries: ReadonlyMap<string, Delivery>): Alerts.Firing => ({
  id: firing.id,
  alert_id: firing.alertId,
  alert_name: firing.alertName,
  kind: firing.kind,
  workspace_id: firing.workspaceId,
  value: firing.value,
  message: firing.message,
  fired_at: Timestamp.fromMillis(firing.createdAt),
  resolved_at: Timestamp.fromMillisOrNull(firing.resolvedAt),
  resolved_reason: firing.resolvedReason,
  fired_delivery: deliveryToWire(deliveries.get(messageId(firing.id, "fired"))),
  resolved_delivery: deliveryToWire(deliveries.get(messageId(firing.id, "resolved")))
})

/** What the audit log has of an alert. */
const recorded = ({ data: { last_evaluated_at: _at, last_value: _value, ...shown } }: Alerts.Response) => shown

/** What a kind takes. */
interface Rule {
  readonly least: number
  readonly most: number
  readonly isWhole?: boolean
  /** The fields that it may have, besides those of all kinds. */
  readonly may: ReadonlyArray<Field>
  /** It needs one of these. */
  readonly needs?: ReadonlyArray<Field>
}

const fields = {
  window_seconds: "windowSeconds",
  min_requests: "minRequests",
  workspace_id: "workspaceId",
  key_hash: "keyHash",
  guardrail_id: "guardrailId",
  model: "model",
  provider: "provider"
} as const satisfies Record<string, keyof Settings>

type Field = keyof typeof fields

const fieldNames = [
  "window_seconds",
  "min_requests",
  "workspace_id",
  "key_hash",
  "guardrail_id",
  "model",
  "provider"
] as const

const rules: Record<Alerts.Kind, Rule> = {
  budget_used: {
    least: 0.01,
    most: 1,
    may: ["workspace_id", "key_hash", "guardrail_id"],
    needs: ["key_hash", "guardrail_id"]
  },
  credits_left: { least: 0, most: 1_000_000_000, may: ["workspace_id"], needs: ["workspace_id"] },
  failed_share: { least: 0.01, most: 1, may: ["window_seconds", "min_requests", "workspace_id", "model"] },
  circuit_open: { least: 0, most: 86_400, isWhole: true, may: ["model", "provider"], needs: ["model"] },
  key_expires: { least: 1, most: 365, may: ["workspace_id", "key_hash"] },
  reservations_abandoned: { least: 1, most: 1000, isWhole: true, may: ["workspace_id"] }
}

const defaults = { windowSeconds: 300, minRequests: 20 }

/** What is wrong with the settings for this kind. */
const issuesOf = (kind: Alerts.Kind, settings: Settings): ReadonlyArray<Issue> => {
  const { isWhole = false, least, may, most, needs = [] } = rules[kind]
  const { threshold } = settings
  const has = (field: Field) => settings[fields[field]] !== null
  const issues: Array<Issue> = []
  if (threshold < least || threshold > most || (isWhole && !Number.isInteger(threshold))) {
    const expected = `Expected a ${isWhole ? "whole number" : "number"} from ${least} to ${most}`
    issues.push({ path: "threshold", message: `${expected}: the kind is ${kind}` })
  }
  for (const field of fieldNames) {
    if (has(field) && !may.includes(field)) {
      issues.push({ path: field, message: `Expected nothing: the kind is ${kind}` })
    }
  }
  const [first] = needs
  const given = needs.filter(has)
  if (first !== undefined && given.length !== 1) {
    const expected = needs.length === 1 ? "Expected a value" : `Expected one of ${needs.join(" and ")}`
    issues.push({ path: given[1] ?? first, message: `${expected}: the kind is ${kind}` })
  }
  return issues
}

const missing = new NotFound({ error: { message: `${phrases[404]}: there is no such alert` } })

const found = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  orUnavailable(
    Effect.catchIf(
      effect,
      (error: E): error is Extract<E, AlertNotFound> => error instanceof AlertNotFound,
      () => Effect.fail(missing)
    )
  )

const make = Effect.gen(function* () {
  const store = yield* AlertStore
  const deliveries = yield* DeliveryStore
  const keys = yield* KeyStore
  const guardrails = yield* GuardrailStore
  const workspaceOf = yield* CallerWorkspace.make
  const audited = yield* Audited.make
  const { outboundExemptHosts } = yield* GatewayServerConfig

  /**
   * Fails unless the key or the guardrail that the alert watches exists in its workspace. Returns
   * the hash that names the key, also for that of a later secret.
   */
  const checkWatched = Effect.fnUntraced(function* ({ guardrailId, keyHash, workspaceId }: Settings) {
    const { organizationId } = (yield* currentCaller).key
    const unknown = (path: string, what: string) =>
      invalid([{ path, message: `Expected a ${what} of the ${workspaceId === null ? "organization" : "workspace"}` }])
    if (keyHash !== null) {
      const key = yield* orUnavailable(keys.get(organizationId, keyHash)).pipe(
        Effect.catchTag("KeyNotFound", () => Effect.fail(unknown("key_hash", "key")))
      )
      if (workspaceId !== null && key.workspaceId !== workspaceId) return yield* unknown("key_hash", "key")
      return key.hash
    }
    if (guardrailId !== null) {
      const guardrail = yield* orUnavailable(guardrails.get(organizationId, guardrailId)).pipe(
        Effect.catchTag("GuardrailNotFound", () => Effect.fail(unknown("guardrail_id", "guardrail")))
      )
      if (workspaceId !== null && guardrail.workspaceId !== workspaceId) {
        return yield* unknown("guardrail_id", "guardrail")
      }
    }
    return null
  })

  /** The settings after the request, which are checked. */
  const changed = Effect.fnUntraced(function* (
    kind: Alerts.Kind,
    present: Settings,
    request: typeof Alerts.UpdateRequest.Type
  ) {
    const valueOf = <A>(given: A | undefined, otherwise: A): A => (given === undefined ? otherwise : given)
    const workspaceId = valueOf(request.workspace_id, present.workspaceId)?.toLowerCase() ?? null
    // Also the default workspace, whose secret signs the messages of all.
    const sender = yield* workspaceOf(workspaceId ?? undefined)
    const url = request.target?.url ?? present.url
    const settings: Settings = {
      workspaceId,
      senderWorkspaceId: sender.id,
      name: request.name ?? present.name,
      threshold: request.threshold ?? present.threshold,
      windowSeconds: request.window_seconds ?? present.windowSeconds,
      minRequests: request.min_requests ?? present.minRequests,
      keyHash: valueOf(request.key_hash, present.keyHash),
      guardrailId: valueOf(request.guardrail_id, present.guardrailId)?.toLowerCase() ?? null,
      model: valueOf(request.model, present.model),
      provider: valueOf(request.provider, present.provider),
      targetType: request.target?.type ?? present.targetType,
      url,
      enabled: request.enabled ?? present.enabled
    }
    const problem = request.target === undefined ? undefined : OutboundUrl.problemOf(url, outboundExemptHosts)
    const issues = [
      ...issuesOf(kind, settings),
      ...(problem === undefined ? [] : [{ path: "target.url", message: problem }])
    ]
    if (issues.length > 0) return yield* invalid(issues)
    return { ...settings, keyHash: yield* checkWatched(settings) }
  })

  const create = Effect.fnUntraced(function* ({ kind, ...request }: typeof Alerts.CreateRequest.Type) {
    const { organizationId } = (yield* currentCaller).key
    const isWindowed = kind === "failed_share"
    const settings = yield* changed(
      kind,
      {
        workspaceId: null,
        senderWorkspaceId: "",
        name: request.name,
        threshold: request.threshold,
        windowSeconds: isWindowed ? defaults.windowSeconds : null,
        minRequests: isWindowed ? defaults.minRequests : null,
        keyHash: null,
        guardrailId: null,
        model: null,
        provider: null,
        targetType: request.target.type,
        url: request.target.url,
        enabled: true
      },
      request
    )
    const alert = yield* orUnavailable(store.create({ ...settings, organizationId, kind })).pipe(
      Effect.catchTags({
        TooManyAlerts: ({ message }): Effect.Effect<never, BadRequest> => Effect.fail(invalid([{ path: "", message }])),
        WorkspaceNotFound: () => Effect.fail(CallerWorkspace.notAMember)
      })
    )
    return { data: toWire(alert) }
  })

  const list = Effect.fnUntraced(function* ({ workspace_id, ...range }: Alerts.ListOptions) {
    const { key } = yield* currentCaller
    const workspace = workspace_id === undefined ? undefined : yield* workspaceOf(workspace_id)
    const all = yield* orUnavailable(store.list(key.organizationId))
    const seen = all.filter((alert) =>
      workspace === undefined ? Permission.sees(key, alert.workspaceId) : alert.workspaceId === workspace.id
    )
    const { items, totalCount } = Page.ofAll(seen, range)
    return { data: items.map(toWire), total_count: totalCount }
  })

  /** An alert that the caller sees. */
  const seen = Effect.fnUntraced(function* (id: string) {
    const alert = yield* found(store.get((yield* currentCaller).key.organizationId, id))
    yield* Permission.check(alert.workspaceId, () => missing)
    return alert
  })

  const get = (id: string) => Effect.map(seen(id), (alert) => ({ data: toWire(alert) }))

  const before = (id: string) => Effect.map(get(id), (response) => ({ data: recorded(response) }))

  const update = Effect.fnUntraced(function* (id: string, request: typeof Alerts.UpdateRequest.Type) {
    const { organizationId } = (yield* currentCaller).key
    const alert = yield* found(store.update(organizationId, id, (present) => changed(present.kind, present, request)))
    return { data: toWire(alert) }
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    yield* found(store.remove((yield* currentCaller).key.organizationId, id))
    return { deleted: true as const }
  })

  const test = Effect.fnUntraced(function* (id: string) {
    const { organizationId } = (yield* currentCaller).key
    const sent = yield* orUnavailable(store.test(yield* seen(id)))
    const delivery = yield* orUnavailable(deliveries.get(organizationId, sent)).pipe(
      Effect.catchTag("DeliveryNotFound", Effect.die)
    )
    return { data: WebhooksHandlers.toWire(delivery) }
  })

  const listFirings = Effect.fnUntraced(function* ({ alert_id, ...page }: Alerts.FiringOptions) {
    const { key } = yield* currentCaller
    const filter = { alertId: alert_id?.toLowerCase(), workspaceIds: key.workspaceIds ?? undefined }
    const { hasMore, items } = yield* Paging.rejectUnknownCursor(
      orUnavailable(store.listFirings(key.organizationId, filter, page))
    )
    const ids = items.flatMap(({ id, resolvedAt }) => [
      messageId(id, "fired"),
      ...(resolvedAt === null ? [] : [messageId(id, "resolved")])
    ])
    const sent = new Map((yield* orUnavailable(deliveries.some(ids))).map((delivery) => [delivery.id, delivery]))
    return { data: items.map((firing) => firingToWire(firing, sent)), has_more: hasMore }
  })

  return { audited, before, create, list, get, update, remove, test, listFirings }
})

/** UUIDs are case-insensitive. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `alerts` group of the contract. */
export const layer = RequestServices.group(make, (alerts) =>
  HttpApiBuilder.group(GatewayApi, "alerts", (handlers) =>
    handlers
      .handle("createAlert", ({ payload }) =>
        alerts.audited({ kind: "alert", after: recorded }, alerts.create(payload))
      )
      .handle("listAlerts", ({ query }) => alerts.list(query))
      .handle("listAlertFirings", ({ query }) => alerts.listFirings(query))
      .handle("getAlert", ({ params }) => alerts.get(idOf(params)))
      .handle("updateAlert", ({ params, payload }) =>
        alerts.audited(
          { kind: "alert", before: alerts.before(idOf(params)), after: recorded },
          alerts.update(idOf(params), payload)
        )
      )
      .handle("deleteAlert", ({ params }) =>
        alerts.audited({ kind: "alert", before: alerts.before(idOf(params)) }, alerts.remove(idOf(params)))
      )
      .handle("testAlert", ({ params }) =>
        alerts.audited(
          { kind: "alert", id: idOf(params), after: ({ data: { id } }) => ({ delivery_id: id }) },
          alerts.test(idOf(params))
        )
      )
  )
)
