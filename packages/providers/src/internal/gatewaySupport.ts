/** Whether an upstream is a gateway of this project. */
import * as IdempotencySupport from "@model-gateway/core/unstable/IdempotencySupport"
import { Cache, Duration, Effect, Option, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/** The submission of a video waits for the answer, so it has to be quick. */
const timeLimit = Duration.seconds(5)

/** A gateway may be down during the retries that the answer decides on. */
const knownFor = Duration.hours(24)

/** The other gateway may be upgraded. */
const deniedFor = Duration.minutes(5)

/** A gateway that was down may be back. */
const unknownFor = Duration.seconds(10)

/**
 * Asks the upstream whether it recognizes submissions of videos by their `Idempotency-Key`, as a
 * gateway of this project does. What it answered is remembered for all models of the upstream. If
 * it does not answer, the result is false.
 */
export const make = Effect.fnUntraced(function* ({
  baseUrl,
  credential
}: Pick<Upstream, "baseUrl" | "credential">): Effect.fn.Return<Effect.Effect<boolean>, never, HttpClient.HttpClient> {
  const http = yield* UpstreamHttp.make({ baseUrl, credential, timeLimit })
  const call = {
    request: HttpClientRequest.options("videos"),
    // A proxy in front may want the key.
    credential: credential ?? { id: "none" },
    model: "videos"
  }
  const answer = http.open(call).pipe(
    // There should be no body. Of one that never ends, no more is read than its beginning.
    Effect.tap(({ stream }) => Stream.runDrain(Stream.take(stream, 1))),
    Effect.map(({ headers }) => Option.some(IdempotencySupport.includes(headers, "POST"))),
    Effect.catch(({ status }) =>
      // A redirect or a refusal is an answer of another service.
      Effect.succeed(
        status === undefined || status >= 500 || status === 429 ? Option.none<boolean>() : Option.some(false)
      )
    )
  )
  const cache = yield* Cache.makeWith<"videos", Option.Option<boolean>>(() => answer, {
    capacity: 1,
    timeToLive: (exit) => {
      const known = exit._tag === "Success" ? Option.getOrUndefined(exit.value) : undefined
      return known === undefined ? unknownFor : known ? knownFor : deniedFor
    }
  })
  return Effect.map(
    Cache.get(cache, "videos"),
    Option.getOrElse(() => false)
  )
})
