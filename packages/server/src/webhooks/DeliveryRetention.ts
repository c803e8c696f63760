/** Deletes deliveries that were finished some time ago. */
import { type Duration, Effect, type Layer } from "effect"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import { DeliveryStore } from "./DeliveryStore.ts"

/**
 * Deletes in the background, at the start and then at an interval (default: 10 minutes).
 * `webhooks.retention` of {@link GatewayServerConfig} says what is old.
 */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, DeliveryStore> =>
  Background.layer({
    work: Effect.gen(function* () {
      const { webhooks } = yield* GatewayServerConfig
      return yield* (yield* DeliveryStore).purge(webhooks.retention)
    }),
    every: options?.every ?? "10 minutes",
    failure: "Old webhooks could not be deleted"
  })
