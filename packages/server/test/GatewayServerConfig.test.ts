import { describe, expect, it } from "@effect/vitest"
import { Cause, ConfigProvider, Duration, Effect, Exit, Layer } from "effect"
import * as GatewayServerConfig from "../src/GatewayServerConfig.ts"

describe("GatewayServerConfig", () => {
  const read = (env: Record<string, string>) =>
    GatewayServerConfig.config.pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(env))
    )

  it.effect("has the defaults of the issue", () =>
    Effect.gen(function* () {
      const settings = yield* read({})
      expect(settings).toEqual(GatewayServerConfig.defaults)
      const mib = 1024 * 1024
      expect(settings.bodyLimits).toMatchObject({
        rerank: 8 * mib,
        transcription: 36 * mib,
        transcriptionFile: 25 * mib,
        videos: 24 * mib,
        other: mib
      })
    })
  )

  it.effect("reads sizes, times and counts, and names what is malformed", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        MODEL_GATEWAY_BODY_LIMIT_RERANK: "2 MiB",
        MODEL_GATEWAY_BODY_LIMIT_OTHER: "4096",
        MODEL_GATEWAY_DEADLINE_RERANK: "90 seconds",
        MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "5",
        MODEL_GATEWAY_RATE_LIMIT_WINDOW: "1 minute"
      })
      expect([settings.bodyLimits.rerank, settings.bodyLimits.other]).toEqual([2 * 1024 * 1024, 4096])
      expect(Duration.toSeconds(settings.deadlines.rerank)).toBe(90)
      expect([settings.rateLimit.requests, Duration.toSeconds(settings.rateLimit.window)]).toEqual([5, 60])
      for (const env of [
        { MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "0" },
        { MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "many" },
        { MODEL_GATEWAY_DEADLINE_RERANK: "soon" },
        { MODEL_GATEWAY_BODY_LIMIT_RERANK: "-1" }
      ]) {
        const error = yield* Effect.flip(read(env))
        expect(error.message).toContain(Object.keys(env)[0])
      }
    })
  )

  it.effect("adds the defaults to the values of a program", () =>
    Effect.gen(function* () {
      const settings = yield* GatewayServerConfig.GatewayServerConfig
      expect(settings.bodyLimits).toEqual({ ...GatewayServerConfig.defaults.bodyLimits, rerank: 300 })
      expect(settings.videos).toEqual({ ...GatewayServerConfig.defaults.videos, retention: Duration.days(30) })
      expect(settings.rateLimit).toEqual(GatewayServerConfig.defaults.rateLimit)
    }).pipe(
      Effect.provide(
        GatewayServerConfig.layer({
          bodyLimits: { rerank: 300, other: undefined },
          videos: { retention: Duration.days(30) },
          rateLimit: undefined
        })
      )
    )
  )

  it.effect("applies the bounds of the environment to the values of a program", () =>
    Effect.gen(function* () {
      for (const [options, sentence] of [
        [{ videos: { concurrency: 0 } }, "videos.concurrency is 0, which is not a whole number of at least 1."],
        [{ rateLimit: { requests: 1.5 } }, "rateLimit.requests is 1.5, which is not a whole number of at least 1."],
        [
          { bodyLimits: { files: -1 } },
          "bodyLimits.files is -1, which is not a size of at least 1 byte, such as 8 MiB."
        ],
        [
          { videos: { lifetime: Duration.days(366) } },
          "videos.lifetime is 366 days, which is not a duration above 0 seconds and up to 365 days, such as 20 seconds."
        ],
        [
          { deadlines: { rerank: Duration.zero } },
          "deadlines.rerank is 0 seconds, which is not a duration above 0 seconds, such as 20 seconds."
        ]
      ] as const) {
        const exit = yield* Effect.exit(Layer.build(GatewayServerConfig.layer(options)).pipe(Effect.scoped))
        expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain(sentence)
      }
    })
  )
})
