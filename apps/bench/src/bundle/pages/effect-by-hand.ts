/**
 * One rerank call with Effect only: schemas, a bearer token and a retry schedule, without the
 * contract's errors.
 */
import { Effect, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

const Request = Schema.Struct({
  model: Schema.String,
  query: Schema.String,
  documents: Schema.NonEmptyArray(Schema.String)
})

const Response = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  provider: Schema.optionalKey(Schema.String),
  results: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      relevance_score: Schema.Finite,
      document: Schema.Struct({
        text: Schema.optionalKey(Schema.String),
        image: Schema.optionalKey(Schema.String)
      })
    })
  ),
  usage: Schema.optionalKey(
    Schema.Struct({
      search_units: Schema.optionalKey(Schema.Int),
      total_tokens: Schema.optionalKey(Schema.Int),
      cost: Schema.optionalKey(Schema.Finite)
    })
  )
})

const program = Effect.gen(function* () {
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.filterStatusOk,
    HttpClient.retryTransient({
      times: 3,
      schedule: Schedule.exponential("250 millis").pipe(Schedule.jittered)
    })
  )
  const request = yield* HttpClientRequest.post("/api/v1/rerank").pipe(
    HttpClientRequest.bearerToken("mg_ek_page"),
    HttpClientRequest.schemaBodyJson(Request)({
      model: "sandbox/bm25",
      query: "pears",
      documents: ["apples", "pears"]
    })
  )
  return yield* HttpClientResponse.schemaBodyJson(Response)(yield* client.execute(request))
}).pipe(Effect.provide(FetchHttpClient.layer))

void Effect.runPromise(program).then(console.log)
