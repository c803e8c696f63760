/** Providers whose responses are scripted by a test. */
import type {
  Provider,
  RerankRequest,
  RerankResponse,
  TranscriptionRequest,
  TranscriptionResponse
} from "@model-gateway/providers/Provider"
import type { ProviderError } from "@model-gateway/providers/ProviderError"
import type { Effect } from "effect"

/** What a scripted provider does. */
export interface Script {
  readonly name: string
  /** Micro-credits a unit. Default 1000. */
  readonly price?: number
  readonly images?: boolean
  readonly verbose?: boolean
  readonly rerank?: (request: RerankRequest) => Effect.Effect<RerankResponse, ProviderError>
  readonly transcribe?: (request: TranscriptionRequest) => Effect.Effect<TranscriptionResponse, ProviderError>
}

/** A ranking that keeps the order of the documents. */
export const asTheyCame = ({ documents, top_n }: RerankRequest): RerankResponse => ({
  results: documents
    .slice(0, top_n ?? documents.length)
    .map((_, index) => ({ index, relevance_score: 1 - index / 10 })),
  total_tokens: documents.length
})

/** A provider of the models `test/rank` and `test/hear`, if they are scripted. */
export const scripted = ({
  images = false,
  name,
  price = 1000,
  rerank,
  transcribe,
  verbose = true
}: Script): Provider => ({
  name,
  models: [
    ...(rerank === undefined
      ? []
      : [
          {
            kind: "rerank" as const,
            id: "test/rank",
            name: "Rank",
            provider: name,
            free: false,
            pricing: { unit: "search_unit" as const, microCredits: price },
            capabilities: { image_documents: images }
          }
        ]),
    ...(transcribe === undefined
      ? []
      : [
          {
            kind: "transcription" as const,
            id: "test/hear",
            name: "Hear",
            provider: name,
            free: false,
            pricing: { unit: "second" as const, microCredits: price },
            capabilities: { audio_formats: ["wav" as const], verbose, word_timestamps: true }
          }
        ])
  ],
  ...(rerank === undefined ? {} : { rerank }),
  ...(transcribe === undefined ? {} : { transcribe })
})
