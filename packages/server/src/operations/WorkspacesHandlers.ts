/** `/workspaces/{id}`: workspaces and their credits, managed with a management key. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import type * as Workspaces from "@model-gateway/core/Workspaces"
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql/SqlClient"
import { currentCaller } from "../access/Caller.ts"
import { Accounting } from "../accounting/Accounting.ts"
import * as CallbackUrl from "./CallbackUrl.ts"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../http/Issues.ts"
import * as Timestamp from "../http/Timestamp.ts"
import { Idempotency } from "../admission/Idempotency.ts"
import * as IdempotentRequest from "../admission/IdempotentRequest.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type Workspace, type WorkspaceNotFound, WorkspaceStore } from "../access/WorkspaceStore.ts"

const toWire = (workspace: Workspace): Workspaces.Workspace => ({
  id: workspace.id,
  name: workspace.name,
  is_default: workspace.isDefault,
  credits: MicroCredits.toCredits(workspace.balance),
  default_callback_url: workspace.defaultCallbackUrl,
  file_shape: workspace.fileShape,
  created_at: Timestamp.fromMillis(workspace.createdAt)
})

const missing = () => new NotFound({ error: { message: `${phrases[404]}: there is no such workspace` } })

const found = <A, R>(effect: Effect.Effect<A, WorkspaceNotFound | StorageError, R>) =>
  orUnavailable(effect).pipe(Effect.catchTag("WorkspaceNotFound", () => Effect.fail(missing())))

const badAmount = (message: string) => invalid([{ path: "amount", message }])

/** Parses an amount of credits. An amount that rounds to zero is rejected. */
const amountOf = (amount: number): Effect.Effect<MicroCredits.MicroCredits, BadRequest> =>
  Option.match(
    Option.filter(MicroCredits.fromCredits(amount), (micro) => micro > 0),
    { onNone: () => Effect.fail(badAmount("Expected at least a millionth of a credit")), onSome: Effect.succeed }
  )

const organization = Effect.map(currentCaller, ({ key }) => key.organizationId)

const encode = (response: Workspaces.Response): string => JSON.stringify(response)

const make = Effect.gen(function* () {
  const workspaces = yield* WorkspaceStore
  const accounting = yield* Accounting
  const services = { idempotency: yield* Idempotency, sql: yield* SqlClient }

  const get = Effect.fnUntraced(function* (id: string) {
    return { data: toWire(yield* found(workspaces.get(yield* organization, id))) }
  })

  const update = Effect.fnUntraced(function* (id: string, request: typeof Workspaces.UpdateRequest.Type) {
    yield* CallbackUrl.check("default_callback_url", request.default_callback_url ?? undefined)
    const change = {
      name: request.name,
      defaultCallbackUrl: request.default_callback_url,
      fileShape: request.file_shape
    }
    return { data: toWire(yield* found(workspaces.update(yield* organization, id, change))) }
  })

  const addCredits = Effect.fnUntraced(function* (
    id: string,
    request: typeof Workspaces.AddCreditsRequest.Type,
    idempotencyKey: string | undefined
  ) {
    const organizationId = yield* organization
    const amount = yield* amountOf(request.amount)
    // Check the organization first: accounting finds workspaces of any organization by their id.
    yield* found(workspaces.get(organizationId, id))
    return yield* IdempotentRequest.onceInTransaction(
      services,
      {
        operation: "addCredits",
        idempotencyKey,
        payload: Effect.succeed([id, String(amount)]),
        encode
      },
      Effect.gen(function* () {
        const balance = yield* orUnavailable(accounting.addCredits(id, amount)).pipe(
          Effect.catchTag("BalanceOutOfRange", (error) => Effect.fail(badAmount(error.message)))
        )
        if (balance === null) return yield* missing()
        return { data: toWire(yield* found(workspaces.get(organizationId, id))) }
      })
    )
  })

  return { get, update, addCredits }
})

/** UUIDs are case-insensitive. */
const idOf = ({ id }: { readonly id: string }): string => id.toLowerCase()

/** The `workspaces` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "workspaces", (handlers) =>
  Effect.map(make, (workspaces) =>
    handlers
      .handle("getWorkspace", ({ params }) => workspaces.get(idOf(params)))
      .handle("updateWorkspace", ({ params, payload }) => workspaces.update(idOf(params), payload))
      .handle("addCredits", ({ headers, params, payload }) =>
        workspaces.addCredits(idOf(params), payload, headers["idempotency-key"])
      )
  )
)
