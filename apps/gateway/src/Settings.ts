/**
 * Every setting of the executable, in one table. The flags, the environment variables, the keys of
 * the settings file, the help, the error messages and the table in the documentation come from it.
 *
 * A flag takes precedence over the environment, the environment over the file, and the file over
 * the default.
 */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { Config, Duration, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { fileURLToPath } from "node:url"

/** One row of the table. */
export interface Setting {
  /** The flag without its dashes, and the key in a settings file: `data-dir`. */
  readonly name: string
  /** The environment variable: `MODEL_GATEWAY_DATA_DIR`. */
  readonly variable: string
  /** What a value must be, to complete "is not …": `a port from 0 to 65535`. */
  readonly form: string
  /** The default in the form of a value. Empty: no default. */
  readonly fallback: string
  readonly description: string
  /** Error messages do not repeat the value of a secret. */
  readonly secret: boolean
}

/** What the names of all variables begin with. */
export const prefix = "MODEL_GATEWAY_"

const setting = (name: string, form: string, fallback: string, description: string): Setting => ({
  name,
  variable: prefix + name.toUpperCase().replaceAll("-", "_"),
  form,
  fallback,
  description,
  secret: false
})

const secret = (name: string, form: string, description: string): Setting => ({
  ...setting(name, form, "", description),
  secret: true
})

const size = (bytes: number): string => {
  const units = [
    [1024 ** 3, "GiB"],
    [1024 ** 2, "MiB"],
    [1024, "KiB"]
  ] as const
  const unit = units.find(([one]) => bytes >= one && bytes % one === 0)
  return unit === undefined ? `${bytes} B` : `${bytes / unit[0]} ${unit[1]}`
}

/** A duration in words: `30 seconds`. */
export const span = (duration: Duration.Duration): string => {
  const millis = Duration.toMillis(duration)
  const units = [
    [3_600_000, "hour"],
    [60_000, "minute"],
    [1000, "second"]
  ] as const
  const unit = units.find(([one]) => millis >= one && millis % one === 0)
  if (unit === undefined) return `${millis} millis`
  const count = millis / unit[0]
  return `${count} ${unit[1]}${count === 1 ? "" : "s"}`
}

const logFormats = ["pretty", "json"] as const
const logLevels = ["Trace", "Debug", "Info", "Warn", "Error", "None"] as const

const aSize = "a size such as 8 MiB"
const aTime = "a duration such as 20 seconds"
const aCount = "a whole number of at least 1"
const {
  bodyLimits,
  bodyRate,
  circuits,
  deadlines,
  failedAuthentications,
  freeDailyRequests,
  keptAnswers,
  rateLimit,
  videos
} = GatewayServerConfig.defaults

/** The data folder: the one setting that every command has as a flag. */
export const dataDir = setting(
  "data-dir",
  "a folder",
  ".data",
  "Folder of the database and the files. Created if it does not exist"
)

/** Credits of the default workspace. Read by every command that may create the database. */
export const initialCredits = setting(
  "initial-credits",
  "a number of credits of at least 0",
  "10",
  "Credits of the workspace that the first run creates. 1 credit is 1 USD"
)

/** The folder of the page at `/`. */
export const webDir = setting(
  "web-dir",
  "an existing folder, sample or none",
  "sample",
  "Folder of the page served at /. `sample` is the page of the sample, `none` serves no page"
)

/** The table, in the order in which it is shown. */
export const settings: ReadonlyArray<Setting> = [
  setting(
    "host",
    "a host name or address",
    "127.0.0.1",
    "Address to listen on. 0.0.0.0 listens on all addresses of this machine"
  ),
  setting("port", "a port from 0 to 65535", "8787", "Port to listen on. 0 chooses a free port"),
  dataDir,
  webDir,
  initialCredits,
  setting("shutdown-timeout", aTime, "30 seconds", "Time for requests in flight to finish after Ctrl-C or SIGTERM"),
  setting(
    "log-format",
    `one of ${logFormats.join(", ")}`,
    "pretty",
    "Format of the logs on stderr: pretty for people, json for programs"
  ),
  setting("log-level", `one of ${logLevels.join(", ")}`, "Info", "Minimum log level"),
  setting("body-limit-rerank", aSize, size(bodyLimits.rerank), "Maximum body size of POST /rerank"),
  setting(
    "body-limit-transcription",
    aSize,
    size(bodyLimits.transcription),
    "Maximum JSON body size of POST /audio/transcriptions"
  ),
  setting(
    "body-limit-transcription-file",
    aSize,
    size(bodyLimits.transcriptionFile),
    "Maximum file size of a multipart POST /audio/transcriptions"
  ),
  setting("body-limit-videos", aSize, size(bodyLimits.videos), "Maximum body size of POST /videos"),
  setting("body-limit-files", aSize, size(bodyLimits.files), "Maximum file size of POST /files"),
  setting("body-limit-other", aSize, size(bodyLimits.other), "Maximum body size of every other operation"),
  setting(
    "body-rate",
    aSize,
    size(bodyRate.bytesPerSecond),
    "Minimum rate of a request body, in bytes per second. A slower request is ended with status 408"
  ),
  setting(
    "body-rate-grace",
    aTime,
    span(bodyRate.grace),
    "Time over which the rate of a request body is measured. No body is too slow before it has passed"
  ),
  setting(
    "body-memory",
    aSize,
    "",
    "Memory for the bodies of all requests in flight. A JSON body counts four times its size, and one key gets at most half. Without it, a quarter of the memory available to the process"
  ),
  setting("deadline-rerank-attempt", aTime, span(deadlines.rerankAttempt), "Timeout of one provider for a rerank"),
  setting(
    "deadline-rerank",
    aTime,
    span(deadlines.rerank),
    "Timeout of a rerank including its fallbacks. Then the status is 524"
  ),
  setting(
    "deadline-transcription-attempt",
    aTime,
    span(deadlines.transcriptionAttempt),
    "Timeout of one provider for a transcription"
  ),
  setting(
    "deadline-transcription",
    aTime,
    span(deadlines.transcription),
    "Timeout of a transcription including its fallbacks. Then the status is 504"
  ),
  setting(
    "circuit-failures",
    aCount,
    String(circuits.failures),
    "Consecutive failures of a model's endpoint before its circuit opens"
  ),
  setting(
    "circuit-open-for",
    aTime,
    span(circuits.openFor),
    "How long a circuit stays open before one request tries the endpoint again"
  ),
  setting(
    "video-concurrency",
    aCount,
    String(videos.concurrency),
    "Video jobs that one process handles at the same time. Most of that time is spent waiting for an upstream"
  ),
  setting(
    "video-lifetime",
    "a duration of at most 365 days",
    span(videos.lifetime),
    "Time after its submission at which an unfinished video job expires"
  ),
  setting(
    "video-retention",
    "a duration such as 30 days, or never",
    "never",
    "Time after its end at which a video job is deleted, with its videos"
  ),
  setting(
    "kept-answers-per-key",
    aSize,
    size(keptAnswers.perKey),
    "Maximum size of the answers kept for Idempotency-Key per API key. Beyond it, the oldest are deleted"
  ),
  setting(
    "kept-answers-total",
    aSize,
    size(keptAnswers.total),
    "Maximum size of all answers kept for Idempotency-Key. Beyond it, answers of the keys that use the most are deleted"
  ),
  setting("rate-limit-requests", aCount, String(rateLimit.requests), "Maximum requests per key in each window"),
  setting("rate-limit-window", aTime, span(rateLimit.window), "Length of the window of rate-limit-requests"),
  setting(
    "failed-authentications-requests",
    aCount,
    String(failedAuthentications.requests),
    "Failed authentications of an address in each window before its next ones are answered 2 seconds later"
  ),
  setting(
    "failed-authentications-window",
    aTime,
    span(failedAuthentications.window),
    "Length of the window of failed-authentications-requests"
  ),
  setting(
    "free-daily-requests",
    aCount,
    String(freeDailyRequests),
    "Requests to free models per UTC day for each new key"
  ),
  setting(
    "cors-origins",
    "a list of origins such as https://app.example, separated by commas",
    "",
    "Origins whose pages may call the service from a browser, separated by commas. * is not allowed"
  ),
  setting(
    "trusted-proxies",
    "a list of addresses and blocks such as 10.0.0.0/8, separated by commas",
    "",
    "Proxies whose X-Forwarded-For is trusted: addresses and CIDR blocks, separated by commas"
  ),
  secret(
    "metrics-token",
    "a token of 16 to 512 letters, digits and - . _ ~ + /",
    "Bearer token for /metrics. Without it, /metrics answers only local requests. Other users of this machine can see a flag: prefer the environment or the file"
  )
]

/** The settings of the executable itself. The service reads its own. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Absolute. */
  readonly dataDir: string
  /** Absolute. Undefined: no page is served. */
  readonly webDir: string | undefined
  readonly initialCredits: MicroCredits.MicroCredits
  readonly shutdownTimeout: Duration.Duration
  readonly logFormat: (typeof logFormats)[number]
  readonly logLevel: (typeof logLevels)[number]
}

