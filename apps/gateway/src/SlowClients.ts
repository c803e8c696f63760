/**
 * Closes connections of clients that are too slow or have disconnected.
 *
 * One timer checks every connection once per second, so that the check adds no work to a request.
 */
import { type Connection, type Exchange, isOver, type Refuse } from "./Refusals.ts"

/** The minimum rate of a request body. */
export interface BodyRate {
  readonly bytesPerSecond: number
  /** The first span over which the rate is measured, in milliseconds. Default: `grace`. */
  readonly firstGrace?: number
  /** Each further span, in milliseconds. */
  readonly grace: number
}

interface Progress {
  readonly since: number
  readonly bytes: number
  /** The length of this span. */
  readonly span: number
}

/** A client that waits for "100 Continue" sends nothing before the service reads. */
const firstSpan = ({ request }: Exchange, { firstGrace, grace }: BodyRate): number =>
  request.headers.expect === undefined ? Math.min(firstGrace ?? grace, grace) : grace

/**
 * Rejects each request whose body arrives slower than the rate, with status 408. Time in which the
 * service itself does not read the body does not count.
 */
export const refuseSlowBodies = (connections: Iterable<Connection>, rate: BodyRate, refuse: Refuse): void => {
  const { bytesPerSecond, firstGrace, grace } = rate
  const interval = Math.min(1000, (firstGrace ?? grace) / 4, grace / 4)
  const progresses = new WeakMap<Exchange, Progress>()
  const bytesBefore = new WeakMap<Connection, number>()
  let lookedAt = performance.now()

  const look = (connection: Connection, now: number, wasBlocked: boolean): void => {
    const { current, previous, socket } = connection
    if (previous !== undefined && isOver(previous)) connection.previous = undefined
    // The first bytes of a body arrive before it is first looked at.
    const before = bytesBefore.get(connection) ?? 0
    bytesBefore.set(connection, socket.bytesRead)
    if (current === undefined) return
    if (current.request.complete) {
      if (isOver(current)) connection.current = undefined
      return
    }
    const progress = progresses.get(current)
    const isFull = current.request.readableLength >= current.request.readableHighWaterMark
    if (progress === undefined) {
      progresses.set(current, { since: now, bytes: before, span: firstSpan(current, rate) })
    } else if (isFull || wasBlocked) {
      progresses.set(current, { since: now, bytes: socket.bytesRead, span: progress.span })
    } else if (now - progress.since >= progress.span) {
      if (socket.bytesRead - progress.bytes < (bytesPerSecond * progress.span) / 1000) refuse(connection, "SLOW_BODY")
      progresses.set(current, { since: now, bytes: socket.bytesRead, span: grace })
    }
  }

  setInterval(() => {
    const now = performance.now()
    // Bytes that arrived while the event loop was blocked have not been read yet.
    const wasBlocked = now - lookedAt > interval * 2
    lookedAt = now
    for (const connection of connections) look(connection, now, wasBlocked)
  }, interval).unref()
}

/**
 * Milliseconds between probes. Longer than most responses take, so that few clients receive an
 * interim response.
 */
const probeInterval = 250

/**
 * HTTP/1.0 has no interim responses, so such a client cannot be probed. Its connection is closed
 * after this many milliseconds.
 */
const probelessTimeout = 5000

/**
 * A client that has ended its side of the connection may still wait for its response, or have
 * disconnected. Interim responses (status 102) find out: the machine of a disconnected client
 * resets the connection, and the request is interrupted.
 */
export const probeHalfClosed = (connection: Connection): void => {
  const { socket, unsent } = connection
  socket.on("end", () => {
    const endedAt = performance.now()
    const timer = setInterval(() => {
      const [next] = unsent
      if (next === undefined || next.headersSent) return
      if (next.req.httpVersionMinor > 0) next.writeProcessing()
      else if (performance.now() - endedAt > probelessTimeout) socket.destroy()
    }, probeInterval)
    socket.once("close", () => clearInterval(timer))
  })
}
