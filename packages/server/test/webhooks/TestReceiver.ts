/** A receiver of webhooks on this machine, whose answers the test decides. */
import { Effect } from "effect"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { receiving } from "../http/TestListener.ts"

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
    const port = yield* receiving((response, { body, headers, path }) => {
      const reply = replies[Math.min(received.length, replies.length - 1)] ?? replies[0]
      const one = { path, headers: single(headers), body: body.toString() }
      received.push(one)
      reply(response, one)
    })
    return { received, port, url: `http://127.0.0.1:${port}/hook` }
  })
