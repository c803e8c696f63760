/**
 * What the sample can be told in a terminal: which gateway, with which keys, and what to send.
 *
 * A flag wins over the environment, the environment over `.env`, and that over what the gateway of
 * this machine wrote down on its first run.
 */
import { Config, ConfigProvider, Effect, FileSystem, Option, Path, type Redacted } from "effect"
import { CliError, Flag } from "effect/cli"
import { type Models, sandboxModels } from "./Inputs.ts"

/** The settings, put together. */
export interface Settings {
  readonly baseUrl: string
  /** An ordinary key, which spends. */
  readonly apiKey: Option.Option<Redacted.Redacted<string>>
  /** A management key, which manages. */
  readonly managementKey: Option.Option<Redacted.Redacted<string>>
  /** None: the key's own. */
  readonly workspaceId: Option.Option<string>
  /** Where the video is saved. */
  readonly out: string
  /** A recording to transcribe in place of the dialled number. */
  readonly audio: Option.Option<string>
  readonly models: Models
}

const optional = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const model = (kind: keyof Models, name: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("id"),
    Flag.withDescription(`The ${kind} model to ask. Default ${sandboxModels[kind]}`),
    Flag.withDefault(sandboxModels[kind])
  )

/** The flags of the command. */
export const flags = {
  baseUrl: optional(
    "base-url",
    "url",
    "The gateway, up to /api/v1. Default: the one that npm start runs (MODEL_GATEWAY_BASE_URL)"
  ),
  apiKey: Flag.Redacted("api-key").pipe(
    Flag.withMetavar("key"),
    Flag.withDescription("An ordinary key. Default: the one that npm start made (MODEL_GATEWAY_API_KEY)"),
    Flag.optional
  ),
  managementKey: Flag.Redacted("management-key").pipe(
    Flag.withMetavar("key"),
    Flag.withDescription("A management key. Default: the one that npm start made (MODEL_GATEWAY_MANAGEMENT_KEY)"),
    Flag.optional
  ),
  workspaceId: optional("workspace-id", "uuid", "The workspace. Default: the key's own (MODEL_GATEWAY_WORKSPACE_ID)"),
  dataDir: optional(
    "data-dir",
    "folder",
    "Where the gateway of this machine keeps its data. Default .data (MODEL_GATEWAY_DATA_DIR)"
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Where to save the video. Default ./sample.mp4"),
    Flag.withDefault("./sample.mp4")
  ),
  audio: optional("audio", "file", "A recording to transcribe. Default: a dialled number, made on the spot"),
  rerankModel: model("rerank", "rerank-model"),
  transcriptionModel: model("transcription", "transcription-model"),
  videoModel: model("video", "video-model")
}

/** What the flags came to. */
export interface Given {
  readonly baseUrl: Option.Option<string>
  readonly apiKey: Option.Option<Redacted.Redacted<string>>
  readonly managementKey: Option.Option<Redacted.Redacted<string>>
  readonly workspaceId: Option.Option<string>
  readonly dataDir: Option.Option<string>
  readonly out: string
  readonly audio: Option.Option<string>
  readonly rerankModel: string
  readonly transcriptionModel: string
  readonly videoModel: string
}

/** The same names in the environment, in `.env` and in the first run's file. */
const config = Config.all({
  baseUrl: Config.option(Config.NonEmptyString("MODEL_GATEWAY_BASE_URL")),
  apiKey: Config.option(Config.Redacted("MODEL_GATEWAY_API_KEY")),
  managementKey: Config.option(Config.Redacted("MODEL_GATEWAY_MANAGEMENT_KEY")),
  workspaceId: Config.option(Config.NonEmptyString("MODEL_GATEWAY_WORKSPACE_ID")),
  dataDir: Config.option(Config.NonEmptyString("MODEL_GATEWAY_DATA_DIR"))
})

const defaultBaseUrl = "http://127.0.0.1:8787/api/v1"

/** In the gateway's data folder: its address and its first two keys. */
export const firstRunFile = "sample.env"

/** What the gateway of this machine wrote down, where it did. */
const firstRun = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(dataDir, firstRunFile)
  const provider = yield* ConfigProvider.fromDotEnv({ path }).pipe(
    Effect.provideService(FileSystem.FileSystem, fs),
    Effect.catchTag("PlatformError", () => Effect.succeed(ConfigProvider.fromUnknown({})))
  )
  return yield* config.parse(provider)
})

/**
 * Puts together flags, environment and what the gateway of this machine left. Fails with a sentence
 * where that is not enough.
 */
export const resolve = Effect.fn("Settings.resolve")(function* (given: Given) {
  const environment = yield* config
  const local = yield* firstRun(first(given.dataDir, environment.dataDir, () => ".data"))
  const named = Option.orElse(given.baseUrl, () => environment.baseUrl)
  const localUrl = Option.getOrElse(local.baseUrl, () => defaultBaseUrl)
  const baseUrl = Option.getOrElse(named, () => localUrl)
  if (!isHttpUrl(baseUrl)) {
    const source = Option.isSome(given.baseUrl) ? "--base-url" : "MODEL_GATEWAY_BASE_URL"
    return yield* complain(`${source} is "${baseUrl}", which is no http or https URL.`)
  }

  // The keys of this machine's gateway are shown to nobody else.
  const known = sameGateway(baseUrl, localUrl) ? local : undefined
  const key = (name: "apiKey" | "managementKey") =>
    given[name].pipe(
      Option.orElse(() => environment[name]),
      Option.orElse(() => known?.[name] ?? Option.none())
    )
  const apiKey = key("apiKey")
  const managementKey = key("managementKey")
  if (Option.isNone(apiKey) && Option.isNone(managementKey)) {
    return yield* complain(
      Option.isNone(named)
        ? "There is no key to call the gateway with: run npm start in another terminal, which makes one, or give --api-key and --management-key."
        : `There is no key for the gateway at ${baseUrl}: give --api-key and --management-key, or set MODEL_GATEWAY_API_KEY and MODEL_GATEWAY_MANAGEMENT_KEY.`
    )
  }
  const settings: Settings = {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKey,
    managementKey,
    workspaceId: Option.orElse(given.workspaceId, () => environment.workspaceId),
    out: given.out,
    audio: given.audio,
    models: { rerank: given.rerankModel, transcription: given.transcriptionModel, video: given.videoModel }
  }
  return settings
})

/** Ends the command with that sentence. */
export const complain = (userMessage: string) =>
  Effect.fail(new CliError.UserError({ cause: userMessage, userMessage }))

const first = (a: Option.Option<string>, b: Option.Option<string>, otherwise: () => string): string =>
  a.pipe(
    Option.orElse(() => b),
    Option.getOrElse(otherwise)
  )

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Same machine, same port: `localhost` is the loopback's name. */
const sameGateway = (a: string, b: string): boolean => {
  if (!isHttpUrl(b)) return false
  const origin = (text: string) => {
    const url = new URL(text)
    if (url.hostname === "localhost") url.hostname = "127.0.0.1"
    return url.origin
  }
  return origin(a) === origin(b)
}
