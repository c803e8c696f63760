/** The tool `rerank`. */
import { Gateway } from "@model-gateway/core/Gateway"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Estimate from "../Estimate.ts"
import * as Paid from "./paid.ts"
import * as Tool from "./tool.ts"

/** Characters of a document that a result repeats. The agent has the documents. */
const excerptLength = 200

export const rerankTool = Tool.make({
  name: "rerank",
  title: "Rank documents",
  description:
    "Orders documents by their relevance to a query, the most relevant first. Use it to find the best of many candidates, " +
    "such as search results or notes. Paid: the result states the cost. `models` lists models and prices.",
  input: Schema.Struct({
    model: Schema.NonEmptyString.annotate({ description: "Id of a rerank model, as `models` lists it" }),
    query: Schema.NonEmptyString.annotate({ description: "What the documents are compared with" }),
    documents: Schema.Array(Schema.String)
      .check(Schema.isMinLength(1), Schema.isMaxLength(1000))
      .annotate({ description: "The texts to rank" }),
    top_n: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))).annotate({
      description: "How many results to return. Default: all"
    }),
    ...Paid.inputFields
  }),
  output: Schema.Struct({
    model: Schema.String,
    provider: Schema.optionalKey(Schema.String).annotate({ description: "The provider that served the call" }),
    results: Schema.Array(
      Schema.Struct({
        index: Schema.Int.annotate({ description: "Position in `documents`, counted from 0" }),
        relevance_score: Schema.Finite.annotate({ description: "From 0 to 1" }),
        excerpt: Schema.optionalKey(Schema.String).annotate({ description: "The beginning of the document" })
      })
    ).annotate({ description: "The most relevant first. Empty with estimate_only" }),
    warnings: Schema.optionalKey(Schema.Array(Schema.String)),
    ...Paid.outputFields
  }),
  hints: { readOnly: false, destructive: false, idempotent: false },
  run: Effect.fn("Mcp.rerank")(function* ({ documents, estimate_only, model, query, top_n }) {
    const gateway = yield* Gateway
    const estimate = Estimate.rerank(yield* gateway.getModel(model), documents.length)
    if (estimate_only === true) return { output: { model, results: [], ...(yield* Paid.price(estimate, null)) } }

    const request = {
      model,
      query,
      documents,
      ...(top_n === undefined ? {} : { top_n }),
      ...(yield* Paid.preferences(estimate))
    }
    const answer = yield* Paid.withinLimit(estimate, gateway.rerank(request), ({ usage }) => usage?.cost)
    return {
      output: {
        model: answer.model,
        ...(answer.provider === undefined ? {} : { provider: answer.provider }),
        results: answer.results.map(({ document: { text }, index, relevance_score }) => ({
          index,
          relevance_score,
          ...(text === undefined ? {} : { excerpt: text.slice(0, excerptLength) })
        })),
        ...(answer.warnings === undefined ? {} : { warnings: answer.warnings }),
        ...(yield* Paid.price(estimate, answer.usage?.cost))
      }
    }
  })
})
