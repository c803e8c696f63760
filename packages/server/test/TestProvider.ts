/** Offers whose answers are scripted by a test. */
import type { DataPolicy } from "@model-gateway/offers/DataPolicy"
import { type Credential, gatewayCredential, type Offers } from "@model-gateway/offers/Offer"
import { cost, searchUnits } from "@model-gateway/offers/Pricing"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import type { RerankRequest, RerankResponse } from "@model-gateway/offers/Rerank"
import type {
  TranscriptionCapabilities,
  TranscriptionRequest,
  TranscriptionResponse
} from "@model-gateway/offers/Transcription"
import { Effect } from "effect"

/** What a scripted provider does. */
export interface Script {
  readonly name: string
  /** Micro-credits a unit. Default 1000. */
  readonly price?: number
  readonly images?: boolean
  /** What it ignores of every request. */
  readonly ignored?: ReadonlyArray<string>
  readonly verbose?: boolean
  readonly dataPolicy?: DataPolicy
  /** What `test/hear` can do, where it differs. */
  readonly limits?: Partial<TranscriptionCapabilities>
  /** The gateway's own credential. Default: one without a secret. Null: it has none. */
  readonly credential?: Credential | null
  readonly rerank?: (
    request: RerankRequest,
    credential: Credential
  ) => Effect.Effect<RerankResponse & { readonly total_tokens: number }, ProviderError>
  readonly transcribe?: (
    request: TranscriptionRequest,
    credential: Credential
  ) => Effect.Effect<
    TranscriptionResponse & {
      readonly usage?: { readonly [name: string]: number }
    },
    ProviderError
  >
}

/** A ranking that keeps the order of the documents. */
export const asTheyCame = ({ documents, top_n }: RerankRequest) => ({
  results: documents
    .slice(0, top_n ?? documents.length)
    .map((_, index) => ({ index, relevance_score: 1 - index / 10 })),
  total_tokens: documents.length
})

/** A provider's offers of the models `test/rank` and `test/hear`, if they are scripted. */
export const scripted = ({
  credential = gatewayCredential(),
  dataPolicy,
  ignored = [],
  images = false,
  limits = {},
  name: provider,
  price = 1000,
  rerank,
  transcribe,
  verbose = true
}: Script): Offers => {
  const base = {
    provider,
    isFree: false,
    credential: credential ?? undefined,
    ignored: () => ignored,
    ...(dataPolicy === undefined ? {} : { dataPolicy })
  }
  const rerankQuote = ({ documents }: RerankRequest) => cost(price, searchUnits(documents.length))
  const transcriptionQuote = ({ audio }: TranscriptionRequest) => cost(price, audio.durationSeconds)
  return [
    ...(rerank === undefined
      ? []
      : [
          {
            ...base,
            kind: "rerank" as const,
            publicId: "test/rank",
            upstreamId: "rank-1",
            name: "Rank",
            pricing: { unit: "search_unit" as const, microCredits: price },
            capabilities: { image_documents: images },
            quote: rerankQuote,
            run: (request: RerankRequest, credential: Credential) =>
              Effect.map(rerank(request, credential), ({ total_tokens, ...answer }) => ({
                answer,
                charge: {
                  cost: rerankQuote(request),
                  usage: { search_units: searchUnits(request.documents.length), total_tokens }
                }
              }))
          }
        ]),
    ...(transcribe === undefined
      ? []
      : [
          {
            ...base,
            kind: "transcription" as const,
            publicId: "test/hear",
            upstreamId: "hear-1",
            name: "Hear",
            pricing: { unit: "second" as const, microCredits: price },
            capabilities: { audio_formats: ["wav" as const], verbose, word_timestamps: true, ...limits },
            quote: transcriptionQuote,
            run: (request: TranscriptionRequest, credential: Credential) =>
              Effect.map(transcribe(request, credential), ({ usage, ...answer }) => ({
                answer,
                charge: {
                  cost: transcriptionQuote(request),
                  usage: { seconds: request.audio.durationSeconds, ...usage }
                }
              }))
          }
        ])
  ]
}
