/**
 * Ranks documents by relevance to a query.
 *
 * Specification: "POST /rerank", "Rerank response".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { CallOptions, GatewayClient } from "./GatewayClient.ts"
import {
  BadGateway,
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  ProviderOverloaded,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UpstreamTimeout
} from "./GatewayError.ts"
import { idempotencyHeaders } from "./internal/idempotencyHeaders.ts"
import { EndUser, ModelId } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { refuse } from "./internal/refuse.ts"
import { Count, documentsOf, Query, Text } from "./internal/rerankFields.ts"
import * as Operation from "./Operation.ts"
import * as Routing from "./Routing.ts"
import * as Trace from "./Trace.ts"
import type { Written } from "./internal/written.ts"

/**
 * An image to rank: an HTTPS URL, or a `data:image/…;base64,` URI.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ImageReference = Schema.String.check(
  Schema.isPattern(/^(https:\/\/\S+|data:image\/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2})$/u, {
    expected: "an https:// URL or a data:image/…;base64, URI"
  })
)

/**
 * A document with text (at most 1 MiB), an image (for multimodal models), or both.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DocumentObject = Schema.Struct({
  /** At most 1 MiB of UTF-8. */
  text: Schema.optionalKey(Text),
  image: Schema.optionalKey(ImageReference)
}).check(
  Schema.makeFilter((document) => document.text !== undefined || document.image !== undefined, {
    expected: "a document with text, image or both"
  })
)

/**
 * A document in a request: a plain string or an object.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Document = Schema.Union([Text, DocumentObject])

/**
 * @category models
 * @since 0.1.0
 */
export type Document = Request["documents"][number]

/**
 * The query and the documents to rank.
 *
 * @example
 * ```ts
 * import type { Request } from "@model-gateway/core/Rerank"
 *
 * const request: Request = {
 *   model: "sandbox/bm25",
 *   query: "how do I reset my password",
 *   documents: ["Billing", { text: "Reset a forgotten password" }],
 *   top_n: 1
 * }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Request = Schema.Struct({
  /** Identifier of the rerank model, as GET `/models` lists it. */
  model: ModelId,
  /** What the documents are compared with, at most 64 KiB of UTF-8. */
  query: Query,
  /** The documents to rank: 1 to 10,000. */
  documents: documentsOf(Document),
  /** The number of most relevant documents to return, at least 1. Default: all. */
  top_n: Schema.optionalKey(Count),
  provider: Schema.optionalKey(Routing.Preferences),
  trace: Schema.optionalKey(Trace.Metadata),
  user: Schema.optionalKey(EndUser)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Request = { [Field in keyof typeof Request.Type]: Written<typeof Request.Type, Field> }

/**
 * One document's rank.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Result = Schema.Struct({
  /** Position of the document in the request's `documents`, counted from 0. */
  index: Schema.Int,
  /**
   * How relevant the document is, from 0 to 1. Scores of different models cannot be compared.
   */
  relevance_score: Schema.Finite,
  /** A copy of the document. */
  document: Schema.Struct({
    /** The document's text, if it has one. */
    text: Schema.optionalKey(Schema.String),
    /** The document's image as it was sent, if it has one. */
    image: Schema.optionalKey(Schema.String)
  })
})

/**
 * @category models
 * @since 0.1.0
 */
export type Result = { [Field in keyof typeof Result.Type]: (typeof Result.Type)[Field] }

/**
 * The ranking.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** Identifier of this request in the request log: see GET `/generation`. */
  id: Schema.String,
  /** The model that ranked the documents. */
  model: Schema.String,
  /** The provider that served the request. */
  provider: Schema.optionalKey(Schema.String),
  /** The ranked documents, most relevant first. */
  results: Schema.Array(Result),
  /** What the request used. */
  usage: Schema.optionalKey(
    Schema.Struct({
      /** Search units that the provider charged, if it charges by them. */
      search_units: Schema.optionalKey(Schema.Int),
      /** Tokens that were read, if the provider reports them. */
      total_tokens: Schema.optionalKey(Schema.Int),
      /** Cost in credits. */
      cost: Schema.optionalKey(Schema.Finite)
    })
  ),
  /**
   * What the provider ignored of the request: a sentence for each. Absent if it used everything.
   */
  warnings: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/** A service that is not this one may leave out `id`. */
const Decoded = Schema.Struct({ ...Response.fields, id: Schema.optionalKey(Schema.String) })

/**
 * @category operations
 * @since 0.1.0
 */
export const rerankOperation = Operation.make("rerank", "POST", "/rerank", {
  access: "ordinary key",
  idempotency: "by key",
  bodyLimit: { json: "rerank" },
  success: Decoded,
  error: [
    BadRequest,
    Unauthorized,
    PaymentRequired,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    TooManyRequests,
    InternalServerError,
    BadGateway,
    ServiceUnavailable,
    UpstreamTimeout,
    ProviderOverloaded
  ]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const rerankEndpoint = Operation.endpoint(rerankOperation, () => ({
  success: Response,
  headers: idempotencyHeaders,
  payload: Request,
  reference: {
    summary: "Rank documents",
    example: {
      request: {
        model: "sandbox/bm25",
        query: "How do I reset my password?",
        documents: ["Invoices are sent on the first of the month.", "To reset your password, open Settings."],
        top_n: 1
      },
      response: {
        id: "gen_01J9ZQ4T7C5Q8B2W6N3M",
        model: "sandbox/bm25",
        provider: "sandbox",
        results: [{ index: 1, relevance_score: 0.0802, document: { text: "To reset your password, open Settings." } }],
        usage: { search_units: 1, total_tokens: 21, cost: 0.001 }
      }
    }
  }
}))

/**
 * The errors of {@link rerank}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof rerankOperation> | ClientError

/**
 * Orders documents by their relevance to a query. Returns the `top_n` most relevant ones, or all.
 * Text and images can be mixed if the model is multimodal.
 *
 * @remarks
 * An empty list of documents fails with `BadRequest`, and nothing is sent. `id` is empty if the
 * service sends none.
 *
 * @example
 * ```ts
 * import { Rerank } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const best = Rerank.rerank({
 *   model: "sandbox/bm25",
 *   query: "pears",
 *   documents: ["apples", "pears"]
 * }).pipe(Effect.map(({ results }) => results[0]?.document.text))
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const rerank = (request: Request, options?: CallOptions): Effect.Effect<Response, Failure, GatewayClient> =>
  request.documents.length === 0
    ? refuse(rerankOperation, "documents", "Expected at least 1 item")
    : Effect.map(call(rerankOperation, { ...options, json: request }), (response) => ({ id: "", ...response }))
