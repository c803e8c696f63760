/** This process as one of the workers of `serve --workers`. */
import { Effect, Option } from "effect"
import cluster from "node:cluster"
import { isToWorker, type FromWorker, type ToWorker } from "./WorkerMessages.ts"

/** The variable that tells a worker its number. */
export const numberVariable = "GATEWAY_WORKER_NUMBER"

/** The number of this worker, from 1. Undefined: the process is no worker. */
export const number: number | undefined = cluster.isWorker
  ? Number.parseInt(process.env[numberVariable] ?? "1", 10)
  : undefined

/** Sends a message to the primary process. Does nothing if this process is not a worker. */
const send = (message: FromWorker): void => {
  // A message that cannot be delivered is answered by the end of the connection.
  if (cluster.isWorker && process.connected) process.send?.(message, undefined, undefined, () => {})
}

/** Tells that this worker serves requests. */
export const ready = (banner: string): void => send({ kind: "ready", banner })

/** What a worker does for a message of the primary process. */
export interface Orders {
  readonly stop: () => void
  readonly reload: () => void
  /** Stops, because the process that started this worker has ended. */
  readonly abandoned: () => void
  /** Ends at once. */
  readonly end: () => void
}

/** Follows the orders of the process that started this worker. */
export const follow = ({ abandoned, end, reload, stop }: Orders): void => {
  const { worker } = cluster
  if (worker === undefined) return
  let isStopping = false
  process.on("message", (message: unknown) => {
    if (!isToWorker(message)) return
    if (message.kind === "stop") {
      isStopping = true
      stop()
    }
    if (message.kind === "reload") reload()
  })
  worker.on("disconnect", () => {
    // Otherwise Node ends the process at once, together with its requests.
    worker.exitedAfterDisconnect = true
    if (isStopping) return end()
    isStopping = true
    abandoned()
  })
}

let scrapes = 0

/** Milliseconds to wait for the metrics of the other workers. */
const scrapeTimeout = 5000

/**
 * The metrics of all workers. Sends those of this worker when it is asked, too. If the others do
 * not answer, they are those of this worker.
 */
export const allMetrics = (own: Effect.Effect<string>): Effect.Effect<string> => {
  process.on("message", (message: unknown) => {
    if (!isToWorker(message) || message.kind !== "scrape") return
    const { id } = message
    Effect.runFork(Effect.map(own, (text) => send({ kind: "scraped", id, text })))
  })
  const all = Effect.callback<string>((resume) => {
    const id = ++scrapes
    const listener = (message: ToWorker) => {
      if (isToWorker(message) && message.kind === "scrapedAll" && message.id === id) {
        resume(Effect.succeed(message.text))
      }
    }
    process.on("message", listener)
    send({ kind: "scrapeAll", id })
    return Effect.sync(() => void process.off("message", listener))
  })
  return Effect.flatMap(
    Effect.timeoutOption(all, scrapeTimeout),
    Option.match({ onNone: () => own, onSome: (text) => Effect.succeed(text) })
  )
}
