/**
 * POST `/rerank`.
 *
 * Specification: "3. POST /rerank", "Rerank response".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Rerank from "@model-gateway/core/Rerank"
import { cost, type RerankModel, searchUnits } from "@model-gateway/providers/Model"
import type { Provider, RerankResponse } from "@model-gateway/providers/Provider"
import type { RerankDocument } from "@model-gateway/providers/Rerank"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { currentCaller, type Caller } from "../access/Caller.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Issues from "../http/Issues.ts"
import { Admission } from "../admission/Admission.ts"
import { type Endpoint, ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as Candidates from "../routing/Candidates.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import { Router } from "../routing/Router.ts"

type RerankEndpoint = Endpoint<RerankModel>

const toDocument = (document: Rerank.Document): RerankDocument =>
  typeof document === "string" ? { text: document } : document

/** Rejects images for models that only support text, and names every such document. */
const refuseImages = (documents: ReadonlyArray<RerankDocument>, model: string) => {
  const issues = documents.flatMap((document, index) =>
    document.image === undefined
      ? []
      : [{ path: `documents.${index}.image`, message: `the model "${model}" ranks text only` }]
  )
  return issues.length === 0
    ? Effect.void
    : Effect.fail(Issues.invalid(issues, `the model "${model}" accepts no image documents`))
}

const worstOf = (endpoints: ReadonlyArray<RerankEndpoint>, units: number) =>
  MicroCredits.make(Math.max(...endpoints.map(({ model }) => cost(model.pricing, units))))

const capable = (provider: Provider) =>
  provider.rerank ??
  (() => Effect.die(new Error(`The provider ${provider.name} lists a rerank model but does not implement rerank`)))

const toResponse = (
  id: string,
  model: string,
  documents: ReadonlyArray<RerankDocument>,
  { model: served, provider }: RerankEndpoint,
  answer: RerankResponse,
  units: number
): Rerank.Response => ({
  id,
  model,
  provider: provider.name,
  results: answer.results.map(({ index, relevance_score }) => ({
    index,
    relevance_score,
    document: documents[index] ?? {}
  })),
  usage: {
    search_units: units,
    total_tokens: answer.total_tokens,
    cost: MicroCredits.toCredits(cost(served.pricing, units))
  }
})

const encode = (response: Rerank.Response): string => JSON.stringify(response)

/** The services that a rerank needs, looked up once instead of per request. */
const make = Effect.gen(function* () {
  const admission = yield* Admission
  const catalogue = yield* ModelCatalogue
  const router = yield* Router
  const { deadlines } = yield* GatewayServerConfig

  const serve = (
    caller: Caller,
    request: Rerank.Request,
    documents: ReadonlyArray<RerankDocument>,
    candidates: ReadonlyArray<RerankEndpoint>,
    idempotencyKey: string | undefined
  ) => {
    const units = searchUnits(documents.length)
    return admission.serve(
      {
        caller,
        operation: "rerank",
        model: request.model,
        isFree: candidates.some(({ model }) => model.free),
        amount: worstOf(candidates, units),
        idempotencyKey,
        payload: Effect.sync(() => [JSON.stringify(request)]),
        encode,
        trace: request.trace,
        user: request.user
      },
      (id) =>
        router
          .route({
            candidates,
            units: documents.length,
            attemptTimeout: deadlines.rerankAttempt,
            deadline: deadlines.rerank,
            call: ({ model, provider }) => {
              const options = request.provider?.options?.[provider.name]
              return capable(provider)({
                model: model.id,
                query: request.query,
                documents,
                ...(request.top_n === undefined ? {} : { top_n: request.top_n }),
                ...(options === undefined ? {} : { options })
              })
            }
          })
          .pipe(
            Effect.mapError(ProviderFailures.forRerank),
            Effect.map(({ answer, attempts, endpoint }) => ({
              attempts,
              answer: toResponse(id, request.model, documents, endpoint, answer, units),
              outcome: {
                cost: MicroCredits.make(cost(endpoint.model.pricing, units)),
                provider: endpoint.provider.name,
                upstreamModel: endpoint.model.id,
                usage: { search_units: units, total_tokens: answer.total_tokens }
              }
            }))
          )
    )
  }

  return Effect.fnUntraced(function* (request: Rerank.Request, idempotencyKey: string | undefined) {
    const caller = yield* currentCaller
    yield* Candidates.allowModel(request.model, caller.guardrail)
    const entry = catalogue.rerank(request.model)
    if (entry === undefined) return yield* Candidates.unknownModel(catalogue, "rerank", request.model)
    const selected = yield* Candidates.select(entry, {
      preferences: request.provider,
      guardrail: caller.guardrail,
      observed: router.observed
    })
    const documents = request.documents.map(toDocument)
    const withImages = documents.some((document) => document.image !== undefined)
    const candidates = withImages ? selected.filter(({ model }) => model.capabilities.image_documents) : selected
    if (candidates.length === 0) yield* refuseImages(documents, request.model)
    return yield* serve(caller, request, documents, candidates, idempotencyKey)
  })
})

/** The `rerank` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "rerank", (handlers) =>
  Effect.map(make, (rerank) =>
    handlers.handle("rerank", ({ headers, payload }) => rerank(payload, headers["idempotency-key"]))
  )
)
