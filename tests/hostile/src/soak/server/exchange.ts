/** One request and its answer, with what disturbs them. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Random } from "../../fuzz/random.ts"

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly random: Random
  readonly url: URL
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export const jsonAnswer = (status: number, json: unknown, headers: Answer["headers"] = {}): Answer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: Buffer.from(JSON.stringify(json))
})

export const errorAnswer = (status: number, message: string, headers: Answer["headers"] = {}): Answer =>
  jsonAnswer(
    status,
    { error: { code: status, message }, service_metadata: { request_id: "req_soak" }, user_id: null },
    { "x-request-id": "req_soak", ...headers }
  )

export const send = ({ response }: Exchange, { body, headers, status }: Answer): void => {
  response.writeHead(status, { ...headers, "content-length": body.length }).end(body)
}

/** Sends the head, and the body up to `fraction` of it. */
export const sendPart = ({ response }: Exchange, { body, headers, status }: Answer, fraction: number): void => {
  response.writeHead(status, { ...headers, "content-length": body.length })
  response.write(body.subarray(0, Math.floor(body.length * fraction)))
}

/** Waits until the client has gone, or for `milliseconds`, and then closes the connection. */
export const hang = async ({ request }: Exchange, milliseconds: number): Promise<void> => {
  const { socket } = request
  if (!socket.destroyed) {
    const waiting = new AbortController()
    await Promise.race([
      once(socket, "close", { signal: waiting.signal }),
      sleep(milliseconds, undefined, { signal: waiting.signal })
    ]).finally(() => waiting.abort())
  }
  socket.destroy()
}

/** Closes the connection at once, by a TCP reset or an ordinary end. */
export const breakConnection = ({ random, request }: Exchange): void => {
  if (random.chance(0.5)) request.socket.resetAndDestroy()
  else request.socket.destroy()
}

/** What happens to the body of a request while it is read. */
export interface Disturbance {
  readonly name: string
  readonly weight: number
  /** Called when some bytes were read. False: stop reading for ever. */
  readonly onBytes: (exchange: Exchange, fraction: number) => Promise<boolean>
}

/** Reads the body. Undefined: the client has gone, or the disturbance ended it. */
export const receive = async (
  exchange: Exchange,
  disturbance: Disturbance | undefined,
  onMove: (head: Buffer, milliseconds: number) => void
): Promise<Buffer | undefined> => {
  const { request } = exchange
  const total = Number(request.headers["content-length"] ?? 0)
  const chunks: Array<Buffer> = []
  const startedAt = performance.now()
  let size = 0
  const moved = () => onMove(chunks[0] ?? Buffer.alloc(0), performance.now() - startedAt)
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (disturbance !== undefined && !(await disturbance.onBytes(exchange, size / total))) {
        moved()
        return undefined
      }
    }
    moved()
    return Buffer.concat(chunks, size)
  } catch {
    moved()
    return undefined
  }
}
