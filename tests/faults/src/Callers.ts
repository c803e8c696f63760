/**
 * The callers of a run: they perform the operations of the plan, try again as its callers may, and
 * remember what the service has acknowledged.
 */
import { Effect, Fiber, Option, Redacted } from "effect"
import { Accounting } from "../../../packages/server/src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { type Part, form, formHeaders } from "../../../packages/server/test/TestGateway.ts"
import { callbackUrl } from "./Doubles.ts"
import type { Operation } from "./Plan.ts"
import type { Reply, Service } from "./Service.ts"
import * as SyncFiles from "./SyncFiles.ts"
import type { World } from "./World.ts"

/** An API key. */
export interface ApiKey {
  readonly hash: string
  readonly plain: Redacted.Redacted
  /** Whether someone has asked to delete it. */
  isDeleted: boolean
}

/** A paid request as it is sent, any number of times. */
interface Paid {
  readonly tag: string
  readonly operation: "rerank" | "transcription" | "video"
  readonly path: string
  readonly key: ApiKey
  readonly body: string
  readonly idempotencyKey: string | undefined
}

/** A success that a caller has received for an idempotency key. */
export interface Acknowledged {
  readonly paid: Paid
  readonly status: number
  readonly body: string
}

/** A job that the service has accepted. */
export interface AcceptedJob {
  readonly id: string
  readonly key: ApiKey
  readonly tag: string
  /** The final status that a caller has seen. */
  final: string | undefined
}

/** A file that the service has stored. */
export interface StoredFile {
  readonly id: string
  readonly key: ApiKey
  readonly bytes: Buffer
  /** Whether someone has asked to delete it, and whether the service has said that it did. */
  isDeleting: boolean
  isDeleted: boolean
}

/** What the callers know. */
export interface Memory {
  /** The first success for each idempotency key. */
  readonly acknowledged: Map<string, Acknowledged>
  /** How many requests of each tag have succeeded. */
  readonly successes: Map<string, number>
  readonly jobs: Array<AcceptedJob>
  readonly files: Array<StoredFile>
}

/** The callers. */
export interface Callers {
  readonly memory: Memory
  /** Performs one operation, and returns when its caller is done with it. */
  readonly perform: (operation: Operation) => Effect.Effect<void>
  /** The paid request with this tag. */
  readonly paidOf: (tag: string) => Paid | undefined
  /** Remembers the status of a job. */
  readonly seen: (job: AcceptedJob, reply: Reply) => void
  /** Sends a paid request again. */
  readonly send: (paid: Paid) => Effect.Effect<Reply>
  readonly get: (path: string, key: ApiKey) => Effect.Effect<Reply>
}

/** What the callers use. */
export interface Options {
  readonly world: World
  readonly keys: ReadonlyArray<ApiKey>
  readonly managementKey: Redacted.Redacted
  readonly guardrailId: string
  readonly workspaceId: string
  /** A process that accepts connections, if there is one. */
  readonly service: () => Service | undefined
}

const lost: Reply = { _tag: "Lost" }

const finals = new Set(["completed", "failed", "cancelled", "expired"])

/** A caller tries again after these. */
const isWorthRetrying = (reply: Reply): boolean =>
  reply._tag === "Lost" || reply.status >= 500 || reply.status === 429 || reply.status === 409

const shown = (reply: Reply): string => (reply._tag === "Lost" ? "no answer" : `status ${reply.status}`)

const field = (reply: Reply, name: string): unknown => {
  if (reply._tag === "Lost") return undefined
  const body: unknown = JSON.parse(reply.body.toString())
  return typeof body === "object" && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined
}

