/**
 * Ends connections whose client is too slow, or gone.
 *
 * Each connection is checked once a second, whatever reads the body of its request, so that the
 * check adds no cost to a request.
 */
import { type Connection, type Exchange, isOver, refuse } from "./Refusals.ts"

/** How fast a body must arrive. */
export interface BodyRate {
  readonly bytesPerSecond: number
  /**
   * In milliseconds: within each span of this length the body must bring as many bytes as the rate
   * asks for.
   */
  readonly grace: number
}

interface Progress {
  since: number
  bytes: number
}

/**
 * Refuses with 408 each request whose body arrives slower than the rate. Time in which the service
 * itself does not read the body does not count.
 */
export const refuseSlowBodies = (connections: Iterable<Connection>, { bytesPerSecond, grace }: BodyRate): void => {
  const interval = Math.min(1000, grace / 4)
  const progresses = new WeakMap<Exchange, Progress>()
  let lookedAt = performance.now()

  const look = (connection: Connection, now: number, wasBlocked: boolean): void => {
    const { current, previous, socket } = connection
    if (previous !== undefined && isOver(previous)) connection.previous = undefined
    if (current === undefined) return
    if (current.request.complete) {
      if (isOver(current)) connection.current = undefined
      return
    }
    const progress = progresses.get(current)
    const isFull = current.request.readableLength >= current.request.readableHighWaterMark
    if (progress === undefined || isFull || wasBlocked) {
      progresses.set(current, { since: now, bytes: socket.bytesRead })
    } else if (now - progress.since >= grace) {
      if (socket.bytesRead - progress.bytes < (bytesPerSecond * grace) / 1000) refuse(connection, "SLOW_BODY")
      progress.since = now
      progress.bytes = socket.bytesRead
    }
  }

  setInterval(() => {
    const now = performance.now()
    // What came while the event loop stood still has not been read yet.
    const wasBlocked = now - lookedAt > interval * 2
    lookedAt = now
    for (const connection of connections) look(connection, now, wasBlocked)
  }, interval).unref()
}

/** Longer than an answer usually takes, so that most clients never see an interim response. */
const probeEvery = 250

/**
 * HTTP/1.0 has no interim responses: such a client gets its answer if it comes within this time.
 */
const longestUnprobed = 5000

/**
 * A client that has ended its side of the connection may wait for its answer, or be gone. Interim
 * responses tell: a client that is gone resets the connection, and its request is interrupted.
 */
export const probeHalfClosed = (connection: Connection): void => {
  const { socket, unsent } = connection
  socket.on("end", () => {
    const endedAt = performance.now()
    const timer = setInterval(() => {
      const [next] = unsent
      if (next === undefined || next.headersSent) return
      if (next.req.httpVersionMinor > 0) next.writeProcessing()
      else if (performance.now() - endedAt > longestUnprobed) socket.destroy()
    }, probeEvery)
    socket.once("close", () => clearInterval(timer))
  })
}