const Port = Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 }))

const Credits = Schema.FiniteFromString.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const Patience = Schema.DurationFromString.check(
  Schema.makeFilter((span: Duration.Duration) => Duration.toMillis(span) >= 0, { expected: "a duration of at least 0" })
)

/** The built page of the sample. Found by its path because apps do not depend on each other. */
export const samplePage = fileURLToPath(new URL("../../sample/dist/web", import.meta.url))

/** The settings of the executable, from `Config`. */
export const config: Config.Config<Settings> = Config.all({
  host: Config.NonEmptyString("MODEL_GATEWAY_HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Config.schema(Port, "MODEL_GATEWAY_PORT").pipe(Config.withDefault(8787)),
  dataDir: Config.NonEmptyString(dataDir.variable).pipe(Config.withDefault(dataDir.fallback)),
  webDir: Config.NonEmptyString(webDir.variable).pipe(
    Config.withDefault("sample"),
    Config.map((dir) => (dir === "sample" ? samplePage : dir === "none" ? undefined : dir))
  ),
  initialCredits: Config.schema(Credits, initialCredits.variable).pipe(
    Config.withDefault(Number(initialCredits.fallback)),
    Config.map((credits) => Option.getOrThrow(MicroCredits.fromCredits(credits)))
  ),
  shutdownTimeout: Config.schema(Patience, "MODEL_GATEWAY_SHUTDOWN_TIMEOUT").pipe(
    Config.withDefault(Duration.seconds(30))
  ),
  logFormat: Config.Literals(logFormats, "MODEL_GATEWAY_LOG_FORMAT").pipe(Config.withDefault("pretty")),
  logLevel: Config.Literals(logLevels, "MODEL_GATEWAY_LOG_LEVEL").pipe(Config.withDefault("Info"))
})

/** Names the settings file; a flag of every command. */
export const configFlag = Flag.String("config").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription(
    'JSON file of settings, such as { "port": 9000, "data-dir": "/var/lib/gateway" } (MODEL_GATEWAY_CONFIG)'
  ),
  Flag.optional
)

/** A flag for each row. Its value stays text: {@link config} decodes it, whatever its source. */
export const flagsOf = (rows: ReadonlyArray<Setting>): Record<string, Flag.Flag<Option.Option<string>>> =>
  Object.fromEntries(
    rows.map(({ description, fallback, name, variable }) => [
      name,
      Flag.String(name).pipe(
        Flag.withMetavar("value"),
        Flag.withDescription(`${description}. Default ${fallback === "" ? "none" : fallback} (${variable})`),
        Flag.optional
      )
    ])
  )

/** The table in Markdown, as the documentation shows it. */
export const markdown = (): string =>
  [
    "| Flag, key in a file | Environment | Default | Meaning |",
    "|---|---|---|---|",
    ...settings.map(
      ({ description, fallback, name, variable }) =>
        `| \`--${name}\` | \`${variable}\` | ${fallback === "" ? "none" : `\`${fallback}\``} | ${description} |`
    )
  ].join("\n") + "\n"
