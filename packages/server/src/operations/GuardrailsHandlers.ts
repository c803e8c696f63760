/**
 * Managing guardrails, and assigning keys to them.
 *
 * Specification: "POST /guardrails/{id}/assignments/keys".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import * as Guardrails from "@model-gateway/core/Guardrails"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { currentCaller } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Audited from "../audit/Audited.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import type * as Page from "../storage/sql/Page.ts"
import { shown, stated } from "../access/Guardrail.ts"
import {
  type AssignedKey,
  GuardrailNotFound,
  GuardrailStore,
  type KeysOfGuardrail,
  type ListedGuardrail
} from "../access/GuardrailStore.ts"
import * as Budgets from "../accounting/Budgets.ts"
import * as Periods from "../internal/Periods.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import * as CreditAmount from "../http/CreditAmount.ts"

const assignmentToWire = (assigned: AssignedKey): typeof Guardrails.KeyAssignment.Type => ({
  id: `${assigned.guardrailId}:${assigned.keyHash}`,
  key_hash: assigned.keyHash,
  key_name: assigned.name,
  key_label: assigned.label,
  guardrail_id: assigned.guardrailId,
  assigned_by: assigned.assignedBy,
  created_at: Timestamp.fromMillis(assigned.assignedAt)
})

const creditsOrNull = (micro: number | null) => (micro === null ? null : MicroCredits.toCredits(micro))

const toWire = (guardrail: ListedGuardrail, keys: KeysOfGuardrail): typeof Guardrails.Guardrail.Type => {
  const { budget, limitReset, readAt } = guardrail
  return {
    ...shown(guardrail),
    limit_usd: creditsOrNull(guardrail.limit),
    resets_at: limitReset === null ? null : Timestamp.fromMillis(Periods.nextStartOf(limitReset, readAt)),
    limit_remaining: creditsOrNull(Budgets.remaining(budget)),
    usage: MicroCredits.toCredits(budget.usage.total),
    usage_daily: MicroCredits.toCredits(budget.usage.daily),
    usage_weekly: MicroCredits.toCredits(budget.usage.weekly),
    usage_monthly: MicroCredits.toCredits(budget.usage.monthly),
    keys: keys.first.map(({ keyHash, label, name }) => ({ hash: keyHash, name, label })),
    key_count: keys.count,
    ...Guardrails.fixed,
    created_at: Timestamp.fromMillis(guardrail.createdAt),
    updated_at: Timestamp.fromMillis(guardrail.updatedAt)
  }
}

const noKeys: KeysOfGuardrail = { first: [], count: 0 }

/** The fields that creation and change have in common. Absent fields are undefined. */
const settingsOf = Effect.fnUntraced(function* (request: typeof Guardrails.UpdateRequest.Type) {
  const { limit_usd: limit } = request
  return {
    ...stated(request),
    limit: limit === undefined ? undefined : yield* CreditAmount.fromWireOrNull("limit_usd", limit)
  }
})

const missing = new NotFound({ error: { message: `${phrases[404]}: there is no such guardrail` } })

const found = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  orUnavailable(
    Effect.catchIf(
      effect,
      (error: E): error is Extract<E, GuardrailNotFound> => error instanceof GuardrailNotFound,
      () => Effect.fail(missing)
    )
  )

const organization = Effect.map(currentCaller, ({ key }) => key.organizationId)

