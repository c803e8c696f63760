/**
 * Reranks in the shapes of Cohere's API: POST `/v2/rerank` and POST `/v1/rerank`. They are for
 * clients of Cohere, whose base URL is then that of the gateway. New programs use `Rerank`.
 *
 * Both rank with the models of `/rerank`, at the same price and within the same limits. Protocol:
 * https://docs.cohere.com/reference/rerank.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "../ClientError.ts"
import type { CallOptions, GatewayClient } from "../GatewayClient.ts"
import { idempotencyHeaders } from "../internal/idempotencyHeaders.ts"
import { ModelId } from "../Identifiers.ts"
import { isMaxItems } from "../internal/bounds.ts"
import { call } from "../internal/call.ts"
import { Count, documentsOf, Query, Text } from "../internal/rerankFields.ts"
import type { Written } from "../internal/written.ts"
import * as Operation from "../Operation.ts"
import { rerankOperation } from "../Rerank.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/**
 * The query and the documents to rank, as in version 2 of Cohere's API.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Request = Schema.Struct({
  /**
   * Identifier of the rerank model, as GET `/models` lists it. A name without a slash is also found
   * as a model of Cohere: `rerank-v3.5` is `cohere/rerank-v3.5`.
   */
  model: ModelId,
  /** What the documents are compared with, at most 64 KiB of UTF-8. */
  query: Query,
  /** 1 to 10,000 texts of at most 1 MiB each. */
  documents: documentsOf(Text),
  /** The number of most relevant documents to return, at least 1. Default: all. */
  top_n: nullable(Count),
  /**
   * The number of tokens after which Cohere cuts a document off, at least 1. Default: 4096. Other
   * providers ignore it.
   */
  max_tokens_per_doc: nullable(Count),
  /** Accepted and ignored. The gateway serves all requests alike. */
  priority: nullable(Schema.Int)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Request = { [Field in keyof typeof Request.Type]: Written<typeof Request.Type, Field> }

/**
 * A document with fields, of which `rank_fields` selects those that are ranked. Each value is a
 * text of at most 1 MiB.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DocumentFields = Schema.Record(Schema.String, Text)

/**
 * @category models
 * @since 0.1.0
 */
export type DocumentFields = typeof DocumentFields.Type

/**
 * The query and the documents to rank, as in version 1 of Cohere's API.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RequestV1 = Schema.Struct({
  /**
   * Identifier of the rerank model, as GET `/models` lists it. A name without a slash is also found
   * as a model of Cohere: `rerank-v3.5` is `cohere/rerank-v3.5`. Required, because this gateway has
   * no default model.
   */
  model: ModelId,
  /** What the documents are compared with, at most 64 KiB of UTF-8. */
  query: Query,
  /** 1 to 10,000 documents: texts of at most 1 MiB, or objects with fields. */
  documents: documentsOf(Schema.Union([Text, DocumentFields])),
  /** The number of most relevant documents to return, at least 1. Default: all. */
  top_n: nullable(Count),
  /**
   * The fields of an object that are ranked, 1 to 64 names; a repeated name counts once. Their
   * texts are joined by line breaks in this order, to at most 1 MiB. A field that an object does
   * not have is left out. Default: `text`.
   */
  rank_fields: nullable(
    Schema.Array(Schema.String).check(Schema.isMinLength(1, { expected: "at least 1 item" }), isMaxItems(64))
  ),
  /** Whether each result has its document. Default: false. */
  return_documents: nullable(Schema.Boolean),
  /**
   * Must be left out or null: no model takes a limit of chunks, and ignoring one could cost more
   * than expected.
   */
  max_chunks_per_doc: Schema.optionalKey(
    Schema.Null.annotate({
      message: "Expected null: no model takes a limit of chunks. Use max_tokens_per_doc of /v2/rerank"
    })
  )
})

/**
 * @category models
 * @since 0.1.0
 */
export type RequestV1 = { [Field in keyof typeof RequestV1.Type]: Written<typeof RequestV1.Type, Field> }

/**
 * What a rerank used.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Meta = Schema.Struct({
  /** The version of Cohere's API whose shape this is. */
  api_version: Schema.Struct({
    /** `1` or `2`. */
    version: Schema.Literals(["1", "2"])
  }),
  /** What is charged, in the units of the model's price. The price is in GET `/generation`. */
  billed_units: Schema.Struct({
    /** The number of search units, for a model that is priced by them. */
    search_units: Schema.optionalKey(Schema.Int),
    /** The number of tokens, for any other model. */
    input_tokens: Schema.optionalKey(Schema.Int)
  }),
  /** Present if the upstream reports tokens. */
  tokens: Schema.optionalKey(
    Schema.Struct({
      /** The number of tokens of the query and the documents. */
      input_tokens: Schema.Int
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
export type Meta = { [Field in keyof typeof Meta.Type]: (typeof Meta.Type)[Field] }

/**
 * One document's rank.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Result = Schema.Struct({
  /** The document's position in the request's `documents`, counted from 0. */
  index: Schema.Int,
  /** The relevance from 0 to 1. */
  relevance_score: Schema.Finite
})

/**
 * @category models
 * @since 0.1.0
 */
export type Result = { [Field in keyof typeof Result.Type]: (typeof Result.Type)[Field] }

/**
 * The ranking, as in version 2 of Cohere's API.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** Identifies the request in GET `/generation`. */
  id: Schema.String,
  /** The results, most relevant first. */
  results: Schema.Array(Result),
  meta: Meta
})

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * One document's rank, with the document if the request asked for it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResultV1 = Schema.Struct({
  /** The document's position in the request's `documents`, counted from 0. */
  index: Schema.Int,
  /** The relevance from 0 to 1. */
  relevance_score: Schema.Finite,
  /** The request's document; a text is in its field `text`. Present with `return_documents`. */
  document: Schema.optionalKey(DocumentFields)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ResultV1 = { [Field in keyof typeof ResultV1.Type]: (typeof ResultV1.Type)[Field] }

