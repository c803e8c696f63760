/**
 * What an operation of the contract is. Each operation states it once, in its own file, in two
 * halves:
 *
 * - {@link make}: identifier, method, path, responses, and the traits that the client, the service
 *   and the OpenAPI document read;
 * - {@link endpoint}: the request. A page bundles only the first half, because a client sends
 *   requests without encoding them.
 *
 * What follows from these is not stated again: an operation costs money if it has a 402
 * ({@link isPaid}), is rate limited per key if it has a 429 ({@link isRateLimited}), accepts the
 * content types of its payload, and knows the fields of its schemas. An ephemeral key can be
 * restricted to an operation that does not require a management key.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { Authorization } from "./unstable/Authorization.ts"
import { statusOf } from "./GatewayError.ts"
import type { Role } from "./Identifiers.ts"
import { RequestBody } from "./unstable/RequestBody.ts"

/**
 * The kind of key that may call an operation. Ordinary keys spend credits, management keys manage
 * keys, guardrails and workspaces. An ephemeral key counts as an ordinary key.
 *
 * @category models
 * @since 0.1.0
 */
export type Access = "any key" | "ordinary key" | "management key"

/**
 * What a management key that is restricted to some workspaces gets of an operation:
 *
 * - `workspace`: the operation shows and changes only what is in these workspaces, or what belongs
 *   to none;
 * - `organization`: a 403.
 *
 * @category models
 * @since 0.1.0
 */
export type Scope = "workspace" | "organization"

/**
 * Whether the client may retry a request whose outcome is unknown:
 *
 * - `always`: a repetition has no further effect;
 * - `by key`: only with the same `Idempotency-Key` header, which the client adds;
 * - `never`: a repetition could do the work twice.
 *
 * @category models
 * @since 0.1.0
 */
export type Idempotency = "always" | "by key" | "never"

/**
 * What happens to a field of the body, or a parameter of the query, that an operation does not
 * know. To ignore it would mislead a caller who relies on it: about money and access where it
 * changes keys or budgets, and about the result where it filters a list.
 *
 * @category models
 * @since 0.1.0
 */
export type UnknownFields = "refused" | "ignored"

/**
 * The names of the service's settings that limit the size of a body. An operation that has a 413
 * names its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface BodyLimit {
  /** The limit of a JSON body. Default: `other`, which most operations share. */
  readonly json?: "rerank" | "transcription" | "videos" | "other" | undefined
  /** The limit of the file in a form. An operation that accepts a form names one. */
  readonly form?: "transcriptionFile" | "files" | undefined
}

/**
 * The half of an operation that client and service share.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operation<
  Identifier extends string = string,
  Method extends HttpMethod = HttpMethod,
  Path extends `/${string}` = `/${string}`,
  Success extends Schema.Codec<unknown, unknown> = Schema.Codec<unknown, unknown>,
  Failures extends ReadonlyArray<Schema.Codec<unknown, unknown>> = ReadonlyArray<Schema.Codec<unknown, unknown>>,
  Who extends Access = Access
> {
  /** Its name in the contract and in the client, such as `rerank`. */
  readonly identifier: Identifier
  readonly method: Method
  /** The path below `/api/v1`, with parameters as `:name`. */
  readonly path: Path
  readonly access: Who
  /** The least role of a management key that may call it. Other keys have no role. */
  readonly role: Role
  readonly scope: Scope
  /**
   * Whether a session of the console must have been started or confirmed within the last 15 minutes.
   * Keys are not concerned.
   */
  readonly needsRecentSignIn: boolean
  readonly idempotency: Idempotency
  readonly bodyLimit: BodyLimit
  /** Whether a request with a field that the operation does not know is a 400. */
  readonly unknownFields: UnknownFields
  /**
   * The client's time limit for a response, in seconds: longer than the service takes by default.
   */
  readonly timeLimit: number
  /**
   * Whether an error response also has its message at the top level, where clients of other APIs
   * look for it.
   */
  readonly topLevelMessage?: boolean
  /** The body of a successful response. */
  readonly success: Success
  /** The errors, one for each status that the operation can return. */
  readonly error: Failures
}

