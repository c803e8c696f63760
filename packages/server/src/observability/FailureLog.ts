/**
 * Logs failures for the operator: the first of each kind immediately, then, while it continues, how
 * many more there were per interval.
 *
 * A full disk fails every request. A log line for each would hide everything else and fill the rest
 * of the disk.
 */
import { Context, Duration, Effect, Layer, Schedule } from "effect"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** A failure to log. */
export interface Occurrence {
  /**
   * Identifies failures of the same kind: what went wrong, and where. Nothing that differs each
   * time, such as an id.
   */
  readonly kind: string
  /** Its level is that of its lines. */
  readonly event: LogEvent.Event
  readonly message: string
  /** Details of this failure, such as its request's id. */
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/** The failure log. */
export interface FailureLog {
  readonly report: (occurrence: Occurrence) => Effect.Effect<void>
}

const write = ({ annotations, event, message }: Occurrence): Effect.Effect<void> =>
  LogEvent.log(event, message, annotations)

/** By default every failure is logged. */
export const FailureLog = Context.Reference<FailureLog>("@model-gateway/server/observability/FailureLog", {
  defaultValue: () => ({ report: write })
})

/** Options of the log. */
export interface Options {
  /** Each kind is logged at most once per interval. Default: 1 minute. */
  readonly interval?: Duration.Input | undefined
}

/** Reports to the log in the context. */
export const report = (occurrence: Occurrence): Effect.Effect<void> =>
  Effect.flatMap(FailureLog, (log) => log.report(occurrence))

interface Known {
  writtenAt: number
  left: number
  last: Occurrence
}

/** Above this number of kinds, further ones count as one. */
const maxKinds = 500

/** How many times per interval ended intervals are checked for. */
const checksPerInterval = 6

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? ""

/** Makes the log. Closing the scope logs the remaining counts. */
export const make = Effect.fnUntraced(function* ({ interval = "1 minute" }: Options = {}) {
  const span = Duration.fromInputUnsafe(interval)
  const known = new Map<string, Known>()

  const more = ({ last, left }: Known): Effect.Effect<void> =>
    write({
      ...last,
      message: `${left} more within ${Duration.format(span)}. The last one: ${firstLine(last.message)}`
    })

  const look = Effect.fnUntraced(function* (isOver: (entry: Known) => boolean) {
    for (const [kind, entry] of known) {
      if (!isOver(entry)) continue
      if (entry.left === 0) {
        known.delete(kind)
        continue
      }
      const told = more(entry)
      entry.writtenAt = yield* MonotonicTime.millis
      entry.left = 0
      yield* told
    }
  })

  yield* Effect.addFinalizer(() => look(() => true))
  yield* Effect.forkScoped(
    Effect.repeat(
      Effect.flatMap(MonotonicTime.millis, (now) =>
        look(({ writtenAt }) => now - writtenAt >= Duration.toMillis(span))
      ),
      Schedule.spaced(Duration.divideUnsafe(span, checksPerInterval))
    )
  )

  const log: FailureLog = {
    report: Effect.fnUntraced(function* (occurrence) {
      const kind = known.has(occurrence.kind) || known.size < maxKinds ? occurrence.kind : "others"
      const entry = known.get(kind)
      if (entry === undefined) {
        known.set(kind, { writtenAt: yield* MonotonicTime.millis, left: 0, last: occurrence })
        return yield* write(occurrence)
      }
      entry.left++
      entry.last = occurrence
    })
  }
  return log
})

/**
 * The log that leaves out repetitions.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import * as FailureLog from "./FailureLog.ts"
 *
 * const sweep: Effect.Effect<void, Error> = Effect.void
 * const told = Effect.catch(sweep, ({ message }) => FailureLog.report({ kind: "sweep", event: "purge_failed", message }))
 * const program = Effect.provide(told, FailureLog.layer())
 * ```
 */
export const layer = (options?: Options): Layer.Layer<never> => Layer.effect(FailureLog, make(options))
