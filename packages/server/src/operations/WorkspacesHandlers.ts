/** `/workspaces`: workspaces and their credits, managed with a management key. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import type { OffsetPageOptions } from "@model-gateway/core/GatewayClient"
import * as Workspaces from "@model-gateway/core/Workspaces"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql/SqlClient"
import { currentCaller } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import { Accounting } from "../accounting/Accounting.ts"
import * as CallbackUrl from "../http/CallbackUrl.ts"
import * as Audited from "../audit/Audited.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as CreditAmount from "../http/CreditAmount.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import { Idempotency } from "../admission/Idempotency.ts"
import * as IdempotentRequest from "../admission/IdempotentRequest.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type SlugTaken, type Workspace, type WorkspaceNotFound, WorkspaceStore } from "../access/WorkspaceStore.ts"

const toWire = (workspace: Workspace): Workspaces.Workspace => ({
  id: workspace.id,
  name: workspace.name,
  slug: workspace.slug,
  description: workspace.description,
  is_default: workspace.isDefault,
  credits: MicroCredits.toCredits(workspace.balance),
  default_callback_url: workspace.defaultCallbackUrl,
  file_shape: workspace.fileShape,
  created_by: workspace.createdBy,
  created_at: Timestamp.fromMillis(workspace.createdAt),
  updated_at: Timestamp.fromMillis(workspace.updatedAt),
  ...Workspaces.fixed
})

/** The 400 of a `slug` that is taken. */
const badSlug = ({ message }: SlugTaken) => Effect.fail(invalid([{ path: "slug", message }]))

/** A 400 that is about no field. */
const refuse = ({ message }: { readonly message: string }) => Effect.fail(invalid([], message))

const missing = () => new NotFound({ error: { message: `${phrases[404]}: there is no such workspace` } })

const orMissing = () => Effect.fail(missing())

const found = <A, R>(effect: Effect.Effect<A, WorkspaceNotFound | StorageError, R>) =>
  orUnavailable(effect).pipe(Effect.catchTag("WorkspaceNotFound", orMissing))

const organization = Effect.map(currentCaller, ({ key }) => key.organizationId)

const encode = (response: Workspaces.Response): string => JSON.stringify(response)

const make = Effect.gen(function* () {
  const workspaces = yield* WorkspaceStore
  const accounting = yield* Accounting
  const audited = yield* Audited.make
  const services = { idempotency: yield* Idempotency, sql: yield* SqlClient }

  const create = Effect.fnUntraced(function* (request: typeof Workspaces.CreateRequest.Type) {
    const { key } = yield* currentCaller
    yield* CallbackUrl.check("default_callback_url", request.default_callback_url ?? undefined)
    const { default_callback_url, description, file_shape, name, slug } = request
    const made = yield* workspaces
      .create(key.organizationId, {
        name,
        slug,
        description,
        defaultCallbackUrl: default_callback_url,
        fileShape: file_shape,
        createdBy: key.creatorUserId
      })
      .pipe(orUnavailable, Effect.catchTag("SlugTaken", badSlug), Effect.catchTag("TooManyWorkspaces", refuse))
    return { data: toWire(made) }
  })

  const list = Effect.fnUntraced(function* (page: OffsetPageOptions) {
    const { items, totalCount } = yield* orUnavailable(
      workspaces.list(yield* organization, page, yield* Permission.callerWorkspaces)
    )
    return { data: items.map(toWire), total_count: totalCount }
  })

  /** A workspace that the caller sees, by its id or its slug. */
  const find = Effect.fnUntraced(function* (ref: string) {
    const workspace = yield* found(workspaces.get(yield* organization, ref))
    yield* Permission.check(workspace.id, missing)
    return workspace
  })

  const get = (ref: string) => Effect.map(find(ref), (workspace) => ({ data: toWire(workspace) }))

  const update = Effect.fnUntraced(function* (id: string, request: typeof Workspaces.UpdateRequest.Type) {
    yield* CallbackUrl.check("default_callback_url", request.default_callback_url ?? undefined)
    const change = {
      name: request.name,
      slug: request.slug,
      description: request.description,
      defaultCallbackUrl: request.default_callback_url,
      fileShape: request.file_shape
    }
    const updated = yield* workspaces
      .update(yield* organization, id, change)
      .pipe(orUnavailable, Effect.catchTag("WorkspaceNotFound", orMissing), Effect.catchTag("SlugTaken", badSlug))
    return { data: toWire(updated) }
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    const { hash: actor, organizationId } = (yield* currentCaller).key
    yield* workspaces
      .remove(organizationId, id, actor)
      .pipe(orUnavailable, Effect.catchTag("WorkspaceNotFound", orMissing), Effect.catchTag("WorkspaceInUse", refuse))
    return { deleted: true as const }
  })

  const addCredits = Effect.fnUntraced(function* (
    ref: string,
    request: typeof Workspaces.AddCreditsRequest.Type,
    idempotencyKey: string | undefined
  ) {
    const { hash: actor, organizationId } = (yield* currentCaller).key
    const amount = yield* CreditAmount.fromWire("amount", request.amount)
    // Check the organization first: accounting finds workspaces of any organization by their id.
    const { id } = yield* find(ref)
    return yield* IdempotentRequest.onceInTransaction(
      services,
      {
        operation: "addCredits",
        idempotencyKey,
        payload: Effect.succeed([id, String(amount), ...(request.note === undefined ? [] : [request.note])]),
        encode
      },
      audited(
        { kind: "workspace", before: get(id) },
        Effect.gen(function* () {
          const balance = yield* orUnavailable(accounting.addCredits(id, amount, request.note, actor)).pipe(
            Effect.catchTag("BalanceOutOfRange", (error) =>
              Effect.fail(invalid([{ path: "amount", message: error.message }]))
            )
          )
          if (balance === null) return yield* missing()
          return { data: toWire(yield* found(workspaces.get(organizationId, id))) }
        })
      )
    )
  })

  return { audited, create, list, get, update, remove, addCredits }
})

/** UUIDs are case-insensitive, and slugs are in lower case. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `workspaces` group of the contract. */
export const layer = RequestServices.group(make, (workspaces) =>
  HttpApiBuilder.group(GatewayApi, "workspaces", (handlers) =>
    handlers
      .handle("createWorkspace", ({ payload }) => workspaces.audited({ kind: "workspace" }, workspaces.create(payload)))
      .handle("listWorkspaces", ({ query }) => workspaces.list(query))
      .handle("getWorkspace", ({ params }) => workspaces.get(idOf(params)))
      .handle("updateWorkspace", ({ params, payload }) =>
        workspaces.audited(
          { kind: "workspace", before: workspaces.get(idOf(params)) },
          workspaces.update(idOf(params), payload)
        )
      )
      .handle("deleteWorkspace", ({ params }) =>
        workspaces.audited({ kind: "workspace", before: workspaces.get(idOf(params)) }, workspaces.remove(idOf(params)))
      )
      .handle("addCredits", ({ headers, params, payload }) =>
        workspaces.addCredits(idOf(params), payload, headers["idempotency-key"])
      )
  )
)
