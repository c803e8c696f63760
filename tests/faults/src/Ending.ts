/**
 * What must hold at the end of a run, when faults have stopped and nothing is under way any more.
 */
import * as ProviderAttempt from "../../../packages/server/src/accounting/ProviderAttempt.ts"
import { Event } from "../../../packages/server/src/events/Event.ts"
import * as Dialect from "../../../packages/server/src/storage/sql/Dialect.ts"
import { Effect, Schema } from "effect"
import type { Callers } from "./Callers.ts"
import type { Database, Row } from "./Database.ts"
import { type Bill, callbackUrl, type Objects, type Received, type Receiver, type Upstreams } from "./Doubles.ts"
import type { World } from "./World.ts"

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(Event))

const decodeWebhook = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ type: Schema.String, data: Schema.Struct({ id: Schema.String }) }))
)

/** What is compared. */
export interface Options {
  readonly world: World
  readonly database: Database
  readonly callers: Callers
  readonly upstreams: Upstreams
  readonly objects: Objects
  readonly receiver: Receiver
}

/**
 * Whether nothing is under way: reservations are closed, jobs have ended, webhooks have arrived.
 */
export const isQuiet = async (database: Database): Promise<boolean> => {
  const left = await database.read([
    "SELECT id FROM reservations WHERE state = 'open'",
    "SELECT id FROM video_jobs WHERE completed_at IS NULL",
    "SELECT id FROM webhook_deliveries WHERE status = 'pending'"
  ])
  return left.every((rows) => rows.length === 0)
}

const outcomes = { completed: "completed", failed: "failed", cancelled: "cancelled", expired: "expired" } as const

/** An attempt that an upstream may have billed, or a charge: each explains one bill. */
interface Explanation {
  readonly provider: string
  readonly cost: number | undefined
}

/** A released reservation, with the bills that it explains. */
interface Abandoned {
  readonly row: Row
  tag: string | undefined
  readonly providers: Set<string>
}

