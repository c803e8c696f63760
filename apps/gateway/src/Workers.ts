/**
 * `serve --workers`: several processes on one port, and the process that starts them.
 *
 * That process accepts the connections and hands them to the workers in turn (`node:cluster`). So a
 * worker that stops loses no connection that waits, as it would if each worker listened by itself.
 * It serves no request and opens no database.
 *
 * A worker that ends by itself is replaced. A restart replaces one worker after the other: the new
 * one serves before the old one stops.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import * as LogEvent from "@model-gateway/server/LogEvent"
import { Data, Duration, Effect, Queue, Semaphore } from "effect"
import cluster, { type Worker } from "node:cluster"
import * as Announce from "./Announce.ts"
import { Crash } from "./Crash.ts"
import { ExitCode } from "./Failure.ts"
import * as Signals from "./Signals.ts"
import { numberVariable } from "./Worker.ts"
import { isFromWorker, type ToWorker } from "./WorkerMessages.ts"
import * as WorkerMetrics from "./WorkerMetrics.ts"

/** How the workers run. */
export interface Options {
  /** How many there are. */
  readonly count: number
  /** After this time a worker that was told to stop is ended. */
  readonly stopTimeout: Duration.Duration
}

/** A worker process. */
interface Process {
  readonly number: number
  /** Undefined if the system could not start it. */
  readonly worker: Worker | undefined
  /** What it would have printed, when it serves. Undefined if it ended before. */
  readonly ready: Promise<string | undefined>
  /** How it ended, to complete "ended …". */
  readonly exited: Promise<string>
  /** When it began to serve, in milliseconds. */
  readonly servesSince: () => number | undefined
}

/** The place of a worker, which one process after the other takes. */
interface Slot {
  readonly number: number
  readonly turn: Semaphore.Semaphore
  current: Process
}

/** A new worker ended, or took too long, before it served. */
class NotStarted extends Data.TaggedError("NotStarted") {}

/** A database may have to be migrated first. */
const startTimeout = Duration.minutes(10)

/** A worker that served for this long did not fail because of how it started. */
const settled = Duration.toMillis(Duration.minutes(1))

const maxPause = Duration.seconds(30)

/** The pause before the next process, after this many that ended soon after their start. */
const pauseAfter = (failures: number): Duration.Duration =>
  failures === 0 ? Duration.zero : Duration.min(Duration.seconds(2 ** (failures - 1)), maxPause)

/** Milliseconds to wait for the metrics of one worker. */
const scrapeTimeout = 2000

const tell = ({ worker }: Process, message: ToWorker): void => {
  // A worker that is gone is noticed by its exit.
  if (worker?.isConnected() === true) worker.send(message, () => {})
}

const pidOf = ({ worker }: Process): number | undefined => worker?.process.pid

const nameOf = (process: Process): string => {
  const pid = pidOf(process)
  return pid === undefined ? `Worker ${process.number}` : `Worker ${process.number} (process ${pid})`
}

/** How a process ended that the system could not start, such as for want of memory or of files. */
const notStarted = (cause: unknown): string =>
  `before it started (${ErrorCode.of(cause) ?? (cause instanceof Error ? cause.message : "unknown cause")})`

/**
 * Starts a process. Its secrets are in its environment, as those of this process, and not in its
 * arguments.
 */
const launch = (number: number): Process => {
  let worker: Worker
  try {
    worker = cluster.fork({ [numberVariable]: String(number) })
  } catch (cause) {
    return {
      number,
      worker: undefined,
      ready: Promise.resolve(undefined),
      exited: Promise.resolve(notStarted(cause)),
      servesSince: () => undefined
    }
  }
  let since: number | undefined
  const exited = new Promise<string>((resolve) => {
    worker.once("exit", (code, signal) => resolve(signal === null ? `with status ${code}` : `by ${signal}`))
    // Most failures to start a process are reported here; a running process reports its exit.
    worker.on("error", (error) => {
      if (worker.process.pid === undefined) resolve(notStarted(error))
    })
  })
  const ready = new Promise<string | undefined>((resolve) => {
    worker.on("message", (message: unknown) => {
      if (!isFromWorker(message) || message.kind !== "ready") return
      since = performance.now()
      resolve(message.banner)
    })
    void exited.then(() => resolve(undefined))
  })
  return { number, worker, ready, exited, servesSince: () => since }
}

const kill = ({ worker }: Process): void => void worker?.process.kill("SIGKILL")

/** The metrics of a worker. Undefined if it does not answer. */
const scrape = async ({ number, worker }: Process, id: number): Promise<WorkerMetrics.Page | undefined> =>
  new Promise((resolve) => {
    if (worker?.isConnected() !== true) return resolve(undefined)
    const end = (text?: string) => {
      clearTimeout(timer)
      worker.off("message", listener)
      resolve(text === undefined ? undefined : { worker: number, text })
    }
    const listener = (message: unknown) => {
      if (isFromWorker(message) && message.kind === "scraped" && message.id === id) end(message.text)
    }
    const timer = setTimeout(end, scrapeTimeout)
    worker.on("message", listener)
    worker.send({ kind: "scrape", id } satisfies ToWorker, () => {})
  })

