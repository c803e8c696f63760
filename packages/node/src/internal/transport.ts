/**
 * Sends requests through the pools: forms as streams, redirects followed on the same origin.
 * Decision 7 says what is gained over Effect's client.
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import type { Dispatcher } from "@effect/platform-node/Undici"
import { RetryPolicy } from "@model-gateway/core"
import { maxRedirects, redirected } from "@model-gateway/core/unstable/Redirect"
import * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { Effect, type Fiber, Random } from "effect"
import { HttpBody, HttpClientRequest, type HttpClientError, type HttpClientResponse } from "effect/http"
import { accepted } from "./contentCoding.ts"
import { canDispatch, dispatch, type Options } from "./dispatch.ts"
import { toStream } from "./form.ts"
import type { Pools } from "./pools.ts"
import { userAgent } from "./userAgent.ts"

const follow = (
  dispatcher: Dispatcher,
  request: HttpClientRequest.HttpClientRequest,
  options: Options,
  left: number
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> =>
  Effect.flatMap(dispatch(dispatcher, request, options), (response) => {
    const next = left > 0 ? redirected(request, response) : undefined
    if (next === undefined) return Effect.succeed(response)
    response.discard()
    return follow(dispatcher, next, options, left - 1)
  })

const defaults = { "user-agent": userAgent, "accept-encoding": accepted }

/** A range counts the bytes of the compressed body, if it is compressed. */
const defaultsOfRange = { ...defaults, "accept-encoding": "identity" }

/** The pool of the request: long polls have their own, so that short calls never wait for them. */
const poolOf = (pools: Pools, fiber: Fiber.Fiber<unknown, unknown>): Dispatcher =>
  fiber.getRef(RetryPolicy.CurrentAttempt)?.isLongPoll === true ? pools.longPolls : pools.short

/** Sends the request. Undefined if only the platform's client supports it, such as an upgrade. */
export const send = (
  pools: Pools,
  given: HttpClientRequest.HttpClientRequest,
  fiber: Fiber.Fiber<unknown, unknown>,
  signal?: AbortSignal
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> | undefined => {
  const { headers } = given
  if (headers["upgrade"] !== undefined) return undefined
  const options: Options = {
    monitor: given.body._tag === "Empty" ? undefined : fiber.getRef(UploadMonitor.UploadMonitor),
    headers: headers["range"] === undefined ? defaults : defaultsOfRange,
    signal
  }
  const dispatcher = poolOf(pools, fiber)
  const { body } = given
  if (body._tag === "Stream") {
    return Effect.flatMap(NodeStream.toReadable(body.stream), (readable) =>
      follow(dispatcher, HttpClientRequest.setBody(given, HttpBody.raw(readable, body)), options, maxRedirects)
    )
  }
  const request = toStream(given, fiber.getRef(Random.Random))
  return canDispatch(request) ? follow(dispatcher, request, options, maxRedirects) : undefined
}
