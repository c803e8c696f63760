import { Gateway, VideoProgress } from "@model-gateway/core"
import { Effect, Stream } from "effect"

export const video = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { id } = yield* gateway.submitVideo({
    model: "sandbox/title-card",
    prompt: "Hello",
    duration: 4
  })
  yield* VideoProgress.watch(id).pipe(
    Stream.runForEach((job) => Effect.log(job.status, job.progress))
  )
  return yield* Stream.runCollect(gateway.videoContent(id))
})