/** Runs the workers until it is interrupted. Then they end after their requests. */
export const run = Effect.fnUntraced(function* ({ count, stopTimeout }: Options) {
  const crash = yield* Crash
  const slots: Array<Slot> = []
  const running = new Set<Process>()
  let isStopping = false
  let scrapes = 0

  const scrapeAll = async (asking: Worker, id: number): Promise<void> => {
    const scrapeId = ++scrapes
    const pages = await Promise.all(slots.map(({ current }) => scrape(current, scrapeId)))
    const text = WorkerMetrics.merge(pages.flatMap((page) => page ?? []))
    if (asking.isConnected()) asking.send({ kind: "scrapedAll", id, text } satisfies ToWorker, () => {})
  }

  const start = (number: number): Process => {
    const process = launch(number)
    running.add(process)
    void process.exited.then(() => running.delete(process))
    const { worker } = process
    worker?.on("message", (message: unknown) => {
      if (isFromWorker(message) && message.kind === "scrapeAll") void scrapeAll(worker, message.id)
    })
    return process
  }

  /** Waits until the process serves. */
  const serving = (process: Process) =>
    Effect.promise(() => process.ready).pipe(
      Effect.timeoutOrElse({
        duration: startTimeout,
        orElse: () =>
          Effect.as(
            Effect.sync(() => kill(process)),
            undefined
          )
      }),
      Effect.flatMap((banner) => (banner === undefined ? Effect.fail(new NotStarted()) : Effect.succeed(banner)))
    )

  /** Waits for the end of a process that was told to stop. */
  const ended = (process: Process) =>
    Effect.promise(async () => {
      const timer = setTimeout(() => kill(process), Duration.toMillis(stopTimeout))
      const how = await process.exited
      clearTimeout(timer)
      return how
    })

  /** Replaces the process of a place each time it ends by itself. */
  const keep = Effect.fnUntraced(function* (slot: Slot) {
    let failures = 0
    for (;;) {
      const { current } = slot
      const how = yield* Effect.promise(() => current.exited)
      if (slot.current !== current) continue
      if (isStopping) return
      const since = current.servesSince()
      failures = since !== undefined && performance.now() - since > settled ? 0 : failures + 1
      const pause = pauseAfter(failures)
      yield* LogEvent.log(
        "worker_ended",
        `${nameOf(current)} ended ${how}. Another process starts in ${Duration.toSeconds(pause)} seconds.`
      )
      yield* Effect.sleep(pause)
      yield* slot.turn
        .withPermits(1)(
          Effect.gen(function* () {
            // A restart was faster.
            if (slot.current !== current) return
            slot.current = start(slot.number)
            yield* serving(slot.current)
            yield* LogEvent.log(
              "worker_started",
              `Worker ${slot.number} serves again (process ${pidOf(slot.current)}).`
            )
          })
        )
        .pipe(Effect.ignore)
    }
  })

  /** Replaces one process after the other. */
  const restart = Effect.gen(function* () {
    yield* LogEvent.log("worker_started", `The ${count} workers are restarted, one after the other.`)
    for (const slot of slots) {
      yield* slot.turn.withPermits(1)(
        Effect.gen(function* () {
          const { current: old } = slot
          const next = start(slot.number)
          yield* serving(next)
          slot.current = next
          tell(old, { kind: "stop" })
          yield* ended(old)
          yield* LogEvent.log(
            "worker_started",
            `Worker ${slot.number} is process ${pidOf(next)} now, in place of ${pidOf(old) ?? "none"}.`
          )
        })
      )
    }
    yield* LogEvent.log("worker_started", "All workers were restarted.")
  }).pipe(
    Effect.catchTag("NotStarted", () =>
      LogEvent.log(
        "workers_not_restarted",
        "A new worker did not start, so the restart ends here. The workers that serve continue."
      )
    )
  )

  const stop = Effect.gen(function* () {
    isStopping = true
    yield* Announce.say("stopping", `Stopping ${running.size} workers. Press Ctrl-C again to stop at once.`)
    for (const process of running) tell(process, { kind: "stop" })
    const ends = yield* Effect.forEach([...running], ended, { concurrency: "unbounded" })
    if (ends.some((how) => how !== "with status 0")) crash.end("workers that did not stop as they should", 1)
  })

  return yield* Effect.gen(function* () {
    // From the start, so that no signal is lost. A worker that starts later reads what is new.
    const restarts = yield* Signals.queue("restart")
    yield* Signals.on("reload", () => {
      for (const process of running) tell(process, { kind: "reload" })
    })
    // The first one alone, because it may create the database, and its failure is that of all.
    const first = start(1)
    const banner = yield* Effect.catchTag(
      serving(first),
      "NotStarted",
      Effect.fnUntraced(function* () {
        // A process that ran has said why it ends.
        if (pidOf(first) === undefined) {
          const how = yield* Effect.promise(() => first.exited)
          yield* LogEvent.log("worker_ended", `${nameOf(first)} ended ${how}.`)
        }
        return yield* new ExitCode({ code: 1 })
      })
    )
    slots.push({ number: 1, turn: yield* Semaphore.make(1), current: first })
    for (let number = 2; number <= count; number++) {
      slots.push({ number, turn: yield* Semaphore.make(1), current: start(number) })
    }
    for (const slot of slots) yield* Effect.forkScoped(keep(slot))
    yield* Effect.ignore(Effect.forEach(slots, ({ current }) => serving(current), { concurrency: "unbounded" }))
    yield* Announce.say("started", `${banner}\nRequests are served by ${count} workers.`)

    return yield* Effect.forever(Effect.andThen(Queue.take(restarts), restart))
  }).pipe(
    Effect.scoped,
    Effect.onInterrupt(() => stop)
  )
})
