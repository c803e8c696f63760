/**
 * Every setting of the executable: one table, from which come the flags, the environment variables, the keys of a settings file,
 * the help texts, the sentences that complain of a malformed value, and the table in the documentation.
 *
 * A flag wins over the environment, the environment over the file, the file over the default.
 */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as MicroCredits from "@model-gateway/server/accounting/MicroCredits"
import { Config, Duration, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { fileURLToPath } from "node:url"

/** One row of the table. */
export interface Setting {
  /** The flag without its dashes, and the key in a settings file: `data-dir`. */
  readonly name: string
  /** The environment variable: `MODEL_GATEWAY_DATA_DIR`. */
  readonly variable: string
  /** What a value must be, to follow "is not": `a port from 0 to 65535`. */
  readonly form: string
  /** The default as a person writes it; empty for none. */
  readonly fallback: string
  readonly description: string
  /** A value that no complaint may repeat. */
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

/** A length of time as a person writes it: `30 seconds`. */
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
const aTime = "a length of time such as 20 seconds"
const aCount = "a whole number from 1"
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

/** Where the data lies: the one setting that every command has. */
export const dataDir = setting(
  "data-dir",
  "a folder",
  ".data",
  "Folder of the database and the files; made when missing"
)

/** What a first run gives the workspace; the commands that may be that first run read it too. */
export const initialCredits = setting(
  "initial-credits",
  "a number of credits from 0",
  "10",
  "Credits of the workspace that the first run makes (1 credit = 1 USD)"
)

/** The folder of the page at `/`. */
export const webDir = setting(
  "web-dir",
  "an existing folder, sample or none",
  "sample",
  "Folder of the page that is served at /, beside the API: the sample's, another, or none"
)

/** The table, in the order in which it is shown. */
export const settings: ReadonlyArray<Setting> = [
  setting("host", "a host name or address", "127.0.0.1", "Address to listen on; 0.0.0.0 for every one of this machine"),
  setting("port", "a port from 0 to 65535", "8787", "Port to listen on; 0 takes any free one"),
  dataDir,
  webDir,
  initialCredits,
  setting(
    "shutdown-timeout",
    aTime,
    "30 seconds",
    "How long requests in flight may take to finish after Ctrl-C or SIGTERM"
  ),
  setting(
    "log-format",
    `one of ${logFormats.join(", ")}`,
    "pretty",
    "Logs go to stderr, for people (pretty) or for machines (json)"
  ),
  setting("log-level", `one of ${logLevels.join(", ")}`, "Info", "The least serious log entries that are written"),
  setting("body-limit-rerank", aSize, size(bodyLimits.rerank), "Largest body of POST /rerank"),
  setting(
    "body-limit-transcription",
    aSize,
    size(bodyLimits.transcription),
    "Largest JSON body of POST /audio/transcriptions"
  ),
  setting(
    "body-limit-transcription-file",
    aSize,
    size(bodyLimits.transcriptionFile),
    "Largest file of a multipart POST /audio/transcriptions"
  ),
  setting("body-limit-videos", aSize, size(bodyLimits.videos), "Largest body of POST /videos"),
  setting("body-limit-files", aSize, size(bodyLimits.files), "Largest file of POST /files"),
  setting("body-limit-other", aSize, size(bodyLimits.other), "Largest body of every other operation"),
  setting(
    "body-rate",
    aSize,
    size(bodyRate.bytesPerSecond),
    "Bytes per second that the body of a request must bring; a slower one is ended with 408"
  ),
  setting(
    "body-rate-grace",
    aTime,
    span(bodyRate.grace),
    "Time over which that rate is measured, and the first in which a body can be too slow"
  ),
  setting(
    "body-memory",
    aSize,
    "",
    "Memory for the bodies of all requests in flight, each counted four times; one key gets at most half. Without it a quarter of what the process may use"
  ),
  setting(
    "deadline-rerank-attempt",
    aTime,
    span(deadlines.rerankAttempt),
    "How long one provider may take for a rerank"
  ),
  setting(
    "deadline-rerank",
    aTime,
    span(deadlines.rerank),
    "How long a rerank may take with all its fallbacks; then 524"
  ),
  setting(
    "deadline-transcription-attempt",
    aTime,
    span(deadlines.transcriptionAttempt),
    "How long one provider may take for a transcription"
  ),
  setting(
    "deadline-transcription",
    aTime,
    span(deadlines.transcription),
    "How long a transcription may take with all its fallbacks; then 504"
  ),
  setting(
    "circuit-failures",
    aCount,
    String(circuits.failures),
    "So many failures in a row and a model's endpoint is left alone"
  ),
  setting("circuit-open-for", aTime, span(circuits.openFor), "How long it is left alone before one request may try it"),
  setting(
    "video-concurrency",
    aCount,
    String(videos.concurrency),
    "Video jobs that one process moves on at the same time; most of that time is waiting for an upstream"
  ),
  setting(
    "video-lifetime",
    "a length of time up to 365 days",
    span(videos.lifetime),
    "How long after its submission a video job that is not done expires"
  ),
  setting(
    "video-retention",
    "a length of time such as 30 days, or never",
    "never",
    "How long after its end a video job is deleted, with its videos"
  ),
  setting(
    "kept-answers-per-key",
    aSize,
    size(keptAnswers.perKey),
    "What the answers kept for Idempotency-Key may take of one API key; beyond it the oldest are deleted"
  ),
  setting(
    "kept-answers-total",
    aSize,
    size(keptAnswers.total),
    "What the answers kept for Idempotency-Key may take in all; beyond it those of the keys that use the most are deleted"
  ),
  setting("rate-limit-requests", aCount, String(rateLimit.requests), "How many requests a key may make in each window"),
  setting("rate-limit-window", aTime, span(rateLimit.window), "The length of that window"),
  setting(
    "failed-authentications-requests",
    aCount,
    String(failedAuthentications.requests),
    "Failed authentications of an address in each window after which its next ones are answered 2 seconds later"
  ),
  setting("failed-authentications-window", aTime, span(failedAuthentications.window), "The length of that window"),
  setting(
    "free-daily-requests",
    aCount,
    String(freeDailyRequests),
    "Requests to free models that a new key has a UTC day"
  ),
  setting(
    "cors-origins",
    "a list of origins such as https://app.example, separated by commas",
    "",
    "Origins whose pages may call the service from a browser, separated by commas, never *"
  ),
  setting(
    "trusted-proxies",
    "a list of addresses and blocks such as 10.0.0.0/8, separated by commas",
    "",
    "Proxies whose X-Forwarded-For is believed: addresses and CIDR blocks, separated by commas"
  ),
  secret(
    "metrics-token",
    "a token of 16 to 512 letters, digits and - . _ ~ + /",
    "What /metrics asks for as a bearer token; without one it answers programs on this machine alone. Not as a flag where others see the processes"
  )
]

/** What of the settings concerns the executable itself; the service reads its own. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Absolute. */
  readonly dataDir: string
  /** Absolute; undefined: no page is served. */
  readonly webDir: string | undefined
  readonly initialCredits: MicroCredits.MicroCredits
  readonly shutdownTimeout: Duration.Duration
  readonly logFormat: (typeof logFormats)[number]
  readonly logLevel: (typeof logLevels)[number]
}

const Port = Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 }))

const Credits = Schema.FiniteFromString.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const Patience = Schema.DurationFromString.check(
  Schema.makeFilter((span: Duration.Duration) => Duration.toMillis(span) >= 0, { expected: "a length of time from 0" })
)

/** The sample's page, as it is built beside this executable. Found by its place, as apps do not depend on each other. */
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

/** A flag for each of the rows. They are read as text: what they mean is for {@link config} to say, wherever the text came from. */
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
