/**
 * Maps failures that any operation can have to a status of the operation's closed set: input that
 * does not match the schemas, bodies that are too large or incomplete, unknown routes, an
 * unavailable database, and defects.
 *
 * Handlers fail with the contract's errors. `admission/PaymentFailures.ts` makes the 402 or 429 of
 * a request that cannot be paid for, `routing/ProviderFailures.ts` the errors of failed providers.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { EnvelopeError, type Issue, phrases } from "@model-gateway/core/GatewayError"
import { type Cause, Effect, SchemaAST, SchemaIssue } from "effect"
import { HttpServerError, Multipart } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { nearest } from "@model-gateway/settings/Nearest"
import { StorageError } from "../storage/sql/StorageError.ts"
import { BodyMemoryFull } from "./BodyMemory.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import { NotReady } from "../observability/Readiness.ts"
import type { Failure } from "./Envelope.ts"
import * as Issues from "../internal/Issues.ts"
import * as FormParts from "./FormParts.ts"
import * as Routes from "./Routes.ts"

/** A failure, and whether to log it for the operator. */
export interface Classified {
  readonly failure: Failure
  readonly unexpected: boolean
  /** Statuses to use instead if the operation does not have the failure's own. */
  readonly alternatives?: ReadonlyArray<number>
}

const expected = (failure: Failure): Classified => ({ failure, unexpected: false })

const internal: Classified = { failure: { status: 500, message: phrases[500] }, unexpected: true }

const unavailable: Classified = {
  failure: { status: 503, message: phrases[503], metadata: { retry_after: 1 } },
  unexpected: true
}

const unstorable = expected({ status: 400, message: `${phrases[400]}: a text contains the character U+0000` })

const tooLarge = expected({ status: 413, message: phrases[413] })

const memoryFull = ({ retryAfter }: BodyMemoryFull): Classified => ({
  failure: {
    status: 503,
    message: `${phrases[503]}: too many large requests are in progress. Try again in ${retryAfter} s`,
    metadata: { retry_after: retryAfter }
  },
  unexpected: false,
  alternatives: [429, 500]
})

const notReady = ({ message, parts, status }: NotReady): Classified =>
  expected({ status: 503, message: `${phrases[503]}: ${message}`, fields: { status, parts } })

const badRequest = (reason: string, issues: ReadonlyArray<Issue>): Classified =>
  expected({ status: 400, message: `${phrases[400]}: ${reason}`, metadata: Issues.metadataOf(issues) })

const maxPathLength = 256

/** Longer names are cut before they are compared: no field has as many characters. */
const maxNameLength = 64

/** What to say of a name that an object does not have: the one that was most likely meant. */
const unknown = (what: "field" | "parameter", name: string, { ast }: SchemaIssue.UnexpectedKey): string => {
  const known = SchemaAST.isObjects(ast) ? ast.propertySignatures.map((property) => String(property.name)) : []
  return known.length === 0
    ? `Unknown ${what}`
    : `Unknown ${what}. Did you mean "${nearest(name.slice(0, maxNameLength), known)}"?`
}

const isUnexpectedKey = (issue: SchemaIssue.Leaf): issue is SchemaIssue.UnexpectedKey => issue._tag === "UnexpectedKey"

/** The message of an unexpected key until the name that was meant is found. */
const unexpectedKey = "Unexpected key"

/** Rewords schema messages that describe the encoding or the schema instead of the input. */
const reworded = (message: string, path: string): string => {
  // In an API with keys, "missing key" would be read as a missing API key.
  if (message === "Missing key") return "Required"
  // To the schema, a form's file is a list with one item.
  if (path === "file" && (message === "Expected array" || message === "Expected a value with a length of 1")) {
    return "Expected one file"
  }
  // The schema lists the fields that have only one value, in TypeScript.
  return message.startsWith("Expected { ") ? "Expected object" : message
}

const issuesOf = (issue: SchemaIssue.Issue, what: "field" | "parameter"): ReadonlyArray<Issue> => {
  const seen = new Set<string>()
  const issues: Array<Issue> = []
  const unexpected: Array<SchemaIssue.UnexpectedKey> = []
  // Messages leave out the input: it may be a secret, and the caller knows it.
  const format = SchemaIssue.makeFormatterStandardSchemaV1({
    leafHook: (leaf) => {
      if (!isUnexpectedKey(leaf)) return SchemaIssue.defaultLeafHook(leaf)
      unexpected.push(leaf)
      return unexpectedKey
    }
  })
  for (const { message: original, path } of format(issue).issues) {
    const segments = (path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment))
    // A hook does not know the path. The formatter calls it in the order of the messages.
    const key = original === unexpectedKey ? unexpected.shift() : undefined
    const last = segments.at(-1)
    // An item that a list lacks is a fault of the list.
    const isShort = original === "Missing key" && typeof last === "number"
    const dotted = (isShort ? segments.slice(0, -1) : segments).map(String).join(".").slice(0, maxPathLength)
    const message = isShort
      ? `Expected at least ${last + 1} item${last === 0 ? "" : "s"}`
      : key === undefined
        ? reworded(original, dotted)
        : unknown(what, String(last), key)
    const line = `${dotted}\n${message}`
    if (seen.has(line)) continue
    seen.add(line)
    issues.push({ path: dotted, message })
    if (issues.length > Issues.maxIssues) break
  }
  return issues
}