/** Checks that ledger, events and bills agree. */
export const checkRecords = async ({ callers, database, receiver, upstreams, world }: Options): Promise<void> => {
  const [reservations = [], usage = [], events = [], jobs = []] = await database.read([
    "SELECT * FROM reservations",
    "SELECT * FROM usage_ledger",
    "SELECT body FROM events ORDER BY sequence",
    "SELECT id, status, reservation_id, callback_url FROM video_jobs"
  ])

  for (const row of reservations) {
    if (Dialect.text(row, "state") === "open") {
      world.violated("no reservation is left", `one for ${Dialect.text(row, "operation")} is open`)
    }
  }

  const tags = new Map<string, string>()
  const seen = new Set<string>()
  for (const row of events) {
    const event = decodeEvent(Dialect.text(row, "body"))
    if (seen.has(event.id)) world.violated("each end is reported once", `two events for ${event.user}`)
    seen.add(event.id)
    tags.set(event.id.replace(/^evt_/, ""), event.user ?? "unknown")
  }
  const tagOf = (row: Row, column = "id") => tags.get(Dialect.text(row, column)) ?? "unknown"

  for (const row of usage) {
    if (!tags.has(Dialect.text(row, "id"))) {
      world.violated("each end is reported once", `no event for a ${Dialect.text(row, "operation")} in the ledger`)
    }
  }
  for (const row of jobs) {
    const status = Dialect.oneOfOrNull(row, "status", Object.values(outcomes))
    if (status === null) world.violated("each job ends", `one is ${String(row["status"])}`)
    else if (!tags.has(Dialect.text(row, "reservation_id"))) {
      world.violated("each end is reported once", `no event for a ${status} job`)
    }
    const entries = usage.filter((entry) => entry["id"] === row["reservation_id"])
    if (entries.length !== 1 || entries[0]?.["status"] !== status) {
      world.violated(
        "each job is settled once",
        `a ${status} job of ${tagOf(row, "reservation_id")} has another ledger entry`
      )
    }
  }

  const webhooks = new Map<string, ReadonlyArray<Received>>()
  for (const one of receiver.received) {
    const job = decodeWebhook(one.body).data.id
    webhooks.set(job, [...(webhooks.get(job) ?? []), one])
  }
  for (const row of jobs) {
    const all = webhooks.get(Dialect.text(row, "id")) ?? []
    const what = `the ${String(row["status"])} job of ${tagOf(row, "reservation_id")}`
    if (Dialect.textOrNull(row, "callback_url") !== callbackUrl) {
      if (all.length > 0) world.violated("each webhook arrives", `${what} has no receiver, and one was sent`)
      continue
    }
    const distinct = new Set(all.map(({ body, id }) => `${id} ${body}`))
    if (distinct.size !== 1) {
      world.violated("each webhook arrives", `${what} was reported in ${distinct.size} different messages`)
    }
    if (all.some(({ body }) => decodeWebhook(body).type !== `video.${String(row["status"])}`)) {
      world.violated("each webhook arrives", `${what} was reported as ${decodeWebhook(all[0]?.body ?? "").type}`)
    }
  }

  // Each bill is charged, or is explained by what an operator can see.
  const charges = new Map<string, Array<Explanation>>()
  const attempts = new Map<string, Array<Explanation>>()
  const completed = new Map<string, number>()
  const into = (map: Map<string, Array<Explanation>>, tag: string, one: Explanation) => {
    map.set(tag, [...(map.get(tag) ?? []), one])
  }
  for (const row of usage) {
    const tag = tagOf(row)
    const isCharged = Dialect.text(row, "status") === "completed"
    const made = ProviderAttempt.fromJson(Dialect.textOrNull(row, "attempts"))
    if (isCharged) {
      completed.set(tag, (completed.get(tag) ?? 0) + 1)
      into(charges, tag, { provider: Dialect.text(row, "provider"), cost: Dialect.int(row, "cost_micro") })
    }
    for (const { billed, outcome, provider } of made) {
      if (billed === "no" || (isCharged && outcome === "Success")) continue
      into(attempts, tag, { provider, cost: undefined })
    }
  }
  // A process that died may have asked one provider after the other for the same request.
  const abandoned = reservations
    .filter((row) => Dialect.text(row, "state") === "abandoned")
    .map((row): Abandoned => ({ row, tag: undefined, providers: new Set() }))
  const takeAbandoned = ({ provider, tag }: Bill): boolean => {
    const paid = callers.paidOf(tag)
    const found = abandoned.find(
      (one) =>
        one.row["key_hash"] === paid?.key.hash &&
        one.row["operation"] === paid?.operation &&
        (one.tag ?? tag) === tag &&
        !one.providers.has(provider)
    )
    if (found === undefined) return false
    found.tag = tag
    found.providers.add(provider)
    return true
  }
  const take = (map: Map<string, Array<Explanation>>, { cost, provider, tag }: Bill): boolean => {
    const all = map.get(tag) ?? []
    const at = all.findIndex((one) => one.provider === provider && (one.cost === undefined || one.cost === cost))
    if (at === -1) return false
    all.splice(at, 1)
    return true
  }
  // First the charges, so that an explanation is not used up by a bill that was charged.
  const uncharged = upstreams.bills().filter((bill) => !take(charges, bill))
  for (const bill of uncharged) {
    if (take(attempts, bill) || takeAbandoned(bill)) continue
    world.violated(
      "each bill is charged or explained",
      `${bill.provider} billed ${bill.cost} for ${bill.tag}, which neither ledger nor reconciliation shows`
    )
  }
  for (const [tag, left] of charges) {
    for (const { cost, provider } of left) {
      world.violated("each charge has a bill", `${tag} was charged ${cost} for ${provider}, which did not bill it`)
    }
  }

  // What callers know.
  for (const [tag, count] of callers.memory.successes) {
    const paid = callers.paidOf(tag)
    const made =
      paid?.operation === "video"
        ? jobs.filter((row) => tagOf(row, "reservation_id") === tag).length
        : (completed.get(tag) ?? 0)
    if (made < count)
      world.violated("each success is recorded", `${tag} succeeded ${count} times, recorded ${made} times`)
    if (paid?.idempotencyKey !== undefined && made > 1) {
      world.violated("a repeated request runs once", `${tag} was done ${made} times under one idempotency key`)
    }
  }
}

