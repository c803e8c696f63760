/** The target of the operator's commands that is a gateway which runs elsewhere. */
import { Gateway, RetryPolicy } from "@model-gateway/core"
import * as NodeGateway from "@model-gateway/node/NodeGateway"
import { Config, ConfigProvider, Duration, Effect, Layer, Redacted } from "effect"
import { Failure, UsageError } from "./Failure.ts"
import * as LoadSettings from "./LoadSettings.ts"
import { keyVariable, Target } from "./Operator.ts"

/** The base URL of the API. People write the address of the gateway. */
const baseUrlOf = (url: string): string => {
  const trimmed = url.replace(/\/+$/, "")
  return trimmed.endsWith("/api/v1") ? trimmed : `${trimmed}/api/v1`
}

const malformed = () =>
  new UsageError({
    message:
      "--url is not an http:// or https:// URL without user, password and query, such as https://gateway.example."
  })

const target = Layer.effect(
  Target,
  Effect.map(Gateway.Gateway, (gateway) => ({ gateway, userId: undefined }))
)

/** The target. The environment has its management key, and may have proxies. */
export const layer = Effect.fnUntraced(function* (url: string) {
  const environment = yield* LoadSettings.Environment
  const key = environment[keyVariable] ?? ""
  if (key === "") {
    return yield* new UsageError({
      message: `--url needs a management key of that gateway. Set it in the environment as ${keyVariable}.`
    })
  }
  return target.pipe(
    Layer.provide(
      NodeGateway.layerConfig({
        baseUrl: Config.succeed(baseUrlOf(url)),
        credential: Config.succeed(Redacted.make(key)),
        workspaceId: Config.succeed(undefined),
        retryPolicy: RetryPolicy.make({ maxRetries: 2, deadline: Duration.seconds(60) }),
        telemetry: false
      })
    ),
    Layer.catchTag("InvalidBaseUrl", () => Layer.effectContext(Effect.fail(malformed()))),
    Layer.catchTag("InvalidProxy", ({ message }) => Layer.effectContext(Effect.fail(new Failure({ message })))),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
  )
})
