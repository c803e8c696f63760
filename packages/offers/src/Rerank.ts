/**
 * What a rerank offer receives and returns, and what it may state about itself.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import type { Schema } from "effect"

/**
 * A document to rank: text, an image (HTTPS URL or `data:` URI), or both.
 *
 * @category models
 * @since 0.1.0
 */
export interface RerankDocument {
  readonly text?: string
  readonly image?: string
}

/**
 * A rerank request, as an offer receives it.
 *
 * @category models
 * @since 0.1.0
 */
export interface RerankRequest {
  readonly query: string
  readonly documents: ReadonlyArray<RerankDocument>
  /** Default: all documents. */
  readonly top_n?: number
  /** The provider's entry of `provider.options`, unchanged. */
  readonly options?: Schema.JsonObject
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RerankResult {
  /** Index in the request's `documents`. */
  readonly index: number
  /** Finite. A greater score is more relevant. */
  readonly relevance_score: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RerankResponse {
  /** Most relevant first, at most `top_n`. */
  readonly results: ReadonlyArray<RerankResult>
  /**
   * What the upstream says that it ignored, a sentence for each. Added to the offer's `ignored`.
   */
  readonly warnings?: ReadonlyArray<string>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RerankCapabilities {
  /** Whether documents may be images. */
  readonly image_documents: boolean
}

/**
 * What the model does not support in the request: every image, if it ranks text only.
 *
 * @category validation
 * @since 0.1.0
 */
export const unsupported = (
  request: Pick<RerankRequest, "documents">,
  capabilities: RerankCapabilities,
  publicId: string
): ReadonlyArray<Issue> =>
  capabilities.image_documents
    ? []
    : request.documents.flatMap(({ image }, index) =>
        image === undefined
          ? []
          : [{ path: `documents.${index}.image`, message: `the model "${publicId}" ranks text only` }]
      )
