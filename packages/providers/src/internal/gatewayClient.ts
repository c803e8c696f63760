/**
 * The client of packages/core as an adapter calls it: with the credential of each call, without
 * retries, and with failures as `ProviderError`.
 */
import type { ClientError, InvalidResponse } from "@model-gateway/core/ClientError"
import { fromClient, type Gateway } from "@model-gateway/core/Gateway"
import { type GatewayClient as Sender, make as makeSender } from "@model-gateway/core/GatewayClient"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import { type GatewayError, phrases } from "@model-gateway/core/GatewayError"
import * as RetryPolicy from "@model-gateway/core/RetryPolicy"
import type { WireNames } from "@model-gateway/core/WireNames"
import { Context, Duration, Effect, Option, type Redacted, Stream } from "effect"
import { constUndefined } from "effect/Function"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Credential } from "@model-gateway/offers/Offer"
import {
  BadResponse,
  ProviderError,
  type Reason,
  Timeout,
  Unauthorized,
  Unavailable
} from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import { type Lease, ResponseMemory } from "@model-gateway/offers/ResponseMemory"
import { type Bounds, defaults, readText } from "@model-gateway/offers/BoundedBody"
import { reasonOf, reasonOfTransport, withSafeMessage } from "@model-gateway/offers/UpstreamHttp"

/** What a call of the client can fail with. */
export type CallFailure = GatewayError | ClientError

/** How one call is made. */
export interface Call {
  readonly credential: Credential
  /** The upstream's id of the model, for errors. */
  readonly model: string
  /**
   * What a response may contain at most, besides a copy of what the request contains. Default: as
   * for other upstreams.
   */
  readonly bounds?: Partial<Bounds>
}

/** The client of one upstream. */
export interface GatewayClient {
  readonly gateway: Gateway["Service"]
  /** Sends a request of any operation. */
  readonly send: Sender["Service"]["call"]
  /** Makes one call, once. */
  readonly call: <A>(effect: Effect.Effect<A, CallFailure>, call: Call) => Effect.Effect<A, ProviderError>
  /** Reads one stream of bytes. */
  readonly bytes: (
    stream: Stream.Stream<Uint8Array, CallFailure>,
    call: Call
  ) => Stream.Stream<Uint8Array, ProviderError>
}

/** The call that is under way. */
interface CallState {
  readonly secret: Redacted.Redacted<string> | undefined
  readonly bounds: Bounds
  readonly lease: Lease
  /** Why its response was not read, if it was not. */
  flaw: string | undefined
}

const CurrentCall = Context.Reference<CallState | undefined>(
  "@model-gateway/providers/internal/gatewayClient/CurrentCall",
  { defaultValue: constUndefined }
)

const credential = Effect.flatMap(CurrentCall, (call) =>
  call?.secret === undefined ? Effect.fail(new Error("there is none")) : Effect.succeed(call.secret)
)

/** For responses that are too short to need one. */
const noLease: Lease = { acquire: () => Effect.void, turn: Effect.void }

const errorBounds: Bounds = { ...defaults, bytes: 65_536 }

/** A copy of the request, as a ranking repeats its documents, with escapes. */
const copyOf = ({ body }: HttpClientRequest.HttpClientRequest): number =>
  2 * ("contentLength" in body ? (body.contentLength ?? 0) : 0)

/** A response with these statuses has no body. `Response` takes no status above 599. */
const hasNoBody = new Set([204, 205, 304])

const withText = ({ headers, request, status }: HttpClientResponse.HttpClientResponse, text: string) =>
  HttpClientResponse.fromWeb(
    request,
    new Response(hasNoBody.has(status) ? null : text, { status: Math.min(status, 599), headers })
  )

/** A response whose body is out of bounds has none instead, so it is an invalid response. */
const withinBounds = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const call = yield* CurrentCall
  const isSuccess = response.status < 300 && call !== undefined
  const { bounds, lease } = isSuccess ? call : { bounds: errorBounds, lease: noLease }
  const bytes = bounds.bytes + copyOf(response.request)
  const text = yield* Effect.catchTag(readText(response, { ...bounds, bytes }, lease), "OutOfBounds", ({ message }) =>
    Effect.sync(() => {
      if (isSuccess) call.flaw = message
      return ""
    })
  )
  return withText(response, text)
})

/** Statuses that may have a meaning without an error envelope, such as those of a proxy. */
const isPlain = (status: number): boolean => status >= 500 || [401, 402, 403, 408, 429].includes(status)

/** Where an upstream redirects to is no business of the caller. */
const descriptionOf = ({ description, location }: InvalidResponse): string =>
  location === undefined ? description : "a status that the operation does not return"

const waitOf = ({ retryAfter }: CallFailure): Duration.Duration | undefined =>
  retryAfter === undefined ? undefined : Duration.seconds(retryAfter)

