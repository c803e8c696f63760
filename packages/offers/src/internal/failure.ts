/** What a response with a status other than 2xx means. */
import * as RetryAfter from "@model-gateway/core/unstable/RetryAfter"
import { Duration } from "effect"
import type { Headers } from "effect/http"
import {
  BadResponse,
  InputTooLarge,
  InvalidRequest,
  OutOfCredit,
  Overloaded,
  RateLimited,
  type Reason,
  Timeout,
  Unauthorized,
  UnknownModel
} from "../ProviderError.ts"
import * as SafeMessage from "../SafeMessage.ts"

/**
 * A response with a status other than 2xx.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failure {
  readonly status: number
  /**
   * What the upstream says of it, on one line, without parts of credentials. It is for decisions:
   * of a reason's message the caller reads what `SafeMessage` leaves.
   */
  readonly message: string | undefined
  /**
   * The upstream's own words for the case, as its JSON has them: `insufficient_quota` (OpenAI),
   * `API_KEY_INVALID` (Google), `Validation` (Text Embeddings Inference). Empty if it has none.
   */
  readonly codes: ReadonlyArray<string>
  /** Whether the JSON names a field of the request: `param` (OpenAI), `loc` (fal, Voyage). */
  readonly namesField?: boolean
  /** The time to wait, from `Retry-After` or from the JSON. The longer of the two. */
  readonly retryAfter: Duration.Duration | undefined
  /** The model of the call. */
  readonly model: string
}

/** A longer wait is a mistake of the upstream: about thirty years. */
const maxSeconds = 999_999_999

/** The wait of `Retry-After`. A date in the past is no wait. */
export const retryAfterOf = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const wait = RetryAfter.seconds(headers, now)
  return wait === undefined || wait > maxSeconds ? undefined : Duration.seconds(Math.max(0, wait))
}

/** The longer wait. */
export const longer = (one: Duration.Duration | undefined, other: Duration.Duration | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Duration.max(one, other)

const invalidMessage = "the provider rejected the request as invalid"
const tooLargeMessage = "the input is too large for the provider"

/**
 * Codes of failures of the account, also where the status is one of the input: OpenAI, Google,
 * ElevenLabs.
 */
const isAccountCode = (code: string): boolean =>
  /api_?key|account|billing|credit|payment|permission|quota|spend_limit|usage_limit|unauthenticated|unauthori[sz]ed/i.test(
    code
  )

/**
 * Codes that only failures of the input have: OpenAI, pydantic (fal, Voyage, Jina), Google, TEI.
 */
const isInputCode = (code: string): boolean =>
  /^(?:invalid_(?:argument|file\w*|parameters?|type|value|image|language)|unsupported_(?:format|parameter|value)|(?:missing_required|unknown)_parameter|(?:array|integer|string)_(?:above|below)_\w+|\w+_too_(?:large|long|short)|context_length_exceeded|extra_forbidden|missing|\w+_(?:parsing|type)|value_error(?:[._]\w+)*|type_error(?:[._]\w+)*|validation(?:_error)?|unprocessable_entity)$/i.test(
    code
  )

/** What a failure says about itself. */
interface Said extends Pick<Failure, "codes" | "namesField"> {
  /** Whether its status is one of the input. */
  readonly isOfInput?: boolean | undefined
}

/**
 * Whether the vendor itself says that a failure is about the input, by its code, by the field that
 * it names or by its status. Undefined if it says nothing.
 */
const isAboutInput = ({ codes, isOfInput = false, namesField = false }: Said): boolean | undefined =>
  codes.some(isAccountCode) ? false : namesField || isOfInput || codes.some(isInputCode) ? true : undefined

const messageFor = (message: string, failure: Said): string | undefined => {
  switch (isAboutInput(failure)) {
    case true:
      return SafeMessage.ofInput(message)
    case false:
      return undefined
    default:
      return SafeMessage.make(message)
  }
}

/**
 * Removes from a message what callers must not read. The code of the failure decides. Without a
 * code, the words of the message decide.
 */
export const withSafeMessage = (reason: Reason, failure: Said = { codes: [] }): Reason => {
  switch (reason._tag) {
    case "InvalidRequest": {
      const message = messageFor(reason.message, failure) ?? invalidMessage
      const { othersMayAccept } = reason
      return new InvalidRequest({ message, ...(othersMayAccept === undefined ? {} : { othersMayAccept }) })
    }
    case "InputTooLarge":
      return new InputTooLarge({ message: messageFor(reason.message, failure) ?? tooLargeMessage })
    default:
      return reason
  }
}

const waiting = (retryAfter: Duration.Duration | undefined) => (retryAfter === undefined ? {} : { retryAfter })

/**
 * What most upstreams mean by a status.
 *
 * @category converting
 * @since 0.1.0
 */
export const reasonOf = ({ message, model, retryAfter, status }: Failure): Reason => {
  switch (status) {
    case 400:
    case 422:
      return new InvalidRequest({ message: message ?? invalidMessage })
    case 401:
    case 403:
      return new Unauthorized()
    case 402:
      return new OutOfCredit()
    case 404:
      return new UnknownModel({ model })
    case 408:
    case 504:
    case 524:
      return new Timeout()
    case 413:
      return new InputTooLarge({ message: message ?? tooLargeMessage })
    case 429:
      return new RateLimited(waiting(retryAfter))
    case 503:
    case 529:
      return new Overloaded(waiting(retryAfter))
    default:
      return new BadResponse({ description: `status ${status}` })
  }
}
