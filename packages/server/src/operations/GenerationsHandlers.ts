/** Reading and listing the entries of the request log. */
import * as Generations from "@model-gateway/core/Generations"
import type * as Rejected from "@model-gateway/core/RejectedRequests"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller, limitedTo } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import { type Entry, toContract } from "../accounting/Ledger.ts"
import { RequestLog } from "../accounting/RequestLog.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Paging from "../http/Paging.ts"
import { type RejectedRequest, RejectedRequests } from "../requests/RejectedRequests.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"

const durationOf = ({ reservedAt, settledAt }: Entry): number => Math.max(0, settledAt - reservedAt)

const toAttempt = ({ started_at, ...attempt }: Entry["attempts"][number]): Generations.ProviderAttempt => ({
  ...attempt,
  ...(started_at === undefined ? {} : { started_at: Timestamp.fromMillis(started_at) })
})

const toEntry = (row: Entry): Generations.Entry => ({
  ...toContract(row),
  created_at: Timestamp.fromMillis(row.reservedAt),
  video_id: row.jobId,
  cost: MicroCredits.toCredits(row.cost),
  usage: row.usage ?? {},
  duration_ms: durationOf(row),
  attempts: row.attempts.map(toAttempt)
})

const apiTypes: Readonly<Record<string, string>> = { rerank: "rerank", transcription: "stt", video: "video" }

const millis = (seconds: number): number => Math.round(seconds * 1000)

const toGeneration = (row: Entry): Generations.Generation => {
  const { attempts, isByok, provider } = row
  const { input_tokens, output_tokens, total_tokens } = row.usage ?? {}
  const served = attempts.find(({ outcome }) => outcome === "Success")
  const cost = MicroCredits.toCredits(row.cost)
  const prompt = input_tokens ?? total_tokens ?? null
  return {
    // Fields that the contract does not have are left out when the response is encoded.
    ...toContract(row),
    api_type: apiTypes[row.operation] ?? null,
    created_at: Timestamp.fromMillis(row.reservedAt),
    provider_name: provider,
    provider_responses: attempts.map((attempt) => ({
      provider_name: attempt.provider,
      status: attempt.status ?? (attempt === served ? 200 : null),
      latency: millis(attempt.seconds),
      ...(attempt === served ? { is_byok: isByok } : attempt.is_byok === undefined ? {} : { is_byok: attempt.is_byok })
    })),
    total_cost: cost,
    usage: cost,
    upstream_inference_cost: isByok ? cost : null,
    latency: durationOf(row),
    // A provider accepts a video job at once and makes the video later. How long that takes is not
    // known.
    generation_time: served === undefined || row.jobId !== null ? null : millis(served.seconds),
    cancelled: row.status === "cancelled",
    tokens_prompt: prompt,
    tokens_completion: output_tokens ?? null,
    native_tokens_prompt: prompt,
    native_tokens_completion: output_tokens ?? null,
    attempts: attempts.map(toAttempt),
    ...Generations.fixed
  }
}

const toRejected = (row: RejectedRequest): Rejected.RejectedRequest => ({
  id: row.id,
  created_at: Timestamp.fromMillis(row.createdAt),
  request_id: row.requestId,
  operation: row.operation,
  model: row.model,
  status: row.status,
  message: row.message,
  workspace_id: row.workspaceId,
  key_hash: row.keyHash,
  address: row.address,
  duration_ms: row.durationMs,
  omitted: row.omitted
})

const missing = new NotFound({ error: { message: `${phrases[404]}: there is no such generation` } })

const make = Effect.gen(function* () {
  const log = yield* RequestLog
  const rejected = yield* RejectedRequests
  const workspaceOf = yield* CallerWorkspace.makeRecorded

  /** The workspaces of a list: the one that it names, or those that the caller is restricted to. */
  const workspacesOf = Effect.fnUntraced(function* (workspaceId: string | undefined) {
    return workspaceId === undefined ? yield* Permission.callerWorkspaces : [(yield* workspaceOf(workspaceId)).id]
  })

  const get = Effect.fnUntraced(function* (id: string) {
    const caller = yield* currentCaller
    const { isManagement, organizationId, workspaceId } = caller.key
    const reader = isManagement
      ? { organizationId, workspaceIds: yield* Permission.callerWorkspaces }
      : { workspaceId, ephemeralHash: limitedTo(caller) }
    const row = yield* orUnavailable(log.get(reader, id))
    return row === undefined ? yield* missing : { data: toGeneration(row) }
  })

  const list = Effect.fnUntraced(function* (query: Generations.ListOptions) {
    const { key } = yield* currentCaller
    const filter = {
      requestId: query.request_id,
      workspaceIds: yield* workspacesOf(query.workspace_id),
      keyHash: query.key_hash,
      user: query.user,
      operation: query.operation,
      model: query.model,
      provider: query.provider,
      status: query.status,
      errorStatus: query.error_status,
      ...(yield* Timestamp.toRange(query))
    }
    const page = yield* Paging.rejectUnknownCursor(orUnavailable(log.list(key.organizationId, filter, query)))
    return Paging.toWire(page, toEntry)
  })

  const listRejected = Effect.fnUntraced(function* (query: Rejected.ListOptions) {
    const { key } = yield* currentCaller
    const filter = {
      requestId: query.request_id,
      workspaceIds: yield* workspacesOf(query.workspace_id),
      keyHash: query.key_hash,
      operation: query.operation,
      status: query.status,
      ...(yield* Timestamp.toRange(query))
    }
    const page = yield* Paging.rejectUnknownCursor(orUnavailable(rejected.list(key.organizationId, filter, query)))
    return Paging.toWire(page, toRejected)
  })

  return { get, list, listRejected }
})

/** The `generations` group of the contract. */
export const layer = RequestServices.group(make, ({ get, list, listRejected }) =>
  HttpApiBuilder.group(GatewayApi, "generations", (handlers) =>
    handlers
      .handle("getGeneration", ({ query }) => get(query.id))
      .handle("listGenerations", ({ query }) => list(query))
      .handle("listRejectedRequests", ({ query }) => listRejected(query))
  )
)
