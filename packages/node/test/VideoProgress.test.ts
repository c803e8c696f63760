import { assert, it } from "@effect/vitest"
import { RetryPolicy, VideoProgress } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { createServer, type RequestListener, type Server } from "node:http"

/** A service at a port. Stopping it resets its connections. */
const serve = (answer: RequestListener, port: number) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer(answer)
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    stop
  )

const stop = (server: Server) =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

const portOf = (server: Server): number => {
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

it.live(
  "a watch continues when the gateway has restarted: through a reset, refused connections and a proxy's 502",
  () =>
    Effect.gen(function* () {
      const polled = Promise.withResolvers<void>()
      const job = (status: string) => JSON.stringify({ id: "v_1", polling_url: "/api/v1/videos/v_1", status })
      const before = yield* serve((request, response) => {
        // The first request has no `wait`. The second one gets no answer until the service stops.
        if (request.url?.includes("wait") === true) polled.resolve()
        else response.end(job("in_progress"))
      }, 0)
      const port = portOf(before)
      const watch = yield* VideoProgress.awaitFinal("v_1").pipe(
        Effect.provide(
          NodeGateway.layer({
            baseUrl: `http://127.0.0.1:${port}/api/v1`,
            credential: Redacted.make("k"),
            retryPolicy: RetryPolicy.make({ schedule: () => Schedule.spaced("200 millis") })
          })
        ),
        Effect.forkChild
      )
      yield* Effect.promise(() => polled.promise)
      yield* stop(before)
      yield* Effect.sleep("400 millis")
      assert.isUndefined(watch.pollUnsafe())
      let requests = 0
      yield* serve((_, response) => {
        if (++requests === 1) response.writeHead(502, { "content-type": "text/html" }).end("<html>")
        else response.end(job("completed"))
      }, port)
      assert.strictEqual((yield* Fiber.join(watch)).status, "completed")
    })
)
