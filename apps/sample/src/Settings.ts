/**
 * The settings of the sample in a terminal: the gateway, its keys, and what to send.
 *
 * A flag overrides the environment, the environment overrides `.env`, and `.env` overrides the file
 * that the gateway on this machine wrote on its first run.
 */
import { Config, ConfigProvider, Effect, FileSystem, Option, Path, type Redacted } from "effect"
import { CliError, Flag } from "effect/cli"
import { type Models, sandboxModels } from "./Inputs.ts"

/** The settings. */
export interface Settings {
  readonly baseUrl: string
  /** An ordinary key, for the paid operations. */
  readonly apiKey: Option.Option<Redacted.Redacted<string>>
  /** A management key, for the guardrail. */
  readonly managementKey: Option.Option<Redacted.Redacted<string>>
  /** Default: the workspace of the key. */
  readonly workspaceId: Option.Option<string>
  /** Where the video is saved. */
  readonly out: string
  /** The path of a recording. Default: a dialed telephone number. */
  readonly audio: Option.Option<string>
  readonly models: Models
}

const optional = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const model = (kind: keyof Models, name: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("id"),
    Flag.withDescription(`The ${kind} model. Default: ${sandboxModels[kind]}`),
    Flag.withDefault(sandboxModels[kind])
  )

/** The flags of the command. */
export const flags = {
  baseUrl: optional(
    "base-url",
    "url",
    "The gateway's URL, which ends in /api/v1. Default: the gateway that npm start runs (MODEL_GATEWAY_BASE_URL)"
  ),
  apiKey: Flag.Redacted("api-key").pipe(
    Flag.withMetavar("key"),
    Flag.withDescription("An ordinary key. Default: the one that npm start created (MODEL_GATEWAY_API_KEY)"),
    Flag.optional
  ),
  managementKey: Flag.Redacted("management-key").pipe(
    Flag.withMetavar("key"),
    Flag.withDescription("A management key. Default: the one that npm start created (MODEL_GATEWAY_MANAGEMENT_KEY)"),
    Flag.optional
  ),
  workspaceId: optional("workspace-id", "uuid", "The workspace. Default: that of the key (MODEL_GATEWAY_WORKSPACE_ID)"),
  dataDir: optional(
    "data-dir",
    "folder",
    "The data folder of the gateway on this machine. Default: .data (MODEL_GATEWAY_DATA_DIR)"
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Where to save the video. Default: ./sample.mp4"),
    Flag.withDefault("./sample.mp4")
  ),
  audio: optional(
    "audio",
    "file",
    "A recording to transcribe. Default: a generated recording of a dialed telephone number"
  ),
  rerankModel: model("rerank", "rerank-model"),
  transcriptionModel: model("transcription", "transcription-model"),
  videoModel: model("video", "video-model")
}

/** The values of the flags. */
export interface FlagValues {
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

/** The environment, `.env` and the file of the first run use the same names. */
const config = Config.all({
  baseUrl: Config.option(Config.NonEmptyString("MODEL_GATEWAY_BASE_URL")),
  apiKey: Config.option(Config.Redacted("MODEL_GATEWAY_API_KEY")),
  managementKey: Config.option(Config.Redacted("MODEL_GATEWAY_MANAGEMENT_KEY")),
  workspaceId: Config.option(Config.NonEmptyString("MODEL_GATEWAY_WORKSPACE_ID")),
  dataDir: Config.option(Config.NonEmptyString("MODEL_GATEWAY_DATA_DIR"))
})

const defaultBaseUrl = "http://127.0.0.1:8787/api/v1"

/** The file in the gateway's data folder that has its address and its first two keys. */
export const firstRunFile = "first-keys.env"

/** Reads the file of the first run. A missing file has no values. */
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
 * Combines the flags, the environment and the file of the first run. Fails if the URL is invalid or
 * no key is set.
 */
export const resolve = Effect.fn("Settings.resolve")(function* (given: FlagValues) {
  const environment = yield* config
  const local = yield* firstRun(first(given.dataDir, environment.dataDir, () => ".data"))
  const named = Option.orElse(given.baseUrl, () => environment.baseUrl)
  const localUrl = Option.getOrElse(local.baseUrl, () => defaultBaseUrl)
  const baseUrl = Option.getOrElse(named, () => localUrl)
  if (!isHttpUrl(baseUrl)) {
    const source = Option.isSome(given.baseUrl) ? "--base-url" : "MODEL_GATEWAY_BASE_URL"
    return yield* userError(`${source} is "${baseUrl}", which is not an http or https URL.`)
  }

  // The keys of the gateway on this machine are never sent to another gateway.
  const known = sameGateway(baseUrl, localUrl) ? local : undefined
  const key = (name: "apiKey" | "managementKey") =>
    given[name].pipe(
      Option.orElse(() => environment[name]),
      Option.orElse(() => known?.[name] ?? Option.none())
    )
  const apiKey = key("apiKey")
  const managementKey = key("managementKey")
  if (Option.isNone(apiKey) && Option.isNone(managementKey)) {
    return yield* userError(
      Option.isNone(named)
        ? "No key is set: run npm start in another terminal, which creates keys, or set --api-key and --management-key."
        : `No key is set for the gateway at ${baseUrl}: set --api-key and --management-key, or MODEL_GATEWAY_API_KEY and MODEL_GATEWAY_MANAGEMENT_KEY.`
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

/** Fails with a message that the command prints before it exits. */
export const userError = (userMessage: string) =>
  Effect.fail(new CliError.UserError({ cause: userMessage, userMessage }))

const first = (a: Option.Option<string>, b: Option.Option<string>, otherwise: () => string): string =>
  a.pipe(
    Option.orElse(() => b),
    Option.getOrElse(otherwise)
  )

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Whether both URLs have the same origin. `localhost` equals `127.0.0.1`. */
const sameGateway = (a: string, b: string): boolean => {
  if (!isHttpUrl(b)) return false
  const origin = (text: string) => {
    const url = new URL(text)
    if (url.hostname === "localhost") url.hostname = "127.0.0.1"
    return url.origin
  }
  return origin(a) === origin(b)
}