const reasonFor = (error: CallFailure, model: string, secrets: ReadonlyArray<Credential["secret"]>): Reason => {
  switch (error._tag) {
    case "TransportError":
      if (error.reason === "connection") return reasonOfTransport(error.underlying)
      return error.reason === "credential" ? new Unauthorized() : new Unavailable({})
    case "TimeoutError":
      return new Timeout()
    case "InvalidResponse":
      return isPlain(error.status)
        ? reasonOf({ status: error.status, message: undefined, codes: [], retryAfter: waitOf(error), model })
        : new BadResponse({ description: `status ${error.status} with ${descriptionOf(error)}` })
    default: {
      const {
        error: { message },
        status
      } = error
      const phrase = `${phrases[error.error.code]}: `
      // The service says its phrase before the message again.
      const said = message.startsWith(phrase) ? message.slice(phrase.length) : message
      return withSafeMessage(
        reasonOf({
          status,
          message: SafeMessage.withoutSecrets(said, secrets),
          codes: [],
          retryAfter: waitOf(error),
          model
        })
      )
    }
  }
}

const toProviderError =
  (model: string, secrets: ReadonlyArray<Credential["secret"]>) =>
  (error: CallFailure): ProviderError => {
    const reason = reasonFor(error, model, secrets)
    return new ProviderError(error.status === undefined ? { reason } : { reason, status: error.status })
  }

/**
 * Makes the client of an upstream over the `HttpClient` of the context. `wireNames`: the words that
 * the upstream has for vendors. Default: the neutral ones.
 */
export const make = Effect.fnUntraced(function* (
  {
    baseUrl,
    credential: ownCredential,
    timeLimit = Duration.minutes(5)
  }: Pick<Upstream, "baseUrl" | "credential" | "timeLimit">,
  wireNames?: WireNames
): Effect.fn.Return<GatewayClient, never, HttpClient.HttpClient> {
  const requestInit = Option.getOrElse(yield* Effect.serviceOption(FetchHttpClient.RequestInit), () => ({}))
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequestEffect(
      Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest) {
        const named = HttpClientRequest.setHeader(request, "user-agent", "model-gateway")
        // Only a video is submitted again. What others send would push its key out of the store.
        return (yield* RetryPolicy.CurrentAttempt)?.operation === "submitVideo"
          ? named
          : HttpClientRequest.removeHeader(named, "idempotency-key")
      })
    ),
    HttpClient.transformResponse((responding) =>
      Effect.flatMap(responding, (response) =>
        Effect.flatMap(RetryPolicy.CurrentAttempt, (attempt) =>
          attempt?.operation === "videoContent" && response.status < 300
            ? Effect.succeed(response)
            : withinBounds(response)
        )
      )
    )
  )
  const sender = yield* makeSender.pipe(
    Effect.provideService(GatewayConfig.GatewayConfig, GatewayConfig.make({ baseUrl, credential, wireNames })),
    Effect.provideService(HttpClient.HttpClient, client)
  )
  const settings = Context.make(
    RetryPolicy.RetryPolicy,
    // The router retries, and it decides where.
    RetryPolicy.make({ maxRetries: 0, deadline: timeLimit })
  ).pipe(
    // The credential is for the base URL only.
    Context.add(FetchHttpClient.RequestInit, { ...requestInit, redirect: "manual" }),
    // Trace ids are the operator's business, not the upstream's.
    Context.add(HttpClient.TracerPropagationEnabled, false)
  )
  const continuing = RetryPolicy.make({ deadline: timeLimit })
  const failWith = ({ credential, model }: Call) => toProviderError(model, [credential.secret, ownCredential?.secret])
  const memory = yield* ResponseMemory
  const stateOf = ({ bounds, credential: { secret } }: Call, lease: Lease): CallState => ({
    secret,
    bounds: { ...defaults, ...bounds },
    lease,
    flaw: undefined
  })

  return {
    gateway: fromClient(sender),
    send: sender.call,
    call: (effect, call) =>
      memory.withLease(URL.parse(baseUrl)?.origin ?? baseUrl, (lease) => {
        const state = stateOf(call, lease)
        return effect.pipe(
          Effect.provideContext(Context.add(settings, CurrentCall, state)),
          Effect.mapError((error) => {
            const failure = failWith(call)(error)
            if (state.flaw === undefined) return failure
            const reason = new BadResponse({ description: state.flaw })
            return new ProviderError(failure.status === undefined ? { reason } : { reason, status: failure.status })
          })
        )
      }),
    bytes: (stream, call) =>
      stream.pipe(
        // A video exists only here. The rest of it is requested again, instead of all of it.
        Stream.provideContext(
          Context.add(settings, CurrentCall, stateOf(call, noLease)).pipe(
            Context.add(RetryPolicy.RetryPolicy, continuing)
          )
        ),
        Stream.mapError(failWith(call)),
        Stream.timeoutOrElse({
          duration: timeLimit,
          orElse: () => Stream.fail(new ProviderError({ reason: new Timeout() }))
        })
      )
  }
})
