/** One rerank call with this project: its layer, with short-lived tokens and retries. */
import { BrowserGateway } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

const program = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  return yield* gateway.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
}).pipe(Effect.provide(BrowserGateway.layer({ tokenEndpoint: "/token" })))

void Effect.runPromise(program).then(console.log)
