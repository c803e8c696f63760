/**
 * A receiver of the gateway's webhooks. It verifies each webhook, handles it once, and responds
 * with 204.
 *
 * It depends on neither a platform nor a database. A server, a worker or a test provides
 * `HandledWebhooks` and a handler.
 */
import { Webhook } from "@model-gateway/core"
import { Context, Effect, Layer, Semaphore } from "effect"

/**
 * The webhooks that were handled. The gateway sends a webhook again if it got no successful
 * response, so the same one can arrive twice, even concurrently.
 */
export class HandledWebhooks extends Context.Service<
  HandledWebhooks,
  {
    /**
     * Runs the work unless it already succeeded for this id. If it fails, the gateway's next
     * attempt runs it again. In production, store the id in the transaction of the work, so that a
     * crash does not repeat it.
     */
    readonly once: <E, R>(id: string, work: Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
  }
>()("@model-gateway/sample/Receiver/HandledWebhooks") {
  /** Keeps the latest 10,000 ids in memory. */
  static readonly layerMemory = Layer.effect(
    HandledWebhooks,
    Effect.map(Semaphore.make(1), (one) => {
      const ids = new Set<string>()
      return HandledWebhooks.of({
        once: (id, work) =>
          Effect.suspend(() => (ids.has(id) ? Effect.void : Effect.tap(work, () => addId(ids, id)))).pipe(
            one.withPermits(1)
          )
      })
    })
  )
}

const maxIds = 10_000

const addId = (ids: Set<string>, id: string) =>
  Effect.sync(() => {
    ids.add(id)
    const [oldest] = ids
    if (ids.size > maxIds && oldest !== undefined) ids.delete(oldest)
  })

const empty = (status: number) => new Response(null, { status })

/**
 * Responds to a request: 204 if the event was handled, now or before; 400 if the webhook cannot be
 * verified or decoded; 500 if the secret is malformed or the work failed, so that the gateway tries
 * again. `handle` also receives events of types that this version does not know, and ignores those
 * that it does not need.
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
