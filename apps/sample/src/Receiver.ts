/**
 * A receiver of the gateway's webhooks: it verifies each one, handles it once, and answers 204.
 *
 * It knows neither the platform it runs on nor where handled ids are kept. A server, a worker and a
 * test each give it a `HandledWebhooks` and what to do.
 */
import { Webhook } from "@model-gateway/core"
import { Context, Effect, Layer, Semaphore } from "effect"

/**
 * The webhooks that were handled. The gateway sends a webhook again until it was answered, so the
 * same one can come twice, also at the same time.
 */
export class HandledWebhooks extends Context.Service<
  HandledWebhooks,
  {
    /**
     * Does the work unless it was done for this id before. If it fails, the gateway's next attempt
     * does it. A real one stores the id in the transaction of the work, so that a crash in between
     * does not repeat it.
     */
    readonly once: <E, R>(id: string, work: Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
  }
>()("@model-gateway/sample/HandledWebhooks") {
  /** Keeps the latest 10,000 ids in memory. */
  static readonly layerMemory = Layer.effect(
    HandledWebhooks,
    Effect.map(Semaphore.make(1), (one) => {
      const ids = new Set<string>()
      return HandledWebhooks.of({
        once: (id, work) =>
          Effect.suspend(() => (ids.has(id) ? Effect.void : Effect.tap(work, () => remember(ids, id)))).pipe(
            one.withPermits(1)
          )
      })
    })
  )
}

const mostIds = 10_000

const remember = (ids: Set<string>, id: string) =>
  Effect.sync(() => {
    ids.add(id)
    const [oldest] = ids
    if (ids.size > mostIds && oldest !== undefined) ids.delete(oldest)
  })

const empty = (status: number) => new Response(null, { status })

/**
 * Answers a request: 204 when the event was handled, now or before; 400 when the gateway did not
 * send it; 500 when the work failed, so that the gateway tries again.
 */
export const receive =
  <E, R>(options: Webhook.Options, handle: (event: Webhook.Event) => Effect.Effect<void, E, R>) =>
  (request: Request): Effect.Effect<Response, never, R | HandledWebhooks> =>
    Effect.gen(function* () {
      const { event, id } = yield* Webhook.fromRequest(request, options)
      yield* (yield* HandledWebhooks).once(id, handle(event))
      return empty(204)
    }).pipe(
      Effect.tapError((error) => Effect.logWarning("A webhook was not handled", error)),
      Effect.catch((error) =>
        Effect.succeed(empty(error instanceof Webhook.WebhookError && error.reason !== "secret" ? 400 : 500))
      )
    )
