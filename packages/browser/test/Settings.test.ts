import { assert, it } from "@effect/vitest"
import { Settings } from "@model-gateway/browser"
import { Effect, Fiber, Layer } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"

it.effect("waits at most 10 seconds for the JSON document", () =>
  Effect.gen(function* () {
    const silent = Layer.succeed(HttpClient.HttpClient)(HttpClient.make(() => Effect.never))
    const reading = yield* Settings.fromJson("https://app.example/settings.json").pipe(
      Effect.provide(silent),
      Effect.flip,
      Effect.forkChild({ startImmediately: true })
    )
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(
      (yield* Fiber.join(reading)).message,
      "The settings in https://app.example/settings.json are not valid: the document did not arrive within 10 seconds."
    )
  })
)
