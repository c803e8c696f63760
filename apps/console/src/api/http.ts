/** Requests to the gateway that served the page, and their errors. */

/** The folder of the page: every address of the console is one segment below it. */
export const base = new URL(".", location.href)

/** A call that did not succeed. Its message is the gateway's sentence. */
export class ApiError extends Error {
  override readonly name = "ApiError"
  /** The HTTP status. 0: no answer arrived. */
  readonly status: number
  /** The `x-request-id` of the answer. */
  readonly requestId: string | undefined
  /** `error.metadata.reason`. */
  readonly reason: string | undefined
  /** On a 401: how one can sign in. */
  readonly ways: ReadonlyArray<Way>
  /** Seconds after which the request may be repeated, if the gateway says so. */
  readonly retryAfter: number | undefined
  /** What is wrong with the fields of the request, by field. */
  readonly issues: ReadonlyArray<Issue>

  constructor(
    message: string,
    {
      issues = [],
      reason,
      requestId,
      retryAfter,
      status,
      ways = []
    }: {
      readonly status: number
      readonly requestId?: string | undefined
      readonly reason?: string | undefined
      readonly retryAfter?: number | undefined
      readonly issues?: ReadonlyArray<Issue> | undefined
      readonly ways?: ReadonlyArray<Way> | undefined
    }
  ) {
    super(message)
    this.status = status
    this.requestId = requestId
    this.reason = reason
    this.retryAfter = retryAfter
    this.issues = issues
    this.ways = ways
  }
}

/** A field of a request and what is wrong with it. */
export interface Issue {
  /** Where it is, such as `documents.0.image`. Empty: the body as a whole. */
  readonly path: string
  readonly message: string
}

/** A way to sign in. */
export type Way =
  | { readonly kind: "key" | "link" }
  /** At a provider of identities. `href` is relative to the page. */
  | { readonly kind: "oidc"; readonly name: string; readonly href: string }
  /** As the user whom a proxy in front of the gateway names. */
  | { readonly kind: "proxy"; readonly user: string }

interface ErrorBody {
  readonly error?: {
    readonly message?: string
    readonly metadata?: {
      readonly reason?: string
      readonly issues?: ReadonlyArray<Issue>
      readonly retry_after?: number
      readonly ways?: ReadonlyArray<Way>
    } | null
  }
}

/**
 * The JSON of an answer, taken to be what the contract says: the gateway that sent it served the
 * page too.
 */
export const jsonOf = async <A>(response: Response): Promise<A> => {
  const body: unknown = await response.json()
  return body as A
}

/** The error that an answer with another status than 2xx is. Reads its body. */
export const errorOf = async (response: Response): Promise<ApiError> => {
  const requestId = response.headers.get("x-request-id") ?? undefined
  const body = await jsonOf<ErrorBody>(response).catch(() => undefined)
  const error = body?.error
  return new ApiError(error?.message ?? `The gateway answered with status ${response.status}`, {
    status: response.status,
    requestId,
    reason: error?.metadata?.reason,
    retryAfter: error?.metadata?.retry_after,
    issues: error?.metadata?.issues,
    ways: error?.metadata?.ways
  })
}

/** No answer arrived. */
export const unreachable = () =>
  new ApiError("The gateway could not be reached. Check that it runs, and your connection", { status: 0 })

const timeLimit = 30_000

/**
 * Sends a request to an address below the page's folder. Fails with an {@link ApiError}, or with an
 * `AbortError` if `init.signal` aborts.
 */
export const send = async (address: URL, init: RequestInit): Promise<Response> => {
  const limit = AbortSignal.timeout(timeLimit)
  const response = await fetch(address, {
    ...init,
    credentials: "same-origin",
    cache: "no-store",
    signal: init.signal == null ? limit : AbortSignal.any([init.signal, limit])
  }).catch((cause: unknown) => {
    if (init.signal?.aborted === true) throw cause
    throw limit.aborted
      ? new ApiError(`The gateway did not answer within ${timeLimit / 1000} seconds`, { status: 0 })
      : unreachable()
  })
  if (!response.ok) throw await errorOf(response)
  return response
}