const fromSchema = (error: HttpApiError.HttpApiSchemaError): Classified => {
  if (error.kind === "Body" || error.kind === "ResponseHeaders") return internal
  const issues = issuesOf(error.cause.issue, error.kind === "Payload" ? "field" : "parameter")
  return badRequest(Issues.summaryOf(issues), issues)
}

/** Errors of a full or broken disk while an upload is stored. */
const diskErrors = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "EACCES", "EPERM", "ENOENT"])

const causeChain = function* (error: unknown): Generator<unknown> {
  let current = error
  for (let depth = 0; depth < 8 && current !== undefined && current !== null; depth++) {
    yield current
    current = typeof current === "object" && "cause" in current ? current.cause : undefined
  }
}

const isReachedLimit = (error: unknown): boolean => {
  for (const inner of causeChain(error)) {
    if (typeof inner === "object" && inner !== null && "_tag" in inner && inner._tag === "ReachedLimit") return true
  }
  return false
}

const isDiskError = (error: unknown): boolean => {
  for (const inner of causeChain(error)) {
    const code = ErrorCode.of(inner)
    if (code !== undefined && diskErrors.has(code)) return true
  }
  return false
}

const fromMultipart = (error: Multipart.MultipartError): Classified => {
  switch (error.reason._tag) {
    case "FileTooLarge":
    case "BodyTooLarge":
      return tooLarge
    case "FieldTooLarge":
      return fieldTooLarge
    case "TooManyParts":
      return tooManyParts
    case "Parse":
    case "InternalError":
      // An error of the body appears where its file is written, as a failure of that file's stream.
      if (isReachedLimit(error.reason.cause)) return tooLarge
      return isDiskError(error.reason.cause) ? unavailable : malformedForm(error.reason.cause)
  }
}

const fieldTooLarge = expected({
  status: 413,
  message: `${phrases[413]}: a form field may have at most 64 KiB, "provider" and "trace" 1 MiB each`
})

const tooManyParts = badRequest(`the form has more than ${FormParts.maxParts} parts`, [
  { path: "", message: `Expected at most ${FormParts.maxParts} parts` }
])

/** Messages for the form parser's errors. */
const malformedForms: Readonly<Record<string, string>> = {
  InvalidBoundary: "its content type has no boundary",
  BadHeaders: "a part has malformed headers, or more than 16 KiB of them",
  InvalidDisposition: "a part has no Content-Disposition header with a name",
  EndNotReached: "it ends before its closing boundary",
  UnfinishedHeaders: "the headers of a part do not end with an empty line"
}

const malformedForm = (cause: unknown): Classified => {
  const tag = typeof cause === "object" && cause !== null && "_tag" in cause ? String(cause._tag) : ""
  const why = malformedForms[tag] ?? "it is malformed or incomplete"
  return badRequest(`the multipart body cannot be read: ${why}`, [
    { path: "", message: "Expected a complete multipart/form-data body" }
  ])
}

/** No route has this path. */
export const noSuchPath = expected({
  status: 404,
  message: `${phrases[404]}: no such path. The paths of the API begin with /api/v1, and /docs lists them`
})

const fromServer = (error: HttpServerError.HttpServerError): Classified => {
  const reason = error.reason
  switch (reason._tag) {
    case "RouteNotFound": {
      const allow = Routes.allowedMethods(reason.request.url)
      // The method is allowed for the path, so a parameter is malformed or too long.
      return allow === undefined || allow.split(", ").includes(reason.request.method)
        ? noSuchPath
        : expected({ status: 405, message: `method not allowed: this path supports ${allow}`, headers: { allow } })
    }
    case "RequestParseError":
      return reason.reason === "BodyTooLarge"
        ? tooLarge
        : badRequest("the body is incomplete", [{ path: "", message: "Expected a complete body" }])
    case "InternalError":
    case "ResponseError":
      return internal
  }
}

/** Adds the limit to the failure of a body that was not read because it is too large. */
export const withLimit = (classified: Classified, limit: number | undefined): Classified => {
  if (classified !== tooLarge || limit === undefined) return classified
  const { failure } = classified
  const size = limit % 1_048_576 === 0 ? `${limit / 1_048_576} MiB` : `${limit} bytes`
  return { ...classified, failure: { ...failure, message: `${phrases[413]}: at most ${size} are accepted` } }
}

