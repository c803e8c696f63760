import { Gateway, VideoProgress } from "@model-gateway/core"
import { Effect, Stream } from "effect"

export const video = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { id } = yield* gateway.submitVideo({
    model: "sandbox/title-card",
    prompt: "Hello",
    duration: 4
  })
  const states = VideoProgress.watch(id)
  yield* Stream.runForEach(states, (job) => Effect.log(job))
  return yield* Stream.runCollect(gateway.videoContent(id))
})
