/**
 * A fresh process: sends a small file, then a large one, and prints by how many bytes its memory
 * grew at most during the second.
 */
import { Gateway } from "@model-gateway/core"
import { NodeFile, NodeGateway } from "@model-gateway/node"
import { Effect, Redacted, Schedule } from "effect"

const [origin = "", small = "", large = ""] = process.argv.slice(2)

const send = Effect.fnUntraced(function* (path: string) {
  const gateway = yield* Gateway.Gateway
  const { blob, filename } = yield* NodeFile.fromPath(path)
  yield* gateway.transcribe({ model: "sandbox/tones", file: blob, filename })
})

const grown = Effect.gen(function* () {
  yield* send(small)
  const before = process.memoryUsage.rss()
  let most = before
  yield* Effect.sync(() => (most = Math.max(most, process.memoryUsage.rss()))).pipe(
    Effect.repeat(Schedule.spaced("5 millis")),
    Effect.forkScoped
  )
  yield* send(large)
  return Math.max(most, process.memoryUsage.rss()) - before
}).pipe(
  Effect.scoped,
  Effect.provide(NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential: Redacted.make("mg_sk_test") }))
)

process.stdout.write(String(await Effect.runPromise(grown)))
