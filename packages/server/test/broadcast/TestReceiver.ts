/** An HTTP server on this machine that keeps the requests it gets. */
import { Effect, Schedule } from "effect"
import { type Received, receiving } from "../http/TestListener.ts"

/** A server. It answers with `status`. */
export const make = (status: () => number = () => 200) =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const port = yield* receiving((response, request) => {
      received.push(request)
      response.writeHead(status()).end()
    })
    return { received, url: `http://127.0.0.1:${port}` }
  })

/** Waits until the function returns something. */
export const until = <A>(find: () => A | undefined): Effect.Effect<A> =>
  Effect.suspend(() => {
    const found = find()
    return found === undefined ? Effect.fail("not yet") : Effect.succeed(found)
  }).pipe(Effect.retry({ schedule: Schedule.spaced("20 millis") }), Effect.orDie)