/** Checks what callers can still read, and that answers are replayed. */
export const checkAnswers = ({ callers, upstreams, world }: Options) =>
  Effect.gen(function* () {
    const { acknowledged, files, jobs } = callers.memory
    for (const { body, paid, status } of acknowledged.values()) {
      if (paid.key.isDeleted) continue
      const reply = yield* callers.send(paid)
      if (reply._tag === "Lost" || reply.status !== status || reply.body.toString() !== body) {
        world.violated(
          "an acknowledged answer is replayed",
          `${paid.tag}: ${reply._tag === "Lost" ? "no answer" : `status ${reply.status}`} instead of the same answer`
        )
      }
    }
    for (const file of files) {
      if (file.key.isDeleted) continue
      const reply = yield* callers.get(`/files/${file.id}/content`, file.key)
      const status = reply._tag === "Lost" ? 0 : reply.status
      if (file.isDeleted && status !== 404) world.violated("a deleted file is gone", `status ${status}`)
      if (!file.isDeleting && (reply._tag === "Lost" || status !== 200 || !file.bytes.equals(reply.body))) {
        world.violated("a stored file can be read", `status ${status}`)
      }
    }
    for (const job of jobs) {
      if (job.key.isDeleted) continue
      const reply = yield* callers.get(`/videos/${job.id}`, job.key)
      callers.seen(job, reply)
      if (job.final === undefined) world.violated("each job ends", `the job of ${job.tag} has no final status`)
      if (job.final !== "completed") continue
      const content = yield* callers.get(`/videos/${job.id}/content`, job.key)
      const made = Array.from(upstreams.jobs.values()).filter(({ tag }) => tag === job.tag)
      const isWhole =
        content._tag === "Answer" &&
        content.status === 200 &&
        made.some(({ handle }) => content.body.equals(upstreams.videoBytes(handle)))
      if (!isWhole) world.violated("a finished video can be read", `the video of ${job.tag}`)
    }
  })

/**
 * Checks that the bytes of deleted files are gone, before any sweep. A fault may leave them to the
 * sweep.
 */
export const checkDeleted = ({ callers, objects, world }: Options): void => {
  const { faults, kills } = world.counts
  if (faults + kills > 0) return
  for (const { id, isDeleted } of callers.memory.files) {
    if (isDeleted && objects.stored.has(`files/${id}`)) world.violated("a deleted file is gone", "its bytes are stored")
  }
}

/** Checks that exactly the objects with a record are stored. */
export const checkObjects = async ({ database, objects, world }: Options): Promise<void> => {
  const [files = [], jobs = []] = await database.read([
    "SELECT object_key FROM files",
    "SELECT outputs FROM video_jobs WHERE status = 'completed'"
  ])
  const known = new Set(files.map((row) => Dialect.text(row, "object_key")))
  for (const row of jobs) {
    for (const [, key = ""] of Dialect.text(row, "outputs").matchAll(/"object_key":"([^"]+)"/g)) known.add(key)
  }
  for (const key of objects.stored.keys()) {
    // The sweep marks the store as the database's.
    if (key.startsWith("owner/")) continue
    if (!known.has(key)) world.violated("no object is orphaned", `${key.split("/")[0]} without a record`)
  }
  for (const key of known) {
    if (!objects.stored.has(key)) world.violated("no object is lost", `a record of ${key.split("/")[0]} without it`)
  }
}
