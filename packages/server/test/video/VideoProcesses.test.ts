import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { isFinal } from "@model-gateway/core/Video"
import { Duration, Effect, Layer, Schedule } from "effect"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as LocalObjectStore from "../../src/objects/LocalObjectStore.ts"
import { ObjectStore } from "../../src/objects/ObjectStore.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as VideoWorker from "../../src/video/VideoWorker.ts"
import { runAndKill } from "../Processes.ts"
import { create, temporaryFolder } from "../TestStorage.ts"
import { layerAt, makeUpstream, payer, reserving, submit } from "./TestVideo.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

const objectsIn = (folder: string) =>
  LocalObjectStore.layer(`${folder}/objects`).pipe(Layer.provide(NodeServices.layer))

/** Reads the rows until all these jobs are over. */
const untilFinal = (ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const jobs = yield* VideoJobs
    const rows = yield* Effect.forEach(ids, (id) => jobs.find(id))
    return rows.flatMap((row) => (row === null ? [] : [row]))
  }).pipe(
    Effect.repeat({
      until: (rows) => rows.every((row) => isFinal(row.status)),
      schedule: Schedule.spaced("100 millis")
    })
  )

/** Runs a worker until it has said something, and kills it then. */
const killedWhenItSpeaks = (folder: string, location: string, jobId: string, how: "work" | "hang") =>
  runAndKill("video/fixtures/worker.ts", folder, location, jobId, how)

/** A title card, for a cent a second. */
const submitCard = Effect.fnUntraced(function* (duration: number) {
  const by = yield* payer()
  const job = yield* (yield* VideoJobs).submit(
    {
      owner: by,
      request: { model: "sandbox/title-card", prompt: "a harbor", duration, resolution: "480p" },
      candidates: [
        { provider: "sandbox", upstream_model: "sandbox/title-card", cost_micro: duration * 10_000, duration }
      ],
      callbackUrl: null,
      lifetime: Duration.hours(1)
    },
    reserving(by, duration * 10_000)
  )
  return { by, id: job.id }
})

// At the same time, because they wait for 10 seconds until the lock of a killed process expires.
describe.concurrent("video jobs of several processes", () => {
  it.live(
    "do each job once between two workers on one database",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const location = yield* create
        const upstream = makeUpstream()
        upstream.poll = () =>
          upstream.polls % 3 === 0
            ? Effect.succeed({ status: "completed", outputs: 1 })
            : Effect.succeed({ status: "in_progress" })
        const process = layerAt(location, [upstream.offers], VideoQueue.layerSql, objectsIn(folder))
        const working = VideoWorker.layerBackground().pipe(
          Layer.provideMerge(process),
          Layer.provide(GatewayServerConfig.layer({ videos: { concurrency: 4 } }))
        )
        yield* Effect.gen(function* () {
          const by = yield* payer()
          const jobs = yield* Effect.forEach(Array.from({ length: 20 }), (_, n) =>
            submit(by, { request: { prompt: `job ${n}` } })
          )
          // Another process over the same file, as far as file and database can tell.
          yield* Layer.build(Layer.fresh(working))
          const rows = yield* untilFinal(jobs.map(({ id }) => id))
          expect(rows.map(({ status }) => status)).toEqual(jobs.map(() => "completed"))
          expect(upstream.jobs.size).toBe(20)
          expect(new Set(upstream.submitted.map(({ prompt }) => prompt)).size).toBe(20)
          const accounting = yield* Accounting
          expect((yield* TestLedger.usageOf({ workspaceId: by.workspaceId })).length).toBe(20)
          expect(yield* accounting.balanceOf(by.workspaceId)).toMatchObject({ balance: 0, reserved: 0 })
        }).pipe(Effect.provide(working))
      }).pipe(Effect.scoped),
    60_000
  )

  it.live(
    "complete a job once whose process was killed in the middle of its render",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const location = yield* create
        const sandbox = yield* Sandbox.make()
        const process = layerAt(location, [sandbox], VideoQueue.layerSql, objectsIn(folder))
        const { by, id } = yield* Effect.provide(submitCard(5), Layer.fresh(process))
        expect(yield* killedWhenItSpeaks(folder, location, id, "work")).toMatch(/^rendering 0\.\d+/)

        yield* Effect.gen(function* () {
          const accounting = yield* Accounting
          expect(yield* accounting.balanceOf(by.workspaceId)).toMatchObject({ balance: 1_000_000, reserved: 50_000 })
          const [job] = yield* untilFinal([id])
          expect(job).toMatchObject({ status: "completed", error: null })
          const objects = yield* ObjectStore
          const output = job?.outputs[0]
          expect((yield* objects.open(output?.object_key ?? "")).bytes).toBe(output?.bytes)
          const usage = yield* TestLedger.usageOf({ workspaceId: by.workspaceId })
          expect(usage).toMatchObject([{ jobId: id, cost: 50_000 }])
          expect(yield* accounting.balanceOf(by.workspaceId)).toMatchObject({ balance: 950_000, reserved: 0 })
        }).pipe(Effect.provide(VideoWorker.layerBackground().pipe(Layer.provideMerge(Layer.fresh(process)))))
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "have one job upstream, and one charge, when a process was killed before it recorded what the upstream accepted",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const location = yield* create
        const sandbox = yield* Sandbox.make()
        const process = layerAt(location, [sandbox], VideoQueue.layerSql, objectsIn(folder))
        const { by, id } = yield* Effect.provide(submitCard(1), Layer.fresh(process))
        const said = yield* killedWhenItSpeaks(folder, location, id, "hang")
        expect(said).toMatch(/^accepted "card_/)
        const left = Effect.flatMap(VideoJobs, (jobs) => jobs.find(id))
        expect(yield* Effect.provide(left, Layer.fresh(process))).toMatchObject({
          status: "in_progress",
          handle: null
        })

        yield* Effect.gen(function* () {
          const [job] = yield* untilFinal([id])
          expect(`accepted ${JSON.stringify(job?.handle)}`).toBe(said)
          expect(job).toMatchObject({ status: "completed", error: null })
          const accounting = yield* Accounting
          const usage = yield* TestLedger.usageOf({ workspaceId: by.workspaceId })
          expect(usage).toMatchObject([{ jobId: id, cost: 10_000 }])
          expect(yield* accounting.balanceOf(by.workspaceId)).toMatchObject({ balance: 990_000, reserved: 0 })
        }).pipe(Effect.provide(VideoWorker.layerBackground().pipe(Layer.provideMerge(Layer.fresh(process)))))
      }).pipe(Effect.scoped),
    120_000
  )
})
