/** An HTTP server on this machine that keeps the requests it gets. */
import { Effect, Schedule } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { listening } from "../http/TestListener.ts"

/** A request. */
export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A server. It answers with `status`. */
export const make = (status: () => number = () => 200) =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const { headers, method = "", url: path = "" } = request
        received.push({ path, method, headers, body: Buffer.concat(chunks) })
        response.writeHead(status()).end()
      })
    })
    const port = yield* listening(server)
    return { received, url: `http://127.0.0.1:${port}` }
  })

/** Waits until the function returns something. */
export const until = <A>(find: () => A | undefined): Effect.Effect<A> =>
  Effect.suspend(() => {
    const found = find()
    return found === undefined ? Effect.fail("not yet") : Effect.succeed(found)
  }).pipe(Effect.retry({ schedule: Schedule.spaced("20 millis") }), Effect.orDie)
