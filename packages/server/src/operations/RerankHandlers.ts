/**
 * POST `/rerank`, and the same in Cohere's shapes.
 *
 * Specification: "3. POST /rerank", "Rerank response".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Rerank from "@model-gateway/core/Rerank"
import type { RerankOffer } from "@model-gateway/offers/Offer"
import { type RerankDocument, type RerankRequest, unsupported } from "@model-gateway/offers/Rerank"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { currentCaller, type Caller } from "../access/Caller.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { Admission } from "../admission/Admission.ts"
import type { Candidate } from "../routing/Candidate.ts"
import { ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as OwnKeys from "../routing/OwnKeys.ts"
import * as Candidates from "../routing/Candidates.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import { Router } from "../routing/Router.ts"
import * as CohereRerank from "./CohereRerank.ts"
import * as Warnings from "../routing/Warnings.ts"

type Ranked = Effect.Success<ReturnType<RerankOffer["run"]>>

const toDocument = (document: typeof Rerank.Document.Type): RerankDocument =>
  typeof document === "string" ? { text: document } : document

const toResponse = (
  id: string,
  model: string,
  documents: ReadonlyArray<RerankDocument>,
  offer: RerankOffer,
  request: RerankRequest,
  { answer, charge }: Ranked,
  cost: MicroCredits.MicroCredits
): Rerank.Response => {
  const { search_units, total_tokens } = charge.usage
  return {
    id,
    model,
    provider: offer.provider,
    results: answer.results.map(({ index, relevance_score }) => ({
      index,
      relevance_score,
      document: documents[index] ?? {}
    })),
    usage: {
      ...(search_units === undefined ? {} : { search_units }),
      ...(total_tokens === undefined ? {} : { total_tokens }),
      cost: MicroCredits.toCredits(cost)
    },
    ...Warnings.of(offer, request, answer.warnings)
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
  const admission = yield* Admission
  const catalogue = yield* ModelCatalogue
  const ownKeys = yield* OwnKeys.OwnKeys
  const router = yield* Router
  const { deadlines } = yield* GatewayServerConfig

  const serve = (
    caller: Caller,
    { idempotencyKey, identity, request, toBody }: Call,
    documents: ReadonlyArray<RerankDocument>,
    requestFor: (offer: RerankOffer) => RerankRequest,
    candidates: ReadonlyArray<Candidate<RerankOffer>>
  ) =>
    admission.serve(
      {
        caller,
        operation: "rerank",
        model: request.model,
        quotes: Candidates.quotesOf(candidates, (offer) => offer.quote(requestFor(offer))),
        idempotencyKey,
        payload: Effect.sync(identity),
        encode: (response: Rerank.Response) => JSON.stringify(toBody(response)),
        input: { documents: documents.length },
        trace: request.trace,
        user: request.user
      },
      ({ attempts, id, isOwnOnly }) =>
        router
          .route({
            owner: caller.key.hash,
            candidates: isOwnOnly ? candidates.filter(OwnKeys.isByok) : candidates,
            attempts,
            units: documents.length,
            attemptTimeout: deadlines.rerankAttempt,
            deadline: deadlines.rerank,
            call: ({ credential, offer }) => offer.run(requestFor(offer), credential)
          })
          .pipe(
            Effect.mapError(ProviderFailures.forRerank),
            Effect.map(({ answer: ranked, candidate }) => ({
              answer: (cost: MicroCredits.MicroCredits) =>
                toResponse(id, request.model, documents, candidate.offer, requestFor(candidate.offer), ranked, cost),
              outcome: {
                ...ranked.charge,
                provider: candidate.offer.provider,
                upstreamModel: candidate.offer.upstreamId,
                isByok: OwnKeys.isByok(candidate)
              }
            }))
          )
    )

  const rank = Effect.fnUntraced(function* (call: Call) {
    const { request } = call
    const caller = yield* currentCaller
    yield* Candidates.allowModel(request.model, caller.guardrail)
    const entry = catalogue.rerank(request.model)
    if (entry === undefined) return yield* Candidates.unknownModel(catalogue, "rerank", request.model)
    const allowed = yield* Candidates.allowed(entry, { preferences: request.provider, guardrail: caller.guardrail })
    yield* Candidates.passable(allowed, request.provider)
    const own = yield* ownKeys.of(caller)
    const documents = request.documents.map(toDocument)
    const requestFor = ({ provider }: RerankOffer): RerankRequest => {
      const options = request.provider?.options?.[provider]
      return {
        query: request.query,
        documents,
        ...(request.top_n === undefined ? {} : { top_n: request.top_n }),
        ...(options === undefined ? {} : { options })
      }
    }
    const able = yield* Candidates.supporting(
      allowed,
      ({ capabilities, publicId }) => unsupported({ documents }, capabilities, publicId),
      `the model "${request.model}" accepts no image documents`
    )
    const candidates = yield* Candidates.ranked(able, {
      preferences: request.provider,
      observed: router.observed,
      own,
      isFreeTier: caller.key.isFreeTier,
      quote: (offer) => offer.quote(requestFor(offer)),
      ignored: (offer) => offer.ignored?.(requestFor(offer)) ?? []
    })
    return yield* serve(caller, call, documents, requestFor, candidates)
  })

  return { catalogue, rank }
})

/** The `rerank` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "rerank", (handlers) =>
  Effect.map(make, ({ catalogue, rank }) =>
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
          request: CohereRerank.toRequest(catalogue, payload),
          idempotencyKey: headers["idempotency-key"],
          identity: () => [endpoint.path, JSON.stringify(payload)],
          toBody: (response) => CohereRerank.toResponse(payload, response)
        })
      )
      .handle("cohereRerankV1", ({ endpoint, headers, payload }) =>
        Effect.flatMap(CohereRerank.toRequestV1(catalogue, payload), (request) =>
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