/** Classifies one error or defect, regardless of the operation. */
export const classify = (error: unknown): Classified => {
  if (error instanceof EnvelopeError) {
    return expected({
      status: error.error.code,
      message: error.error.message,
      metadata: error.error.metadata ?? undefined
    })
  }
  if (HttpApiError.HttpApiSchemaError.is(error)) return fromSchema(error)
  if (HttpApiError.HttpApiPayloadTooLarge.is(error)) return tooLarge
  if (HttpServerError.isHttpServerError(error)) return fromServer(error)
  if (Multipart.isMultipartError(error)) return fromMultipart(error)
  if (error instanceof BodyMemoryFull) return memoryFull(error)
  if (error instanceof NotReady) return notReady(error)
  if (error instanceof StorageError) return error.isUnstorable === true ? unstorable : unavailable
  return isDiskError(error) ? unavailable : internal
}

/** The statuses that replace one that an operation does not have, in order of preference. */
const alternativeStatuses: Readonly<Record<number, ReadonlyArray<number>>> = {
  400: [404],
  413: [400, 404],
  503: [500]
}

/**
 * Restricts a failure to the statuses of the operation's contract. A status that the operation does
 * not have becomes a 500 and is logged.
 */
export const restrictToContract = (operation: Routes.Route | undefined, classified: Classified): Classified => {
  const { failure } = classified
  if (operation === undefined || operation.errors.has(failure.status)) return classified
  const alternatives = classified.alternatives ?? alternativeStatuses[failure.status]
  const status = alternatives?.find((candidate) => operation.errors.has(candidate))
  if (status === undefined) return internal
  if (status === 429) {
    const message = failure.message.replace(phrases[503], phrases[429])
    return { ...classified, failure: { ...failure, status, message } }
  }
  if (status === 500) return { ...internal, unexpected: classified.unexpected }
  const reason = failure.message.replace(/^invalid request parameters: /, "")
  return {
    failure: {
      ...failure,
      status,
      message: status === 404 ? `${phrases[404]}: ${reason}` : `${phrases[400]}: ${reason}`,
      metadata: failure.status === 413 ? { issues: [{ path: "", message: failure.message }] } : failure.metadata
    },
    unexpected: classified.unexpected
  }
}

/** The error or defect of a cause; the first one if there are several. */
export const errorOf = (cause: Cause.Cause<unknown>): unknown => {
  for (const reason of cause.reasons) {
    if (reason._tag === "Fail") return reason.error
    if (reason._tag === "Die") return reason.defect
  }
  return undefined
}

/**
 * What may be logged of an error: its type and where it arose. The message of a parser quotes its
 * input, so it is left out.
 */
export const describe = (error: unknown): string => {
  if (error instanceof StorageError) return `${error.operation}: ${error.message}`
  if (error instanceof SyntaxError || !(error instanceof Error)) {
    return error instanceof Error ? error.name : `a defect that is not an Error (${typeof error})`
  }
  return [`${error.name}: ${error.message.slice(0, 200)}`, ...framesOf(error)].join("\n")
}

const framesOf = ({ stack = "" }: Error, max = 8): ReadonlyArray<string> =>
  stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, max)

/**
 * The kind of an error: same type, same place. Messages may contain a path or an id, so they count
 * only if nothing else is known. Further up the stack, many paths lead to the same place, so only
 * the top counts.
 */
export const kindOf = (error: unknown): string => {
  if (error instanceof StorageError || !(error instanceof Error)) return describe(error)
  const codes = Array.from(causeChain(error), ErrorCode.of).filter((code) => code !== undefined)
  const place = [...codes, ...framesOf(error, 3)]
  return [error.name, ...(place.length === 0 ? [error.message.slice(0, 200)] : place)].join("\n")
}

/**
 * Turns a store's failure into a defect that {@link classify} maps: 503 if the operation has it,
 * otherwise 500.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import * as Failures from "./Failures.ts"
 * import { StorageError } from "../storage/sql/StorageError.ts"
 *
 * const read: Effect.Effect<string, StorageError> = Effect.succeed("row")
 * const inHandler: Effect.Effect<string> = Failures.orUnavailable(read)
 * ```
 */
export const orUnavailable = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    effect,
    (error: E): error is Extract<E, StorageError> => error instanceof StorageError,
    (error) => Effect.die(error)
  )

/**
 * Turns an error of the contract into a defect, so that the outermost middleware makes its response
 * from the error itself. A typed error would be encoded before it got there, without request id and
 * user.
 */
export const unencoded = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    effect,
    (error: E): error is Extract<E, EnvelopeError> => error instanceof EnvelopeError,
    (error) => Effect.die(error)
  )

/** Logs a failure that the current request does not depend on, and continues. */
export const logAndContinue = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R> =>
  Effect.catch(Effect.asVoid(effect), (error) =>
    FailureLog.report({ kind: `ignored\n${kindOf(error)}`, event: "side_effect_failed", message: error.message })
  )
