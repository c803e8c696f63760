/**
 * One rerank call with this project: its layer, with short-lived tokens, retries and the contract's
 * errors.
 */
import { BrowserClient } from "@model-gateway/browser"
import { Rerank } from "@model-gateway/core"
import { Effect } from "effect"

const program = Rerank.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }).pipe(
  Effect.provide(BrowserClient.layer({ tokenEndpoint: "/token" }))
)

void Effect.runPromise(program).then(console.log)