const make = Effect.gen(function* () {
  const guardrails = yield* GuardrailStore
  const workspaceOf = yield* CallerWorkspace.make
  const audited = yield* Audited.make

  /** The keys of guardrails that the caller sees. */
  const keysOf = Effect.fnUntraced(function* (listed: ReadonlyArray<ListedGuardrail>) {
    const ids = listed.map(({ id }) => id)
    return yield* orUnavailable(guardrails.keysOf(ids, yield* Permission.callerWorkspaces))
  })

  const withKeys = Effect.fnUntraced(function* (listed: ReadonlyArray<ListedGuardrail>) {
    const keys = yield* keysOf(listed)
    return listed.map((guardrail, at) => toWire(guardrail, keys[at] ?? noKeys))
  })

  const one = Effect.fnUntraced(function* (guardrail: ListedGuardrail) {
    const [keys = noKeys] = yield* keysOf([guardrail])
    return { data: toWire(guardrail, keys) }
  })

  const create = Effect.fnUntraced(function* (request: typeof Guardrails.CreateRequest.Type) {
    const workspace = yield* workspaceOf(request.workspace_id)
    const guardrail = yield* orUnavailable(
      guardrails.create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: request.name,
        ...(yield* settingsOf(request))
      })
    )
    return { data: toWire(guardrail, noKeys) }
  })

  const list = Effect.fnUntraced(function* ({
    workspace_id,
    ...page
  }: Page.OffsetRequest & { readonly workspace_id?: string }) {
    const workspaceIds =
      workspace_id === undefined ? yield* Permission.callerWorkspaces : [(yield* workspaceOf(workspace_id)).id]
    const filter = { organizationId: yield* organization, workspaceIds }
    const { items, totalCount } = yield* orUnavailable(guardrails.list(filter, page))
    return { data: yield* withKeys(items), total_count: totalCount }
  })

  /** A guardrail that the caller sees. The workspace of a guardrail never changes. */
  const find = Effect.fnUntraced(function* (id: string) {
    const guardrail = yield* found(guardrails.get(yield* organization, id))
    yield* Permission.check(guardrail.workspaceId, () => missing)
    return guardrail
  })

  const get = (id: string) => Effect.flatMap(find(id), one)

  const update = Effect.fnUntraced(function* (id: string, request: typeof Guardrails.UpdateRequest.Type) {
    const change = {
      ...(request.name === undefined ? {} : { name: request.name }),
      ...(yield* settingsOf(request))
    }
    yield* find(id)
    return yield* one(yield* found(guardrails.update(yield* organization, id, change)))
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    yield* find(id)
    yield* found(guardrails.remove(yield* organization, id))
    return { deleted: true as const }
  })

  const assign = Effect.fnUntraced(function* (id: string, request: typeof Guardrails.AssignRequest.Type) {
    const { key: caller } = yield* currentCaller
    yield* find(id)
    const assignment = yield* found(
      guardrails.assign(
        caller.organizationId,
        id,
        request.key_hashes,
        caller.creatorUserId,
        yield* Permission.callerWorkspaces
      )
    )
    return {
      assigned_count: assignment.assignedCount,
      not_found: assignment.notFound,
      replaced: assignment.replaced.map(({ keyHash, previousGuardrailId }) => ({
        key_hash: keyHash,
        previous_guardrail_id: previousGuardrailId
      }))
    }
  })

  const unassign = Effect.fnUntraced(function* (id: string, request: typeof Guardrails.AssignRequest.Type) {
    yield* find(id)
    const workspaceIds = yield* Permission.callerWorkspaces
    return {
      unassigned_count: yield* found(guardrails.unassign(yield* organization, id, request.key_hashes, workspaceIds))
    }
  })

  const assignments = Effect.fnUntraced(function* (id: string | null, page: Page.OffsetRequest) {
    if (id !== null) yield* find(id)
    const workspaceIds = yield* Permission.callerWorkspaces
    const { items, totalCount } = yield* found(guardrails.assignments(yield* organization, id, page, workspaceIds))
    return { data: items.map(assignmentToWire), total_count: totalCount }
  })

  return { audited, create, list, get, update, remove, assign, unassign, assignments }
})

/** UUIDs are case-insensitive. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `guardrails` group of the contract. */
export const layer = RequestServices.group(make, (guardrails) =>
  HttpApiBuilder.group(GatewayApi, "guardrails", (handlers) =>
    handlers
      .handle("assignKeys", ({ params, payload }) =>
        guardrails.audited(
          { kind: "guardrail", id: idOf(params), after: (result) => ({ key_hashes: payload.key_hashes, ...result }) },
          guardrails.assign(idOf(params), payload)
        )
      )
      .handle("unassignKeys", ({ params, payload }) =>
        guardrails.audited(
          { kind: "guardrail", id: idOf(params), after: (result) => ({ key_hashes: payload.key_hashes, ...result }) },
          guardrails.unassign(idOf(params), payload)
        )
      )
      .handle("listAssignments", ({ params, query }) => guardrails.assignments(idOf(params), query))
      .handle("listAllAssignments", ({ query }) => guardrails.assignments(null, query))
      .handle("createGuardrail", ({ payload }) => guardrails.audited({ kind: "guardrail" }, guardrails.create(payload)))
      .handle("listGuardrails", ({ query }) => guardrails.list(query))
      .handle("getGuardrail", ({ params }) => guardrails.get(idOf(params)))
      .handle("updateGuardrail", ({ params, payload }) =>
        guardrails.audited(
          { kind: "guardrail", before: guardrails.get(idOf(params)) },
          guardrails.update(idOf(params), payload)
        )
      )
      .handle("deleteGuardrail", ({ params }) =>
        guardrails.audited({ kind: "guardrail", before: guardrails.get(idOf(params)) }, guardrails.remove(idOf(params)))
      )
  )
)
