/**
 * Ranking documents, also in Cohere's shapes.
 *
 * Specification: "POST /rerank", "Rerank response".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { BadRequest } from "@model-gateway/core/GatewayError"
import * as Rerank from "@model-gateway/core/Rerank"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { RerankOffer } from "@model-gateway/offers/Offer"
import { type RerankDocument, type RerankRequest, type RerankResponse, unsupported } from "@model-gateway/offers/Rerank"
import { Array, Effect, Option, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as PaidWork from "../admission/PaidWork.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Candidates from "../routing/Candidates.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import * as Warnings from "../routing/Warnings.ts"
import * as CohereRerank from "../dialect/CohereRerank.ts"

const toDocument = (document: typeof Rerank.Document.Type): RerankDocument =>
  typeof document === "string" ? { text: document } : document

/** A response without the documents, which are those of the request. */
type Ranking = Omit<Rerank.Response, "results"> & {
  readonly results: ReadonlyArray<Omit<typeof Rerank.Result.Type, "document">>
}

/** A ranking as it is stored for an idempotency key: a column of indexes and one of scores. */
const Stored = Schema.Struct({
  ...Rerank.Response.fields,
  results: Schema.Struct({
    index: Schema.Array(Rerank.Result.fields.index),
    relevance_score: Schema.Array(Rerank.Result.fields.relevance_score)
  })
})

const toStored = (ranking: Ranking): typeof Stored.Type => ({
  ...ranking,
  results: {
    index: ranking.results.map(({ index }) => index),
    relevance_score: ranking.results.map(({ relevance_score }) => relevance_score)
  }
})

const ofStored = (stored: typeof Stored.Type): Ranking => ({
  ...stored,
  results: Array.zipWith(stored.results.index, stored.results.relevance_score, (index, relevance_score) => ({
    index,
    relevance_score
  }))
})

const decodeStored = Schema.decodeUnknownOption(Schema.fromJsonString(Stored))

const withDocuments = (ranking: Ranking, documents: ReadonlyArray<RerankDocument>): Rerank.Response => ({
  ...ranking,
  results: ranking.results.map(({ index, relevance_score }) => ({
    index,
    relevance_score,
    document: documents[index] ?? {}
  }))
})

const toRanking = (
  { model }: typeof Rerank.Request.Type,
  { charge, id, offer, result, warnings }: PaidWork.Done<RerankOffer, RerankResponse>,
  cost: MicroCredits.MicroCredits
): Ranking => {
  const { search_units, total_tokens } = charge.usage
  return {
    id,
    model,
    provider: offer.provider,
    results: result.results,
    usage: {
      ...(search_units === undefined ? {} : { search_units }),
      ...(total_tokens === undefined ? {} : { total_tokens }),
      cost: MicroCredits.toCredits(cost)
    },
    ...warnings
  }
}

/** What a rerank asks of offers. */
export const choiceOf = (
  request: typeof Rerank.Request.Type,
  documents: ReadonlyArray<RerankDocument> = request.documents.map(toDocument)
): PaidWork.Choice<RerankOffer, RerankRequest, BadRequest> => {
  const { model, provider: preferences, query, top_n } = request
  const plain: RerankRequest = { query, documents, ...(top_n === undefined ? {} : { top_n }) }
  return {
    supporting: (offers) =>
      Candidates.supporting(
        offers,
        ({ capabilities, publicId }) => unsupported({ documents }, capabilities, publicId),
        `the model "${model}" accepts no image documents`
      ),
    requestFor: ({ provider }) => {
      const options = preferences?.options?.[provider]
      return options === undefined ? plain : { ...plain, options }
    }
  }
}

/** A request for a rerank, in whichever shape it came. */
interface Call {
  readonly request: typeof Rerank.Request.Type
  readonly idempotencyKey: string | undefined
  /** Identifies the request: its path, unless it is `/rerank`, and its body. */
  readonly identity: () => ReadonlyArray<string>
  /** Makes the body of a success. */
  readonly toBody: (response: Rerank.Response) => unknown
}

/** The services that a rerank needs, looked up once instead of per request. */
const make = Effect.gen(function* () {
  const catalog = yield* ModelCatalog
  const { deadlines } = yield* GatewayServerConfig
  const { permit, serve } = yield* PaidWork.makeServed<
    RerankRequest,
    RerankResponse,
    RerankOffer,
    ProviderFailures.RerankFailure
  >({
    kind: "rerank",
    find: catalog.rerank,
    attemptTimeout: deadlines.rerankAttempt,
    deadline: deadlines.rerank,
    toError: ProviderFailures.forRerank
  })

  const rank = ({ idempotencyKey, identity, request, toBody }: Call) =>
    Effect.flatMap(permit(request), (permitted) => {
      const documents = request.documents.map(toDocument)
      const encode = (ranking: Ranking) => JSON.stringify(toBody(withDocuments(ranking, documents)))
      return serve(permitted, {
        ...choiceOf(request, documents),
        idempotencyKey,
        payload: Effect.sync(identity),
        encode,
        abridged: {
          encode: (ranking: Ranking) => JSON.stringify(toStored(ranking)),
          complete: (body) => Option.map(decodeStored(body), (stored) => encode(ofStored(stored)))
        },
        input: { documents: documents.length },
        units: documents.length,
        toAnswer: (done, cost) => toRanking(request, done, cost)
      })
    })

  return { isModel: (id: string) => catalog.rerank(id) !== undefined, rank }
})

/** The `rerank` group of the contract. */
export const layer = RequestServices.group(make, ({ isModel, rank }) =>
  HttpApiBuilder.group(GatewayApi, "rerank", (handlers) =>
    handlers
      .handle("rerank", ({ headers, payload }) =>
        rank({
          request: payload,
          idempotencyKey: headers["idempotency-key"],
          identity: () => [JSON.stringify(payload)],
          toBody: (response) => response
        })
      )
      .handle("cohereRerank", ({ endpoint, headers, payload }) =>
        rank({
          request: CohereRerank.toRequest(isModel, payload),
          idempotencyKey: headers["idempotency-key"],
          identity: () => [endpoint.path, JSON.stringify(payload)],
          toBody: (response) => {
            const { warnings } = Warnings.ofSentences(CohereRerank.ignored(payload, response), response.warnings)
            return CohereRerank.toResponse(response, warnings)
          }
        })
      )
      .handle("cohereRerankV1", ({ endpoint, headers, payload }) =>
        Effect.flatMap(CohereRerank.toRequestV1(isModel, payload), (request) =>
          rank({
            request,
            idempotencyKey: headers["idempotency-key"],
            identity: () => [endpoint.path, JSON.stringify(payload)],
            toBody: (response) => CohereRerank.toResponseV1(payload, response)
          })
        )
      )
  )
)
