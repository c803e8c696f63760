/**
 * The workflow of `MakeVideo.ts` for waits that should not stay in memory: it sleeps in the
 * database until the gateway's webhook wakes it.
 */
import { Webhook } from "@model-gateway/core"
import { Effect, Exit, Schema } from "effect"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { awaitVideo, FinishedVideo, submit, VideoFailed } from "./MakeVideo.ts"

const Ended = DurableDeferred.make("ended")

/** `hooks` is the `https://` URL where {@link receive} gets the gateway's webhooks. */
export const WokenVideo = Workflow.make("WokenVideo", {
  payload: { order: Schema.String, prompt: Schema.String, hooks: Schema.String },
  idempotencyKey: ({ order }) => order,
  success: FinishedVideo,
  error: VideoFailed
})

/** Carries the workflow out. */
export const layer = WokenVideo.toLayer(
  Effect.fnUntraced(function* ({ hooks, order, prompt }) {
    const token = yield* DurableDeferred.token(Ended)
    const id = yield* submit(order, prompt, `${hooks}?token=${token}`)
    yield* DurableDeferred.await(Ended)
    // The signature of a webhook does not cover its URL. So the webhook only wakes the workflow,
    // which reads its own job.
    return yield* awaitVideo(id)
  })
)

/** Wakes the workflow that the URL of the webhook names. */
export const receive = Effect.fnUntraced(function* (request: Request, secret: Webhook.Secret) {
  yield* Webhook.fromRequest(request, { secret })
  const token = DurableDeferred.Token.make(new URL(request.url).searchParams.get("token") ?? "")
  yield* DurableDeferred.done(Ended, { token, exit: Exit.void })
})
