/**
 * POST `/guardrails/{id}/assignments/keys`, and managing guardrails.
 *
 * Specification: "6. POST /guardrails/{id}/assignments/keys", "Guardrail key assignment result".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import type * as Guardrails from "@model-gateway/core/Guardrails"
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { currentCaller } from "../access/Caller.ts"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../http/Issues.ts"
import * as Paging from "../http/Paging.ts"
import * as Timestamp from "../http/Timestamp.ts"
import type { Guardrail } from "../access/Guardrail.ts"
import { GuardrailNotFound, GuardrailStore } from "../access/GuardrailStore.ts"

const toWire = (guardrail: Guardrail): Guardrails.Guardrail => ({
  id: guardrail.id,
  name: guardrail.name,
  description: guardrail.description,
  limit: guardrail.limit === null ? null : MicroCredits.toCredits(guardrail.limit),
  limit_reset: guardrail.limitReset,
  allowed_models: guardrail.allowedModels,
  allowed_providers: guardrail.allowedProviders,
  created_at: Timestamp.fromMillis(guardrail.createdAt),
  updated_at: Timestamp.fromMillis(guardrail.updatedAt)
})

const uncountable = invalid([{ path: "limit", message: "Expected credits in steps of a millionth" }])

/** A limit from the wire. */
const limitOf = (limit: number | null): Effect.Effect<MicroCredits.MicroCredits | null, BadRequest> =>
  limit === null
    ? Effect.succeed(null)
    : Option.match(MicroCredits.exactly(limit), { onNone: () => Effect.fail(uncountable), onSome: Effect.succeed })

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

  const create = Effect.fnUntraced(function* (request: typeof Guardrails.CreateRequest.Type) {
    const guardrail = yield* orUnavailable(
      guardrails.create({
        organizationId: yield* organization,
        name: request.name,
        description: request.description,
        limit: yield* limitOf(request.limit ?? null),
        limitReset: request.limit_reset,
        allowedModels: request.allowed_models,
        allowedProviders: request.allowed_providers
      })
    )
    return { data: toWire(guardrail) }
  })

  const list = Effect.fnUntraced(function* (cursor: Paging.Cursor) {
    const organizationId = yield* organization
    const page = yield* Paging.known(orUnavailable(guardrails.list(organizationId, cursor)))
    return { data: page.items.map(toWire), has_more: page.hasMore }
  })

  const get = Effect.fnUntraced(function* (id: string) {
    return { data: toWire(yield* found(guardrails.get(yield* organization, id))) }
  })

  const update = Effect.fnUntraced(function* (id: string, request: typeof Guardrails.UpdateRequest.Type) {
    const change = {
      ...(request.name === undefined ? {} : { name: request.name }),
      description: request.description,
      limit: request.limit === undefined ? undefined : yield* limitOf(request.limit),
      limitReset: request.limit_reset,
      allowedModels: request.allowed_models,
      allowedProviders: request.allowed_providers
    }
    return { data: toWire(yield* found(guardrails.update(yield* organization, id, change))) }
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    yield* found(guardrails.remove(yield* organization, id))
    return { deleted: true as const }
  })

  const assign = Effect.fnUntraced(function* (id: string, request: typeof Guardrails.AssignRequest.Type) {
    const assignment = yield* found(guardrails.assign(yield* organization, id, request.key_hashes))
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
    const { removedCount } = yield* found(guardrails.unassign(yield* organization, id, request.key_hashes))
    return { unassigned_count: removedCount }
  })

  const assignments = Effect.fnUntraced(function* (id: string, cursor: Paging.Cursor) {
    const organizationId = yield* organization
    const page = yield* Paging.known(found(guardrails.assignments(organizationId, id, cursor)))
    return {
      data: page.items.map(({ keyHash, label, name }) => ({
        key_hash: keyHash,
        key_name: name,
        key_label: label,
        guardrail_id: id
      })),
      has_more: page.hasMore
    }
  })

  return { create, list, get, update, remove, assign, unassign, assignments }
})

/** UUIDs are case-insensitive. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `guardrails` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "guardrails", (handlers) =>
  Effect.map(make, (guardrails) =>
    handlers
      .handle("assignKeys", ({ params, payload }) => guardrails.assign(idOf(params), payload))
      .handle("unassignKeys", ({ params, payload }) => guardrails.unassign(idOf(params), payload))
      .handle("listAssignments", ({ params, query }) => guardrails.assignments(idOf(params), query))
      .handle("createGuardrail", ({ payload }) => guardrails.create(payload))
      .handle("listGuardrails", ({ query }) => guardrails.list(query))
      .handle("getGuardrail", ({ params }) => guardrails.get(idOf(params)))
      .handle("updateGuardrail", ({ params, payload }) => guardrails.update(idOf(params), payload))
      .handle("deleteGuardrail", ({ params }) => guardrails.remove(idOf(params)))
  )
)