/** Makes the callers. */
export const make = ({ guardrailId, keys, managementKey, service, workspaceId, world }: Options): Callers => {
  const memory: Memory = { acknowledged: new Map(), successes: new Map(), jobs: [], files: [] }
  const paidRequests = new Map<number, Paid>()

  const request = (
    method: string,
    path: string,
    key: Redacted.Redacted,
    headers: Record<string, string> = {},
    body?: string | Uint8Array<ArrayBuffer>
  ) =>
    Effect.suspend((): Effect.Effect<Reply> => {
      const to = service()
      if (to === undefined) return Effect.succeed(lost)
      return to.handle(
        new Request(`http://127.0.0.1:8787/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${Redacted.value(key)}`, ...headers },
          ...(body === undefined ? {} : { body })
        })
      )
    })

  const json = (method: string, path: string, key: Redacted.Redacted, body: unknown, headers = {}) =>
    request(method, path, key, { "content-type": "application/json", ...headers }, JSON.stringify(body))

  /** A key that exists is never rejected, whatever fails. */
  const checkKey = (key: ApiKey, wasDeleted: boolean, reply: Reply, what: string) => {
    if (reply._tag === "Answer" && reply.status === 401 && !wasDeleted && !key.isDeleted) {
      world.violated("a valid key is accepted", `${what}: status 401`)
    }
  }

  const get = (path: string, key: ApiKey) =>
    Effect.suspend(() => {
      const wasDeleted = key.isDeleted
      return Effect.tap(request("GET", path, key.plain), (reply) =>
        Effect.sync(() => checkKey(key, wasDeleted, reply, path))
      )
    })

  const send = (paid: Paid) =>
    Effect.suspend(() => {
      const wasDeleted = paid.key.isDeleted
      const headers = {
        "content-type": "application/json",
        ...(paid.idempotencyKey === undefined ? {} : { "idempotency-key": paid.idempotencyKey })
      }
      return Effect.tap(request("POST", paid.path, paid.key.plain, headers, paid.body), (reply) =>
        Effect.sync(() => checkKey(paid.key, wasDeleted, reply, paid.tag))
      )
    })

  /** What the caller learns from a success. */
  const received = (paid: Paid, reply: Reply) => {
    if (reply._tag === "Lost" || reply.status >= 300) return
    const body = reply.body.toString()
    const name = paid.idempotencyKey
    const before = name === undefined ? undefined : memory.acknowledged.get(name)
    if (before !== undefined) {
      if (before.body !== body || before.status !== reply.status) {
        world.violated("an acknowledged answer is replayed", `${paid.tag} was answered differently when repeated`)
      }
      return
    }
    if (name !== undefined) memory.acknowledged.set(name, { paid, status: reply.status, body })
    memory.successes.set(paid.tag, (memory.successes.get(paid.tag) ?? 0) + 1)
    const id = paid.path === "/videos" ? field(reply, "id") : undefined
    if (typeof id === "string") memory.jobs.push({ id, key: paid.key, tag: paid.tag, final: undefined })
  }

  /** Sends the request until there is an answer, as often as the plan says. */
  const pay = Effect.fnUntraced(function* (operation: Operation, paid: Paid) {
    for (let tried = 0; tried <= operation.retries; tried++) {
      const isFirst = tried === 0
      const leaves = isFirst ? operation.disconnectsAfter : undefined
      const sent = send(paid)
      const reply =
        leaves === undefined ? yield* sent : Option.getOrElse(yield* Effect.timeoutOption(sent, leaves), () => lost)
      const isLost = isFirst && operation.losesAnswer
      world.log(
        `caller of ${paid.tag}: ${shown(reply)}${isLost ? ", which is lost" : ""}${reply === lost && leaves !== undefined ? " (disconnected)" : ""}`
      )
      if (!isLost) received(paid, reply)
      if (!isLost && !isWorthRetrying(reply)) return
      yield* Effect.sleep(1000 * 2 ** tried)
    }
  })

  const seen = (job: AcceptedJob, reply: Reply) => {
    if (reply._tag === "Lost") return
    if (reply.status === 404) world.violated("an accepted job can be read", `the job of ${job.tag}: status 404`)
    const status = reply.status === 200 ? field(reply, "status") : undefined
    if (typeof status !== "string") return
    if (job.final !== undefined && status !== job.final) {
      world.violated("a final job never changes", `the job of ${job.tag} was ${job.final} and is ${status}`)
    }
    if (finals.has(status)) job.final = status
  }

  const credits = (micro: number | null) => (micro === null ? null : MicroCredits.toCredits(MicroCredits.make(micro)))

  const makePaid = (operation: Operation): Paid | undefined => {
    const key = keys[operation.key]
    if (key === undefined) return undefined
    const tag = `op-${operation.id}`
    const common = { tag, key, idempotencyKey: operation.isIdempotent ? `key-${tag}` : undefined }
    const { action } = operation
    switch (action.kind) {
      case "rerank": {
        const documents = Array.from({ length: action.documents }, (_, place) => `document ${place}`)
        const body = JSON.stringify({ model: "test/rank", query: tag, documents, user: tag })
        return { ...common, operation: "rerank", path: "/rerank", body }
      }
      case "transcription": {
        const data = SyncFiles.wav(action.seconds * 1000 + operation.id).toString("base64")
        const body = JSON.stringify({ model: "test/hear", input_audio: { data, format: "wav" }, user: tag })
        return { ...common, operation: "transcription", path: "/audio/transcriptions", body }
      }
      case "video": {
        const body = JSON.stringify({
          model: `test/${action.model}`,
          prompt: tag,
          duration: action.seconds,
          user: tag,
          ...(operation.hasCallback ? { callback_url: callbackUrl } : {})
        })
        return { ...common, operation: "video", path: "/videos", body }
      }
      default:
        return undefined
    }
  }

  const manage = Effect.fnUntraced(function* (what: string, method: string, path: string, body?: unknown) {
    const reply = yield* body === undefined
      ? request(method, path, managementKey)
      : json(method, path, managementKey, body)
    world.log(`${what}: ${shown(reply)}`)
    if (reply._tag === "Answer" && reply.status === 401) {
      world.violated("a valid key is accepted", `${what}: status 401`)
    }
    return reply
  })

  const upload = Effect.fnUntraced(function* (operation: Operation, key: ApiKey, size: number) {
    const bytes = Buffer.alloc(size, `file of op-${operation.id} `)
    const parts: ReadonlyArray<Part> = [
      { name: "purpose", value: "test" },
      { name: "file", filename: "file.bin", type: "application/octet-stream", value: bytes }
    ]
    const reply = yield* request("POST", "/files", key.plain, formHeaders, new Uint8Array(form(...parts)))
    world.log(`upload of op-${operation.id}: ${shown(reply)}`)
    const id = reply._tag === "Answer" && reply.status < 300 ? field(reply, "id") : undefined
    if (typeof id === "string") memory.files.push({ id, key, bytes, isDeleting: false, isDeleted: false })
  })

  const download = Effect.fnUntraced(function* (file: StoredFile) {
    const wasDeleted = file.isDeleted
    const reply = yield* get(`/files/${file.id}/content`, file.key)
    world.log(`download of file ${memory.files.indexOf(file)}: ${shown(reply)}`)
    if (reply._tag === "Lost") return
    if (reply.status === 200 && wasDeleted) world.violated("a deleted file is gone", "its content was sent")
    if (reply.status === 200 && !file.bytes.equals(reply.body)) {
      world.violated("a stored file can be read", "its content is not what was uploaded")
    }
    if (reply.status === 404 && !file.isDeleting) world.violated("a stored file can be read", "status 404")
  })

  const act = Effect.fnUntraced(function* (operation: Operation) {
    const { action } = operation
    const key = keys[operation.key]
    if (key === undefined) return
    const job = "job" in action ? memory.jobs[action.job % Math.max(1, memory.jobs.length)] : undefined
    const file = "file" in action ? memory.files[action.file % Math.max(1, memory.files.length)] : undefined
    switch (action.kind) {
      case "rerank":
      case "transcription":
      case "video": {
        const paid = makePaid(operation)
        if (paid === undefined) return
        paidRequests.set(operation.id, paid)
        world.log(
          `${paid.tag}: ${action.kind} with key ${operation.key}${operation.isIdempotent ? ", idempotent" : ""}`
        )
        return yield* pay(operation, paid)
      }
      case "repeat": {
        const paid = paidRequests.get(action.of)
        if (paid?.idempotencyKey === undefined) return
        world.log(`${paid.tag} is repeated`)
        return yield* pay(operation, paid)
      }
      case "poll": {
        if (job === undefined) return
        const reply = yield* get(`/videos/${job.id}${action.wait === 0 ? "" : `?wait=${action.wait}`}`, job.key)
        world.log(`poll of ${job.tag}: ${shown(reply)}`)
        return seen(job, reply)
      }
      case "cancel": {
        if (job === undefined) return
        const reply = yield* request("POST", `/videos/${job.id}/cancel`, job.key.plain)
        world.log(`cancellation of ${job.tag}: ${shown(reply)}`)
        return seen(job, reply)
      }
      case "watch": {
        if (job === undefined) return
        const reply = yield* get(`/videos/${job.id}/content`, job.key)
        world.log(`content of ${job.tag}: ${shown(reply)}`)
        if (reply._tag === "Answer" && reply.status === 404 && job.final === "completed") {
          world.violated("a finished video can be read", `the video of ${job.tag}: status 404`)
        }
        return
      }
      case "upload":
        return yield* upload(operation, key, action.bytes)
      case "download":
        return file === undefined ? undefined : yield* download(file)
      case "delete file": {
        if (file === undefined) return
        file.isDeleting = true
        const reply = yield* request("DELETE", `/files/${file.id}`, file.key.plain)
        world.log(`deletion of file ${memory.files.indexOf(file)}: ${shown(reply)}`)
        if (reply._tag === "Answer" && reply.status === 200) file.isDeleted = true
        return
      }
      case "limit": {
        const body = { limit: credits(action.limit), limit_reset: action.reset }
        return yield* Effect.asVoid(manage(`limit of key ${operation.key}`, "PATCH", `/keys/${key.hash}`, body))
      }
      case "guardrail limit": {
        const body = { limit_usd: credits(action.limit) }
        return yield* Effect.asVoid(manage("limit of the guardrail", "PATCH", `/guardrails/${guardrailId}`, body))
      }
      case "delete key": {
        key.isDeleted = true
        return yield* Effect.asVoid(manage(`deletion of key ${operation.key}`, "DELETE", `/keys/${key.hash}`))
      }
      case "credits": {
        const context = service()?.context()
        if (context === undefined) return
        const added = Effect.flatMap(Accounting, ({ addCredits }) =>
          addCredits(workspaceId, MicroCredits.make(action.amount))
        )
        // It runs in the process, so it does not end if the process is killed.
        const adding = yield* Effect.forkDetach(Effect.provide(added, context))
        const result = yield* Effect.timeoutOption(Fiber.await(adding), "1 minute")
        return world.log(`credits: ${Option.isSome(result) ? result.value._tag : "no answer"}`)
      }
    }
  })

  return {
    memory,
    send,
    get,
    seen,
    paidOf: (tag) => paidRequests.get(Number(tag.slice(3))),
    perform: (operation) =>
      Effect.suspend(() => {
        world.counts.operations++
        return act(operation)
      }).pipe(Effect.delay(operation.at))
  }
}
