/** A worker of video jobs is killed before and after each of its commits. */
import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { isFinal } from "@model-gateway/core/Video"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createServer } from "node:http"
import * as LocalObjectStore from "../../src/objects/LocalObjectStore.ts"
import { toWire } from "../../src/video/VideoJob.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as VideoWorker from "../../src/video/VideoWorker.ts"
import * as Processes from "../Processes.ts"
import { type Database, databases } from "../TestDatabases.ts"
import { layerClient, temporaryFolder } from "../TestStorage.ts"
import { layerAt, makeUpstream, model, payer, submit, type Upstream } from "./TestVideo.ts"
import { charged, money, read, untouched } from "./TestWorker.ts"

/**
 * The upstream over HTTP, for the worker that dies. POST /{token} submits a job. Returns its
 * origin.
 */
const served = (upstream: Upstream) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly origin: string; readonly close: () => void }>((resume) => {
      const server = createServer((request, response) => {
        const token = (request.url ?? "").slice(1)
        response.end(upstream.jobs.get(token) ?? upstream.jobs.set(token, `up-${upstream.jobs.size + 1}`).get(token))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ origin: `http://127.0.0.1:${port}`, close: () => void server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

interface Death {
  readonly step: "start" | "asking" | "accepted" | "complete"
  readonly when: "before" | "after"
  readonly isIdempotent: boolean
  readonly isCancelled: boolean
}

/** A worker that dies so, and another one that goes on. Checks the job that they had. */
const survives = Effect.fnUntraced(function* (database: Database, { isCancelled, isIdempotent, step, when }: Death) {
  const location = yield* database.create
  const objects = yield* temporaryFolder
  const upstream = makeUpstream([{ ...model, isIdempotent }])
  const { origin } = yield* served(upstream)
  const process = layerAt(
    location,
    [upstream.offers],
    VideoQueue.layerSql,
    LocalObjectStore.layer(objects).pipe(Layer.provide(NodeServices.layer))
  )
  const [by, { id }] = yield* Effect.gen(function* () {
    const by = yield* payer()
    return [by, yield* submit(by)] as const
  }).pipe(Effect.provide(process))

  const how = isIdempotent ? "idempotent" : "once"
  const child = yield* Processes.start("video/fixtures/dyingWorker.ts", [location, objects, origin, step, when, how])
  yield* Effect.ignore(child.exitCode)

  yield* Effect.gen(function* () {
    const sql = yield* SqlClient
    // As though the 10 seconds of its lock had passed.
    const past = database.name === "sqlite" ? "datetime('now', '-1 minute')" : "NOW() - INTERVAL '1 minute'"
    yield* sql`UPDATE effect_queue SET acquired_at = ${sql.literal(past)} WHERE acquired_at IS NOT NULL`
  }).pipe(Effect.provide(layerClient(location)))

  return yield* Effect.gen(function* () {
    const jobs = yield* VideoJobs
    if (isCancelled) yield* jobs.cancel(by.workspaceId, id)
    yield* Layer.build(VideoWorker.layerBackground())
    yield* Effect.repeat(read(id), {
      until: (job) => isFinal(job.status) && (!isCancelled || job.askedAt === null),
      schedule: Schedule.spaced("20 millis")
    })
    return { job: toWire(yield* read(id)), money: yield* money(by.workspaceId), upstream }
  }).pipe(Effect.provide(process))
}, Effect.scoped)

const points = (["start", "asking", "accepted", "complete"] as const).flatMap((step) =>
  (["before", "after"] as const).map((when) => ({ step, when }))
)

describe.each(databases)("a killed worker of video jobs, on $name", (database) => {
  it.live(
    "leaves a job that is made and charged once, whichever commit it dies before or after",
    () =>
      Effect.forEach(
        points,
        (point) =>
          Effect.map(
            survives(database, { ...point, isIdempotent: true, isCancelled: false }),
            ({ job, money, upstream }) => {
              expect([point, job.status]).toEqual([point, "completed"])
              expect([point, money]).toEqual([point, charged])
              expect([point, upstream.jobs.size, upstream.cancelled]).toEqual([point, 1, []])
            }
          ),
        { concurrency: 2, discard: true }
      ).pipe(Effect.provide(NodeServices.layer)),
    120_000
  )

  it.live(
    "leaves a job that is cancelled upstream too when its acceptance was not recorded, or that says so",
    () =>
      Effect.gen(function* () {
        const death = { step: "accepted", when: "before", isCancelled: true } as const
        const known = yield* survives(database, { ...death, isIdempotent: true })
        expect(known.job).toMatchObject({ status: "cancelled" })
        expect(known.job.error).toBeUndefined()
        expect(known.upstream.cancelled).toEqual(["up-1"])
        expect(known.money).toEqual(untouched)

        const lost = yield* survives(database, { ...death, isIdempotent: false })
        expect(lost.job).toMatchObject({ status: "cancelled" })
        expect(lost.job.error).toMatch(/^the response of the provider test was lost before the job ended\./)
        expect([...lost.upstream.jobs.values()]).toEqual(["up-1"])
        expect(lost.money).toEqual(untouched)
      }).pipe(Effect.provide(NodeServices.layer)),
    60_000
  )

  it.live(
    "leaves a job that fails and costs nothing when an upstream without an idempotency key has accepted it",
    () =>
      Effect.gen(function* () {
        const failed = yield* survives(database, {
          step: "accepted",
          when: "before",
          isIdempotent: false,
          isCancelled: false
        })
        expect(failed.job.status).toBe("failed")
        expect(failed.job.error).toMatch(/^the response of the provider test was lost\./)
        expect([failed.upstream.jobs.size, failed.upstream.submissions.length]).toEqual([1, 0])
        expect(failed.money).toEqual(untouched)
      }).pipe(Effect.provide(NodeServices.layer)),
    60_000
  )
})
