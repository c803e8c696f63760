import { describe, expect, it } from "@effect/vitest"
import { isFinal, type Status } from "@model-gateway/core/Video"
import { Clock, Duration, Effect, Layer, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as JobStatus from "../../src/video/JobStatus.ts"
import { isUnresolved, toWire, type VideoJob } from "../../src/video/VideoJob.ts"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as TestStorage from "../TestStorage.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { charge, layer, layerAt, makeUpstream, payer, reserving, submit } from "./TestVideo.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

/** Workspaces of one organization have different slugs. */
let slugs = 0

const output = { object_key: "videos/x-0", bytes: 7, sha256: "00" }

const money = Effect.fnUntraced(function* (workspaceId: string) {
  const accounting = yield* Accounting
  const balance = yield* accounting.balanceOf(workspaceId)
  const usage = yield* TestLedger.usageOf({ workspaceId })
  return { balance: balance?.balance, reserved: balance?.reserved, rows: usage.length }
})

const allowed: Readonly<Record<Status, ReadonlyArray<Status>>> = {
  pending: ["in_progress", "cancelled", "expired"],
  in_progress: ["completed", "failed", "cancelled", "expired"],
  completed: [],
  failed: [],
  cancelled: [],
  expired: []
}

/** Those that leave a job open are frequent, so that jobs do not end at once. */
const moves = [
  ...(["start", "start", "start", "start", "asking", "asking", "asking", "reroute", "reroute", "reroute"] as const),
  ...(["accepted", "accepted", "progress", "postpone", "resolve", "resolve"] as const),
  ...(["complete", "fail", "expire", "cancel"] as const)
] as const

const other = { provider: "other", upstream_model: "test/film", credential: "gateway", cost_micro: 40_000, duration: 5 }

/**
 * Makes the move, by a worker that has read the row as it is, or as it was before its last change.
 */
const apply = Effect.fnUntraced(function* (move: (typeof moves)[number], seen: VideoJob) {
  const jobs = yield* VideoJobs
  switch (move) {
    case "start":
      return yield* jobs.start(seen)
    case "asking":
      return yield* jobs.asking(seen)
    case "reroute":
      return yield* jobs.reroute(
        seen,
        { candidate: other, candidates: [other], startsOver: false },
        Duration.seconds(1),
        1
      )
    case "accepted":
      return yield* jobs.accepted(seen, "up-1", Duration.zero)
    case "progress":
      return yield* jobs.progress(seen, 0.5)
    case "postpone":
      return yield* jobs.postpone(seen, Duration.seconds(1), 1)
    case "complete":
      return yield* jobs.complete(seen, [output], charge)
    case "fail":
      return yield* jobs.fail(seen, "why")
    case "expire":
      return yield* jobs.expire(seen)
    case "cancel":
      return yield* jobs.cancel(seen.workspaceId, seen.id)
    case "resolve":
      return yield* jobs.resolve(seen.id)
  }
})

/** The columns that a move writes besides step and times. Undefined: it is not allowed. */
const changeOf = (move: (typeof moves)[number], job: VideoJob, seen: VideoJob, now: number) => {
  const to = (status: Status, change: Partial<VideoJob> = {}): Partial<VideoJob> | undefined =>
    allowed[job.status].includes(status) ? { status, ...change } : undefined
  const isRunning = job.status === "in_progress"
  if (move === "cancel") return to("cancelled")
  if (move === "resolve") {
    const isStopped = job.status === "cancelled" || job.status === "expired"
    return isStopped && job.handle === null ? { askedAt: null, error: null } : undefined
  }
  // Another worker has taken the job over.
  if (seen.step !== job.step) return undefined
  switch (move) {
    case "start":
      return to("in_progress")
    case "asking":
      return isRunning ? { askedAt: now } : undefined
    case "reroute":
      return isRunning
        ? { provider: "other", candidates: [other], cost: MicroCredits.make(40_000), askedAt: null }
        : undefined
    case "accepted":
      return isRunning ? { handle: "up-1", generationId: job.reservationId } : undefined
    case "progress":
      return isRunning ? { progress: 0.5 } : undefined
    case "postpone":
      return isFinal(job.status) ? undefined : {}
    case "complete":
      return to("completed", { outputs: [output], cost: charge.cost })
    case "fail":
      return to("failed", { error: "why" })
    case "expire":
      return to("expired")
  }
}

const isTransition = (move: (typeof moves)[number]) => !["asking", "progress", "resolve"].includes(move)

describe("JobStatus", () => {
  it("knows the moves of the contract and no other", () => {
    for (const from of JobStatus.all) {
      for (const to of JobStatus.all) {
        expect(JobStatus.canMove(from, to), `${from} to ${to}`).toBe(allowed[from].includes(to))
      }
    }
    expect(JobStatus.open).toEqual(["pending", "in_progress"])
  })
})

describe("VideoJobs", () => {
  it.effect("reports an end only while its workspace has an enabled destination", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const by = yield* payer()
      const failing = Effect.gen(function* () {
        const job = yield* submit(by)
        yield* jobs.fail((yield* jobs.start(job)) ?? job, "why")
        return job.id
      })
      yield* TestOutbox.setDestination("other")
      yield* failing
      yield* TestOutbox.setDestination(by.workspaceId, false)
      yield* failing
      expect(yield* TestOutbox.all).toEqual([])
      yield* TestOutbox.setDestination(by.workspaceId, true)
      const id = yield* failing
      expect(yield* TestOutbox.all).toMatchObject([{ type: "video.failed", job: { id } }])
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("reports each job's end once, with what the caller sent for tracing", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const by = yield* payer()
      yield* TestOutbox.setDestination(by.workspaceId)
      const request = { user: "ada", trace: { trace_id: "t" } }
      const failed = yield* submit(by, { request })
      const cancelled = yield* submit(by, { request })
      const completed = yield* submit(by, { request })
      expect(yield* TestOutbox.all).toEqual([])

      const running = yield* jobs.start(failed)
      yield* jobs.fail(running ?? failed, "no harbors today")
      expect(yield* jobs.fail(running ?? failed, "again")).toBeNull()
      yield* jobs.cancel(by.workspaceId, cancelled.id)
      yield* jobs.cancel(by.workspaceId, cancelled.id)
      const done = yield* jobs.accepted((yield* jobs.start(completed)) ?? completed, "up-1", Duration.zero)
      yield* jobs.complete(done ?? completed, [], charge)

      const common = { workspace_id: by.workspaceId, key_hash: by.keyHash, model: "test/film", ...request }
      expect(yield* TestOutbox.all).toMatchObject([
        { ...common, type: "video.failed", cost_micro: 0, job: { id: failed.id, error: "no harbors today" } },
        { ...common, type: "video.cancelled", cost_micro: 0, job: { id: cancelled.id, status: "cancelled" } },
        {
          ...common,
          type: "video.completed",
          cost_micro: 50_000,
          usage: { seconds: 5 },
          generation_id: completed.reservationId,
          job: { id: completed.id, status: "completed" }
        }
      ])
      const entry = { operation: "video", provider: failed.provider, upstreamModel: failed.upstreamModel, cost: 0 }
      expect(yield* TestLedger.failures).toMatchObject([
        { ...entry, id: failed.reservationId, jobId: failed.id, status: "failed" },
        { ...entry, id: cancelled.reservationId, jobId: cancelled.id, status: "cancelled" }
      ])
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("makes no job of one that cannot be paid", () =>
    Effect.gen(function* () {
      const by = yield* payer(49_999)
      expect((yield* Effect.flip(submit(by)))._tag).toBe("InsufficientCredits")
      expect(yield* (yield* VideoJobs).overdue).toEqual([])
      expect(yield* money(by.workspaceId)).toEqual({ balance: 49_999, reserved: 0, rows: 0 })
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("makes no job and reserves no money when what belongs to it fails", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const by = yield* payer()
      const id = yield* jobs
        .submit(
          {
            owner: by,
            request: { model: "test/film", prompt: "x", duration: 5 },
            candidates: [
              { provider: "test", upstream_model: "test/film", cost_micro: (yield* submit(by)).cost, duration: 5 }
            ],
            callbackUrl: null,
            lifetime: Duration.hours(1)
          },
          reserving(by, 50_000),
          (job) => Effect.fail(job.id)
        )
        .pipe(Effect.flip)
      expect(yield* jobs.find(String(id))).toBeNull()
      expect((yield* money(by.workspaceId)).reserved).toBe(50_000)
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("shows a job to its own workspace only, and lets no other cancel it", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const by = yield* payer()
      const workspaces = yield* WorkspaceStore
      const ours = yield* workspaces.find(by.workspaceId)
      const theirs = yield* workspaces.create(ours.organizationId, { name: "theirs", slug: "theirs" })
      const job = yield* submit(by)
      expect((yield* Effect.flip(jobs.get(theirs.id, job.id)))._tag).toBe("VideoJobNotFound")
      expect((yield* Effect.flip(jobs.cancel(theirs.id, job.id)))._tag).toBe("VideoJobNotFound")
      expect((yield* jobs.get(by.workspaceId, job.id)).status).toBe("pending")
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("keeps the request as it was", () =>
    Effect.gen(function* () {
      const by = yield* payer()
      const request = {
        seed: 7,
        size: "1280x720",
        frame_images: [
          { type: "image_url", image_url: { url: "https://example.com/a.png" }, frame_type: "first_frame" }
        ],
        trace: { trace_id: "t", team: { id: 1 } },
        user: "someone"
      } as const
      const job = yield* submit(by, { request })
      const kept = yield* (yield* VideoJobs).requestOf(job.id)
      expect(kept).toEqual({ model: "test/film", prompt: "a harbor", duration: 5, ...request })
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("stands on the wire without what is not there yet", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const by = yield* payer()
      const job = yield* submit(by)
      const base = {
        id: job.id,
        polling_url: `/api/v1/videos/${job.id}`,
        model: "test/film",
        created_at: "1970-01-01T00:00:00.000Z"
      }
      expect(toWire(job)).toEqual({ ...base, status: "pending" })
      const started = (yield* jobs.start(job)) ?? job
      const accepted = (yield* jobs.accepted(started, "up-1", Duration.zero)) ?? job
      yield* jobs.progress(accepted, 0.25)
      expect(toWire(yield* jobs.get(by.workspaceId, job.id))).toEqual({
        ...base,
        status: "in_progress",
        generation_id: job.reservationId,
        progress: 0.25
      })
      const done = (yield* jobs.complete(accepted, [output, output], charge)) ?? job
      expect(toWire(done)).toEqual({
        ...base,
        status: "completed",
        generation_id: job.reservationId,
        progress: 1,
        usage: { cost: 0.05, is_byok: false },
        unsigned_urls: [`${base.polling_url}/content?index=0`, `${base.polling_url}/content?index=1`]
      })
      const other = (yield* jobs.start(yield* submit(by))) ?? job
      expect(toWire((yield* jobs.fail(other, "no")) ?? job)).toMatchObject({ status: "failed", error: "no" })
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )
})

const Sequence = Schema.Array(
  Schema.Struct({ move: Schema.Literals(moves), isLate: Schema.Literals([false, false, false, true]) })
).check(Schema.isMaxLength(15))

/** All wake-ups. */
const offered: Array<VideoQueue.Message> = []

const layerRecorded = Layer.unwrap(
  Effect.map(TestStorage.create, (location) =>
    layerAt(
      location,
      [makeUpstream().offers],
      Layer.succeed(VideoQueue.VideoQueue, {
        offer: (message) => Effect.sync(() => void offered.push(message)),
        take: () => Effect.never
      }),
      ObjectStore.layerMemory
    )
  )
)

/** A payer in a workspace of its own, with a credit. */
const newPayer = Effect.gen(function* () {
  const workspaces = yield* WorkspaceStore
  const { organizationId } = yield* workspaces.ensureDefault()
  const { id: workspaceId } = yield* workspaces.create(organizationId, { name: "w", slug: `w${slugs++}` })
  yield* (yield* Accounting).addCredits(workspaceId, MicroCredits.make(1_000_000))
  const { keyHash } = yield* payer()
  return { keyHash, workspaceId, guardrailId: null }
})

it.layer(layerRecorded)("any sequence of moves", (it) => {
  it.effect.prop(
    "changes a job as the contract allows, keeps a wake-up for an open one, and settles its money once",
    [Sequence],
    ([sequence]) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const by = yield* newPayer
        yield* TestOutbox.setDestination(by.workspaceId)
        let before = yield* submit(by)
        let stale = before
        for (const { isLate, move } of sequence) {
          yield* TestClock.adjust("1 second")
          const now = yield* Clock.currentTimeMillis
          const seen = isLate ? stale : before
          const change = changeOf(move, before, seen, now)
          const answer = yield* apply(move, seen)
          const after = yield* jobs.get(by.workspaceId, before.id)
          const moved = change !== undefined && isTransition(move)
          const times = moved
            ? { step: before.step + 1, updatedAt: now, completedAt: isFinal(after.status) ? now : null }
            : {}
          expect(after).toEqual({ ...before, ...change, ...times })
          if (isTransition(move)) expect(answer).toEqual(moved || move === "cancel" ? after : null)
          else if (move !== "resolve") expect(answer).toBe(change !== undefined)

          const wakeUp = offered.findLast(({ job_id }) => job_id === after.id)
          const mayRunUpstream = (after.status === "cancelled" || after.status === "expired") && after.handle !== null
          if (!isFinal(after.status) || mayRunUpstream) expect(wakeUp?.step).toBe(after.step)
          const request = yield* Effect.option(jobs.requestOf(after.id))
          expect(Option.isSome(request)).toBe(!isFinal(after.status) || isUnresolved(after))
          const { balance, reserved } = yield* money(by.workspaceId)
          expect(reserved).toBe(isFinal(after.status) ? 0 : 50_000)
          expect(balance).toBe(after.status === "completed" ? 950_000 : 1_000_000)

          if (after.step !== before.step) stale = before
          before = after
        }
        const entry = { id: before.reservationId, jobId: before.id, operation: "video", provider: before.provider }
        const usage = yield* TestLedger.usageOf({ workspaceId: by.workspaceId })
        expect(usage).toMatchObject(
          before.status === "completed" ? [{ ...entry, cost: 50_000, usage: { seconds: 5 } }] : []
        )
        const events = (yield* TestOutbox.all).filter(({ job }) => job?.id === before.id)
        expect(events.map(({ job }) => job?.status)).toEqual(isFinal(before.status) ? [before.status] : [])
      }),
    { arbitrary: { seed: "video job", size: 40, runs: 200 } }
  )
})
