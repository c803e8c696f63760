/**
 * Long polls of video jobs.
 *
 * Polls do not read the database themselves. One fiber reads the jobs that anyone waits for: all of
 * them together once per second, because another process may have changed them, and a job at once
 * when this process has changed it. A change is read once, however many polls wait for it.
 */
import { Context, Deferred, Effect, Exit, Latch, Layer, type Scope } from "effect"
import * as FairShare from "@model-gateway/offers/FairShare"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import type { VideoJob } from "./VideoJob.ts"
import { VideoJobs } from "./VideoJobs.ts"
import { VideoSignals } from "./VideoSignals.ts"

/** The long polls. */
export class VideoWaits extends Context.Service<
  VideoWaits,
  {
    /**
     * A place for a poll of the key until the scope closes. False if the key has as many as it may
     * have, or this process has.
     */
    readonly enter: (keyHash: string) => Effect.Effect<boolean, never, Scope.Scope>
    /**
     * Waits until the status differs from that of `job`, or `end` completes. Returns the job as it
     * then is, or null if it no longer exists.
     */
    readonly changed: <E, R>(
      job: VideoJob,
      end: Effect.Effect<unknown, E, R>
    ) => Effect.Effect<VideoJob | null, E | StorageError, R>
  }
>()("@model-gateway/server/video/VideoWaits") {}

type Read = Exit.Exit<VideoJob | null, StorageError>

interface Waiter {
  readonly seen: VideoJob
  readonly change: Deferred.Deferred<VideoJob | null, StorageError>
}

/** A job that someone waits for. */
interface Watched {
  readonly waiters: Set<Waiter>
  /** The newest row that was read. */
  job: VideoJob
}

/** Another process may have changed a job. */
const readEvery = "1 second"

/** Jobs that one statement reads. */
const maxJobsPerRead = 500

/** Changed jobs that are read at the same time. Each takes a connection to Postgres. */
const maxReads = 2

const chunksOf = (ids: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from({ length: Math.ceil(ids.length / maxJobsPerRead) }, (_, at) =>
    ids.slice(at * maxJobsPerRead, (at + 1) * maxJobsPerRead)
  )

const isNewer = (job: VideoJob, than: VideoJob): boolean => job.step > than.step

/** Whether the status has changed since. A row may also have been read before the other one. */
const hasChanged = (seen: VideoJob, job: VideoJob): boolean => isNewer(job, seen) && job.status !== seen.status

/** Makes the service, which reads until the scope closes. */
export const make = Effect.gen(function* () {
  const jobs = yield* VideoJobs
  const signals = yield* VideoSignals
  const { videos } = yield* GatewayServerConfig
  const places = FairShare.make({ capacity: videos.waits, perOwner: videos.waitsPerKey })
  const watched = new Map<string, Watched>()
  const changedHere = new Set<string>()
  const somethingToRead = Latch.makeUnsafe()

  yield* signals.listen((jobId) => {
    if (!watched.has(jobId)) return
    changedHere.add(jobId)
    somethingToRead.openUnsafe()
  })

  /** Takes in what was read of a job, and ends the polls that wait for it. */
  const take = (id: string, read: Read): void => {
    const entry = watched.get(id)
    if (entry === undefined) return
    const job = Exit.isSuccess(read) ? read.value : null
    if (job !== null) entry.job = job
    for (const { change, seen } of entry.waiters) {
      if (job === null || hasChanged(seen, job)) Deferred.doneUnsafe(change, read)
    }
  }

  const readJob = (id: string) => Effect.map(Effect.exit(jobs.find(id)), (read) => take(id, read))

  /**
   * Reads these jobs as far as they have changed. A row that cannot be read affects no other job.
   */
  const readJobs = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    const states = yield* Effect.exit(jobs.states(ids))
    if (Exit.isFailure(states)) return ids.forEach((id) => take(id, Exit.failCause(states.cause)))
    const changed = ids.filter((id) => {
      const [job, state] = [watched.get(id)?.job, states.value.get(id)]
      return job !== undefined && (state?.step !== job.step || state.progress !== job.progress)
    })
    yield* Effect.forEach(changed, readJob, { discard: true, concurrency: maxReads })
  })

  /** Reads what this process has changed until it is time to read all jobs. */
  const readChanges = Effect.forever(
    Effect.gen(function* () {
      yield* somethingToRead.await
      yield* somethingToRead.close
      const ids = Array.from(changedHere)
      changedHere.clear()
      yield* Effect.forEach(chunksOf(ids), readJobs, { discard: true })
    })
  )

  const readAll = Effect.suspend(() =>
    Effect.forEach(chunksOf(Array.from(watched.keys())), readJobs, { discard: true })
  )

  yield* Effect.forkScoped(readChanges)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(readEvery), readAll)))

  const enter = (keyHash: string) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => places.enter(keyHash, 1)),
        (ticket) => Effect.sync(ticket.leave)
      ),
      (ticket) => {
        const isGranted = ticket.isGranted()
        // Nobody queues for a place: the poll is answered instead.
        if (!isGranted) ticket.leave()
        return isGranted
      }
    )

  const changed: VideoWaits["Service"]["changed"] = (job, end) =>
    Effect.suspend(() => {
      const entry = watched.get(job.id) ?? { waiters: new Set(), job }
      const waiter: Waiter = { seen: job, change: Deferred.makeUnsafe() }
      watched.set(job.id, entry)
      entry.waiters.add(waiter)
      if (isNewer(job, entry.job)) entry.job = job
      // The others have seen a change that came after this poll has read the job.
      if (hasChanged(job, entry.job)) Deferred.doneUnsafe(waiter.change, Exit.succeed(entry.job))
      const leave = Effect.sync(() => {
        entry.waiters.delete(waiter)
        if (entry.waiters.size === 0) watched.delete(job.id)
      })
      const ended = Effect.map(end, () => (isNewer(job, entry.job) ? job : entry.job))
      return Effect.ensuring(Effect.raceFirst(Deferred.await(waiter.change), ended), leave)
    })

  return VideoWaits.of({ enter, changed })
})

/** The long polls of this process. */
export const layer: Layer.Layer<VideoWaits, never, VideoJobs | VideoSignals> = Layer.effect(VideoWaits, make)
