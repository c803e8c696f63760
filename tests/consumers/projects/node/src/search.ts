/** The program: knows nothing of where it runs. */
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

export const search = (query: string, documents: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    const { results } = yield* gateway.rerank({ model: "sandbox/bm25", query, documents, top_n: 1 })
    return results[0]?.document.text ?? "nothing found"
  }).pipe(Effect.catchTag("PaymentRequired", () => Effect.succeed("please add credits")))
