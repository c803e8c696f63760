/** A receiver of webhooks on this machine, whose answers the test decides. */
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { listening } from "../http/TestListener.ts"

/** A request. */
export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Answers a request. It may never do so, or break the connection. */
export type Reply = (response: ServerResponse, received: Received) => void

/** Answers with a status, and with these headers. */
export const status =
  (code: number, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(code, headers).end()

/** Never answers. */
export const hang: Reply = () => {}

/** Breaks the connection. */
export const reset: Reply = (response) => response.destroy()

const single = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []))
  )

/** A receiver that answers with each of the replies in turn, and then always with the last one. */
export const make = (...replies: readonly [Reply, ...ReadonlyArray<Reply>]) =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const reply = replies[Math.min(received.length, replies.length - 1)] ?? replies[0]
        const one = {
          path: request.url ?? "",
          headers: single(request.headers),
          body: Buffer.concat(chunks).toString()
        }
        received.push(one)
        reply(response, one)
      })
    })
    const port = yield* listening(server)
    return { received, port, url: `http://127.0.0.1:${port}/hook` }
  })
