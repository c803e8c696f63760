/**
 * `model-gateway models`: lists the models and their offers, without starting the service, and
 * updates the catalog.
 */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Console, Duration, Effect, Layer, Logger, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Catalog from "../Catalog.ts"
import * as CatalogFile from "../CatalogFile.ts"
import * as CatalogUpdate from "../CatalogUpdate.ts"
import * as DataFolder from "../DataFolder.ts"
import * as LoadSettings from "../LoadSettings.ts"
import * as ModelSettings from "../ModelSettings.ts"
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

const schema = Command.make("schema", {}, () => Output.json(CatalogFile.jsonSchema())).pipe(
  Command.withDescription(
    "Print the JSON Schema of a catalog of models. Name its file in $schema, and editors check the catalog"
  )
)

const update = Command.make(
  "update",
  {
    config: Settings.configFlag,
    settings: Settings.flagsOf({ dataDir: Settings.declarations.dataDir, catalog: Settings.declarations.catalog }),
    from: Flag.String("from").pipe(
      Flag.withMetavar("file-or-url"),
      Flag.withDescription(
        `The new catalog: a file, or an http:// or https:// URL, which needs --sha256 or --public-key. At most ${CatalogFile.maxSize}`
      )
    ),
    sha256: Flag.String("sha256").pipe(
      Flag.withMetavar("hex"),
      Flag.withDescription("The SHA-256 checksum that the catalog must have. Default: none"),
      Flag.optional
    ),
    publicKey: Flag.String("public-key").pipe(
      Flag.withMetavar("file"),
      Flag.withDescription(
        "The Ed25519 public key, in PEM, by which the catalog must be signed. The signature is read from where the catalog is, with .sig at the end: the bytes in base64. Default: none"
      ),
      Flag.optional
    ),
    timeLimit: Flag.String("time-limit").pipe(
      Flag.withMetavar("duration"),
      Flag.withDescription("The longest wait for a URL. Default: 30 seconds"),
      Flag.withDefault("30 seconds")
    ),
    allowOlder: Flag.Boolean("allow-older").pipe(
      Flag.withDescription("Accept a catalog that is older than the present one"),
      Flag.withDefault(false)
    )
  },
  Effect.fn("models update")(function* ({ allowOlder, config, from, publicKey, settings: flags, sha256, timeLimit }) {
    const loaded = yield* LoadSettings.load(flags, config)
    const settings = yield* LoadSettings.read(loaded)
    const { file } = settings.catalog
    if (file === undefined) {
      return yield* CatalogUpdate.refused('the setting "catalog" says built-in, so that there is no file to write')
    }
    const limit = ModelSettings.durationOf(timeLimit)
    if (limit === undefined || !Duration.isPositive(limit) || !Duration.isFinite(limit)) {
      return yield* CatalogUpdate.refused("--time-limit is not a duration above 0 seconds, such as 20 seconds")
    }
    // Imported here so that help and error messages do not wait for it.
    const Offers = yield* Effect.promise(() => import("../Offers.ts"))
    yield* Effect.gen(function* () {
      const bytes = yield* CatalogUpdate.load({
        from,
        sha256: Option.getOrUndefined(sha256),
        publicKey: Option.getOrUndefined(publicKey),
        timeLimit: limit
      })
      const catalog = yield* CatalogFile.parse(bytes).pipe(
        Effect.mapError((problem) => CatalogUpdate.refused(`${CatalogUpdate.nameOf(from)} ${problem}`))
      )
      // If the present one is not valid, the update is what replaces it.
      const present = yield* Effect.option(CatalogFile.read({ file, isNamed: false }))
      const former = Option.map(present, (inUse) => inUse.catalog)
      if (Option.isSome(former) && catalog.updated < former.value.updated && !allowOlder) {
        return yield* CatalogUpdate.refused(
          `${CatalogUpdate.nameOf(from)} is of ${catalog.updated}, older than the present one of ${former.value.updated}: --allow-older accepts it`
        )
      }
      yield* Offers.check(loaded, settings, catalog).pipe(
        Effect.scoped,
        Effect.mapError(({ message }) =>
          CatalogUpdate.refused(`the gateway could not start with it: ${message.replace(/\.$/, "")}`)
        )
      )
      if (!settings.catalog.isNamed) yield* DataFolder.prepare(settings.dataDir)
      yield* CatalogUpdate.write(file, bytes)
      const changes = CatalogUpdate.changes(former, catalog, Catalog.priceText)
      yield* Console.log(
        [
          `Catalog of models: ${CatalogFile.describe({ catalog, file })}.`,
          ...(changes.length === 0
            ? ["Its models and prices are as before."]
            : [changes.map((line) => `  ${Output.printable(line)}`).join("\n")]),
          "A gateway that runs uses it after SIGHUP, or after a restart."
        ].join("\n")
      )
    }).pipe(Effect.provide(Offers.layerServices))
  })
).pipe(
  Command.withDescription(
    "Replace the catalog of models and prices by another one, so that a new model or price needs no new release. It is checked whole first: if anything is wrong, nothing changes. " +
      "The file is that of the setting `catalog`, else catalog.json in the data folder; the former one is kept beside it as .former"
  ),
  Command.withShortDescription("Replace the catalog of models and prices"),
  Command.withExamples([
    {
      command: "model-gateway models update --from https://models.example/catalog.json --public-key catalog.pem",
      description: "A signed one"
    }
  ])
)

/** The `models` command. */
export const command = Command.make(
  "models",
  {
    config: Settings.configFlag,
    settings: Settings.flagsOf({
      dataDir: Settings.declarations.dataDir,
      catalog: Settings.declarations.catalog,
      upstreams: Settings.declarations.upstreams
    }),
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
  Command.withExamples([
    { command: "model-gateway models --config gateway.json", description: "With a settings file" }
  ]),
  Command.withSubcommands([update, schema])
)