/**
 * The ranking, as in version 1 of Cohere's API.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResponseV1 = Schema.Struct({
  /** Identifies the request in GET `/generation`. */
  id: Schema.String,
  /** The results, most relevant first. */
  results: Schema.Array(ResultV1),
  meta: Meta
})

/**
 * @category models
 * @since 0.1.0
 */
export type ResponseV1 = { [Field in keyof typeof ResponseV1.Type]: (typeof ResponseV1.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const cohereRerankOperation = Operation.make("cohereRerank", "POST", "/v2/rerank", {
  access: "ordinary key",
  idempotency: "by key",
  bodyLimit: { json: "rerank" },
  topLevelMessage: true,
  success: Response,
  error: rerankOperation.error
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const cohereRerankEndpoint = Operation.endpoint(cohereRerankOperation, () => ({
  headers: idempotencyHeaders,
  payload: Request,
  reference: {
    summary: "Rank documents (Cohere, version 2)",
    example: {
      request: {
        model: "rerank-v3.5",
        query: "How do I reset my password?",
        documents: ["Invoices are sent on the first of the month.", "To reset your password, open Settings."],
        top_n: 1
      },
      response: {
        id: "gen_01J9ZQ4T7C5Q8B2W6N3M",
        results: [{ index: 1, relevance_score: 0.9731 }],
        meta: { api_version: { version: "2" }, billed_units: { search_units: 1 } }
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const cohereRerankV1Operation = Operation.make("cohereRerankV1", "POST", "/v1/rerank", {
  access: "ordinary key",
  idempotency: "by key",
  bodyLimit: { json: "rerank" },
  topLevelMessage: true,
  success: ResponseV1,
  error: rerankOperation.error
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const cohereRerankV1Endpoint = Operation.endpoint(cohereRerankV1Operation, () => ({
  headers: idempotencyHeaders,
  payload: RequestV1,
  reference: {
    summary: "Rank documents (Cohere, version 1)",
    example: {
      request: {
        model: "rerank-v3.5",
        query: "How do I reset my password?",
        documents: [
          { title: "Billing", text: "Invoices are sent on the first of the month." },
          { title: "Account", text: "To reset your password, open Settings." }
        ],
        rank_fields: ["title", "text"],
        top_n: 1,
        return_documents: true
      },
      response: {
        id: "gen_01J9ZQ4T7C5Q8B2W6N3M",
        results: [
          {
            index: 1,
            relevance_score: 0.9731,
            document: { title: "Account", text: "To reset your password, open Settings." }
          }
        ],
        meta: { api_version: { version: "1" }, billed_units: { search_units: 1 } }
      }
    }
  }
}))

/**
 * The errors of {@link cohereRerank} and {@link cohereRerankV1}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof cohereRerankOperation> | ClientError

/**
 * Ranks documents by relevance to a query, in the shape of version 2 of Cohere's API. The clients
 * of Cohere call it if their base URL is that of this API. An error also has its message at the top
 * level, as `message`.
 *
 * @remarks
 * New programs use `Rerank.rerank`, which also ranks images and returns what it cost.
 *
 * @example
 * ```ts
 * import { CohereRerank } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const best = CohereRerank.cohereRerank({
 *   model: "rerank-v3.5",
 *   query: "pears",
 *   documents: ["apples", "pears"]
 * }).pipe(
 *   Effect.map(({ results }) => results[0]?.index)
 * )
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const cohereRerank = (
  request: Request,
  options?: CallOptions
): Effect.Effect<Response, Failure, GatewayClient> => call(cohereRerankOperation, { ...options, json: request })

/**
 * Ranks documents by relevance to a query, in the shape of version 1 of Cohere's API: documents may
 * be objects, and results may have their documents. An error also has its message at the top level,
 * as `message`.
 *
 * @category calls
 * @since 0.1.0
 */
export const cohereRerankV1 = (
  request: RequestV1,
  options?: CallOptions
): Effect.Effect<ResponseV1, Failure, GatewayClient> => call(cohereRerankV1Operation, { ...options, json: request })
