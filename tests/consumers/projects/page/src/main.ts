/**
 * A page as Vite builds it: one call when the button is pressed, with a token that its own server
 * hands out.
 */
import { BrowserGateway } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect, ManagedRuntime } from "effect"

const runtime = ManagedRuntime.make(BrowserGateway.layer({ tokenEndpoint: "/token" }))

const program = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { results } = yield* gateway.rerank({
    model: "sandbox/bm25",
    query: "forgotten password",
    documents: ["Billing", "Reset a forgotten password"],
    top_n: 1
  })
  return results[0]?.document.text ?? "nothing found"
}).pipe(Effect.catch((error) => Effect.succeed(error.message)))

const output = document.querySelector("output")

document.querySelector("button")?.addEventListener("click", () => {
  void runtime.runPromise(program).then((text) => {
    if (output !== null) output.textContent = text
  })
})
