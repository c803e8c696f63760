/** `model-gateway models`: lists the models and their offers, without starting the service. */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Console, Effect, Layer, Logger, type Option } from "effect"
import { Command } from "effect/cli"
import * as Catalog from "../Catalog.ts"
import * as LoadSettings from "../LoadSettings.ts"
import { Offered } from "../Offered.ts"
import * as Output from "../Output.ts"
import * as Settings from "../Settings.ts"
import * as Storage from "../Storage.ts"

/**
 * The settings that flags, environment and file give, and what the gateway would offer with them.
 */
export const read = Effect.fnUntraced(function* (
  flags: Readonly<Record<string, Option.Option<string>>>,
  config: Option.Option<string>
) {
  const loaded = yield* LoadSettings.load(flags, config)
  const settings = yield* LoadSettings.read(loaded)
  const limits = yield* loaded.read(GatewayServerConfig.config)
  // Imported here so that help and error messages do not wait for it.
  const Offers = yield* Effect.promise(() => import("../Offers.ts"))
  const offers = Offers.layer(loaded, settings).pipe(Layer.provide(Layer.succeed(Logger.LogToStderr, true)))
  const offered = yield* Effect.provide(Offered, offers)
  return { offered, limits }
})

/** The `models` command. */
export const command = Command.make(
  "models",
  {
    config: Settings.configFlag,
    settings: Settings.flagsOf({ upstreams: Settings.declarations.upstreams }),
    json: Storage.flags.json
  },
  Effect.fn("models")(function* ({ config, json, settings }) {
    const { limits, offered } = yield* read(settings, config)
    const models = Catalog.list(offered, limits.deadlines)
    yield* json ? Output.json(models) : Console.log(Catalog.table(models))
  })
).pipe(
  Command.withDescription(
    "List the models that serve would offer with these settings: each with its offers in the order to try, their prices, " +
      "their time limits, and where the API key is from. Never shows a key"
  ),
  Command.withShortDescription("List the models and their offers"),
  Command.withExamples([{ command: "model-gateway models --config gateway.json", description: "With a settings file" }])
)