/**
 * The errors for the statuses of an operation.
 *
 * @category models
 * @since 0.1.0
 */
export type ErrorOf<E extends Operation> = E["error"][number]["Type"]

/**
 * Declares an operation. Default for `role`: `viewer` for a GET; for other methods `operator`, or
 * `admin` if only management keys may call. Default for `scope`: `organization` if only management
 * keys may call, else `workspace`.
 * Default for `needsRecentSignIn`: true for a DELETE.
 * Default for `idempotency`: `never` for a POST, `always` for other methods.
 * Default for `unknownFields`: `refused` for an operation of management keys, else `ignored`.
 * Default for `timeLimit`: 90 seconds.
 *
 * @example
 * ```ts
 * import { GatewayError, Models, Operation } from "@model-gateway/core"
 *
 * export const listModels = Operation.make("listModels", "GET", "/models", {
 *   access: "any key",
 *   success: Models.ListResponse,
 *   error: [GatewayError.Unauthorized, GatewayError.InternalServerError]
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  const Identifier extends string,
  const Method extends HttpMethod,
  const Path extends `/${string}`,
  Success extends Schema.Codec<unknown, unknown>,
  const Failures extends ReadonlyArray<Schema.Codec<unknown, unknown>>,
  const Who extends Access
>(
  identifier: Identifier,
  method: Method,
  path: Path,
  traits: {
    readonly access: Who
    readonly role?: Role
    readonly scope?: Scope
    readonly needsRecentSignIn?: boolean
    readonly idempotency?: Idempotency
    readonly bodyLimit?: BodyLimit
    readonly unknownFields?: UnknownFields
    readonly timeLimit?: number
    readonly topLevelMessage?: boolean
    readonly success: Success
    readonly error: Failures
  }
): Operation<Identifier, Method, Path, Success, Failures, Who> => ({
  identifier,
  method,
  path,
  // What an ordinary key may do, an operator may do too, because it could create such a key.
  role: method === "GET" ? "viewer" : traits.access === "management key" ? "admin" : "operator",
  scope: traits.access === "management key" ? "organization" : "workspace",
  needsRecentSignIn: method === "DELETE",
  idempotency: method === "POST" ? "never" : "always",
  bodyLimit: {},
  unknownFields: traits.access === "management key" ? "refused" : "ignored",
  timeLimit: 90,
  ...traits
})

/**
 * Whether a value was made with {@link make}.
 *
 * @category operations
 * @since 0.1.0
 */
export const isOperation = (value: unknown): value is Operation =>
  Predicate.hasProperty(value, "identifier") && Predicate.hasProperty(value, "access")

/**
 * The annotation of an endpoint with its operation. Read it with {@link of}.
 *
 * @category annotations
 * @since 0.1.0
 */
export class Declaration extends Context.Service<Declaration, Operation>()(
  "@model-gateway/core/Operation/Declaration"
) {}

/**
 * What the API reference shows of an operation besides its declaration.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reference<Success> {
  /** A title of a few words, such as `Rank documents`. */
  readonly summary: string
  /**
   * The arguments of the client's function. Default: the parameters of the path, then the query or
   * the body.
   */
  readonly arguments?: ReadonlyArray<Schema.Json>
  /** A call as it is on the wire. A test decodes its bodies. */
  readonly example?: {
    readonly params?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, string>>
    /** The body as JSON. */
    readonly request?: Schema.Json
    /** The body as a form, with the name of a file as `file`. The code samples prefer it. */
    readonly form?: { readonly file: string; readonly [field: string]: string }
    readonly response?: Success
  }
}

/**
 * The annotation of an endpoint with its part of the API reference. Read it with {@link
 * referenceOf}.
 *
 * @category annotations
 * @since 0.1.0
 */
export class ReferenceAnnotation extends Context.Service<ReferenceAnnotation, Reference<unknown>>()(
  "@model-gateway/core/Operation/ReferenceAnnotation"
) {}

