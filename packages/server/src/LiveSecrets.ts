/**
 * The secrets of the settings as they are now. {@link Reload} may replace them while the service
 * runs, so whoever uses one reads it each time.
 */
import { Context, Effect } from "effect"
import { GatewayServerConfig, type Settings } from "./GatewayServerConfig.ts"

/** The secrets of the settings. An object with other secrets is another object. */
export interface Secrets extends Pick<Settings, "byok" | "metricsToken"> {}

/** Those of a service that can reload them. Undefined: {@link GatewayServerConfig} has them. */
export const LiveSecrets = Context.Reference<(() => Secrets) | undefined>("@model-gateway/server/LiveSecrets", {
  defaultValue: () => undefined
})

/** How to read them. */
export const read: Effect.Effect<() => Secrets> = Effect.gen(function* () {
  const live = yield* LiveSecrets
  const settings = yield* GatewayServerConfig
  return live ?? (() => settings)
})
