/** One rerank call with this project, by a method of `Gateway`, which has all operations. */
import { BrowserGateway } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

const program = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  return yield* gateway.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
}).pipe(Effect.provide(BrowserGateway.layer({ tokenEndpoint: "/token" })))

void Effect.runPromise(program).then(console.log)