/**
 * The annotation of a group of endpoints with its title in the API reference, such as `Request
 * log`.
 *
 * @category annotations
 * @since 0.1.0
 */
export class GroupTitle extends Context.Service<GroupTitle, string>()("@model-gateway/core/Operation/GroupTitle") {}

/** The service collects the remaining issues of a body itself, at a bounded cost. */
const refusesUnknownFields = Context.make(HttpApi.PayloadParseOptions, {
  errors: "first",
  onExcessProperty: "error"
}).pipe(Context.add(HttpApi.QueryParseOptions, { errors: "all", onExcessProperty: "error" }))

/**
 * Makes the endpoint of an operation, which only the service, the test gateway and the OpenAPI
 * document need.
 *
 * `request` returns the schemas of the request. It is a function, so that a bundler drops whatever
 * is in it if the endpoint is unused. Its `success` replaces the operation's, for a response that
 * is a stream of bytes. Its `reference` has the summary and the examples of the API reference.
 *
 * @example
 * ```ts
 * import { Models, Operation } from "@model-gateway/core"
 * import { Schema } from "effect"
 *
 * export const listModelsEndpoint = Operation.endpoint(Models.listModelsOperation, () => ({
 *   query: { output_modalities: Schema.optionalKey(Models.OutputModality) }
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const endpoint = <
  const Identifier extends string,
  const Method extends HttpMethod,
  const Path extends `/${string}`,
  Success extends Schema.Codec<unknown, unknown>,
  const Failures extends ReadonlyArray<Schema.Codec<unknown, unknown>>,
  const Who extends Access,
  Params extends Schema.Struct.Fields = never,
  Query extends Schema.Struct.Fields = never,
  Headers extends Schema.Struct.Fields = never,
  Payload extends HttpApiEndpoint.PayloadConstraintCodecs<Method> = never,
  Response extends Schema.Top = Success,
  const Example extends Reference<Success["Encoded"]> = never
>(
  operation: Operation<Identifier, Method, Path, Success, Failures, Who>,
  request?: () => {
    readonly params?: Params
    readonly query?: Query
    readonly headers?: Headers
    readonly payload?: Payload
    readonly success?: Response
    readonly reference?: Example
  }
) => {
  // Widened: whether one of the errors is a stream cannot be decided for a generic list. Effect
  // checks it again when it makes the endpoint.
  const responses: object = { success: operation.success, error: operation.error }
  const { reference, ...schemas } = request?.() ?? {}
  const made = HttpApiEndpoint.make(operation.method)<
    Identifier,
    Path,
    Params,
    Query,
    Payload,
    Headers,
    Response,
    Failures
  >(operation.identifier, operation.path, { ...responses, ...schemas })
    // The last one is the outermost.
    .middleware(RequestBody)
    .middleware(Authorization)
    .annotate(Declaration, operation)
  const checked = operation.unknownFields === "refused" ? made.annotateMerge(refusesUnknownFields) : made
  return reference === undefined ? checked : checked.annotate(ReferenceAnnotation, reference)
}

/**
 * The operation of an endpoint. Undefined for an endpoint that {@link endpoint} did not make.
 *
 * @category getters
 * @since 0.1.0
 */
export const of = ({ annotations }: HttpApiEndpoint.Top): Operation | undefined =>
  Context.getOrUndefined(annotations, Declaration)

/**
 * The part of the API reference that an endpoint declares.
 *
 * @category getters
 * @since 0.1.0
 */
export const referenceOf = ({ annotations }: HttpApiEndpoint.Top): Reference<unknown> | undefined =>
  Context.getOrUndefined(annotations, ReferenceAnnotation)

const hasStatus = (operation: Operation, status: number): boolean =>
  operation.error.some((schema) => statusOf(schema) === status)

/**
 * Whether a call costs money.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isPaid = (operation: Operation): boolean => hasStatus(operation, 402)

/**
 * Whether calls count against the rate limit of their key.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isRateLimited = (operation: Operation): boolean => hasStatus(operation, 429)
