/**
 * The settings of the service and their defaults. Sizes are in bytes. Times are any `Duration`
 * input.
 */
import { ByteSize, Config, Context, Duration, Layer, type Redacted, Schema } from "effect"
import * as ClientAddress from "./http/ClientAddress.ts"
import * as Cors from "./http/Cors.ts"
import * as MetricsAccess from "./http/MetricsAccess.ts"

/** Maximum size of a request body. A larger one is rejected with a 413. */
export interface BodyLimits {
  /** POST `/rerank`. Default: 8 MiB. */
  readonly rerank: number
  /**
   * POST `/audio/transcriptions` with a JSON body. Default: 36 MiB, enough for 25 MiB of audio in
   * base64.
   */
  readonly transcription: number
  /**
   * The file of a multipart POST `/audio/transcriptions`. Default: 25 MiB. Its other fields may add
   * 1 MiB.
   */
  readonly transcriptionFile: number
  /** POST `/videos`. Default: 24 MiB. */
  readonly videos: number
  /** The file of POST `/files`. Default: 2 GiB. It is streamed and never held in memory. */
  readonly files: number
  /** Every other operation. Default: 1 MiB. */
  readonly other: number
}

/** Time limits for upstreams. */
export interface Deadlines {
  /** One attempt at a rerank. Default: 20 seconds. */
  readonly rerankAttempt: Duration.Duration
  /** A rerank with all its fallbacks. The response is then a 524. Default: 60 seconds. */
  readonly rerank: Duration.Duration
  /** One attempt at a transcription. Default: 2 minutes. */
  readonly transcriptionAttempt: Duration.Duration
  /** A transcription with all its fallbacks. The response is then a 504. Default: 5 minutes. */
  readonly transcription: Duration.Duration
}

/** When the circuit of an endpoint opens. */
export interface Circuits {
  /** Consecutive failures before the circuit opens. Default: 5. */
  readonly failures: number
  /**
   * How long the circuit stays open before one request may try the endpoint again. Default: 10
   * seconds.
   */
  readonly openFor: Duration.Duration
}

/** Video jobs. */
export interface Videos {
  /**
   * Jobs that one process advances at the same time. They mostly wait for an upstream. Default: 32.
   */
  readonly concurrency: number
  /**
   * Time from submission until an unfinished job expires at no cost. Default: 24 hours; at most 365
   * days.
   */
  readonly lifetime: Duration.Duration
  /** Time from the end of a job until it and its videos are deleted. Default: undefined, never. */
  readonly retention: Duration.Duration | undefined
}

/**
 * Maximum size of the answers stored for `Idempotency-Key`, in bytes as stored. Large answers are
 * compressed.
 */
export interface KeptAnswers {
  /** Per API key, including its ephemeral keys. Default: 32 MiB. */
  readonly perKey: number
  /** All API keys together. Default: 1 GiB. */
  readonly total: number
}

/** The minimum speed of a request body. A slower request ends with a 408. */
export interface BodyRate {
  /** Default: 1024. */
  readonly bytesPerSecond: number
  /** The rate is checked over spans of this length. Default: 30 seconds. */
  readonly grace: Duration.Duration
}

/** A number of requests per time window. */
export interface Rate {
  readonly requests: number
  readonly window: Duration.Duration
}

/** All settings. */
export interface Settings {
  readonly bodyLimits: BodyLimits
  /** Enforced by the program that owns the HTTP server. */
  readonly bodyRate: BodyRate
  /**
   * Memory for the bodies of all requests in flight, in bytes. A body counts as four times its
   * length, for its text and parsed values. One key gets at most half. Requests beyond the limit
   * wait for two seconds and then get a 503. Default: undefined, a quarter of what the process may
   * use.
   */
  readonly bodyMemory: number | undefined
  readonly deadlines: Deadlines
  readonly circuits: Circuits
  readonly videos: Videos
  readonly keptAnswers: KeptAnswers
  /** Rate limit of a key. Default: 1000 requests in 10 seconds. */
  readonly rateLimit: Rate
  /**
   * Failed authentications of an address after which further ones are delayed by 2 seconds. Before
   * that, each recent failure adds a share of the delay. Valid keys are never delayed. Default: 20
   * per minute.
   */
  readonly failedAuthentications: Rate
  /** Requests to free models per UTC day of a new key. Default: 200. */
  readonly freeDailyRequests: number
  /**
   * Origins whose pages may call the service from a browser, exactly as browsers send them:
   * `https://app.example`. `*` is not allowed. The service's own origin need not be listed.
   * Default: none.
   */
  readonly corsOrigins: ReadonlyArray<string>
  /**
   * Proxies in front of the service, as addresses and CIDR blocks: `10.0.0.0/8`, `2001:db8::7`. The
   * service trusts the client address that they report in `X-Forwarded-For`. Listing all addresses
   * is not allowed. Default: none, the client is the peer of the connection.
   */
  readonly trustedProxies: ReadonlyArray<string>
  /**
   * The bearer token for `/metrics`: 16 to 512 characters. Default: none, `/metrics` answers only
   * direct requests from this machine.
   */
  readonly metricsToken: Redacted.Redacted | undefined
}

/** Settings. Absent ones have their defaults. */
export interface Options {
  readonly bodyLimits?: Partial<BodyLimits> | undefined
  readonly bodyRate?: Partial<BodyRate> | undefined
  readonly bodyMemory?: number | undefined
  readonly deadlines?: Partial<Deadlines> | undefined
  readonly circuits?: Partial<Circuits> | undefined
  readonly videos?: Partial<Videos> | undefined
  readonly keptAnswers?: Partial<KeptAnswers> | undefined
  readonly rateLimit?: Rate | undefined
  readonly failedAuthentications?: Rate | undefined
  readonly freeDailyRequests?: number | undefined
  readonly corsOrigins?: ReadonlyArray<string> | undefined
  readonly trustedProxies?: ReadonlyArray<string> | undefined
  readonly metricsToken?: Redacted.Redacted | undefined
}

const mebibyte = 1024 * 1024

/** The default settings. */
export const defaults: Settings = {
  bodyLimits: {
    rerank: 8 * mebibyte,
    transcription: 36 * mebibyte,
    transcriptionFile: 25 * mebibyte,
    videos: 24 * mebibyte,
    files: 2048 * mebibyte,
    other: mebibyte
  },
  bodyRate: { bytesPerSecond: 1024, grace: Duration.seconds(30) },
  bodyMemory: undefined,
  deadlines: {
    rerankAttempt: Duration.seconds(20),
    rerank: Duration.seconds(60),
    transcriptionAttempt: Duration.minutes(2),
    transcription: Duration.minutes(5)
  },
  circuits: { failures: 5, openFor: Duration.seconds(10) },
  videos: { concurrency: 32, lifetime: Duration.hours(24), retention: undefined },
  keptAnswers: { perKey: 32 * mebibyte, total: 1024 * mebibyte },
  rateLimit: { requests: 1000, window: Duration.seconds(10) },
  failedAuthentications: { requests: 20, window: Duration.minutes(1) },
  freeDailyRequests: 200,
  corsOrigins: [],
  trustedProxies: [],
  metricsToken: undefined
}

/** Adds the defaults to the options. */
export const make = (options: Options = {}): Settings => ({
  bodyLimits: { ...defaults.bodyLimits, ...options.bodyLimits },
  bodyRate: { ...defaults.bodyRate, ...options.bodyRate },
  bodyMemory: options.bodyMemory ?? defaults.bodyMemory,
  deadlines: { ...defaults.deadlines, ...options.deadlines },
  circuits: { ...defaults.circuits, ...options.circuits },
  videos: { ...defaults.videos, ...options.videos },
  keptAnswers: { ...defaults.keptAnswers, ...options.keptAnswers },
  rateLimit: options.rateLimit ?? defaults.rateLimit,
  failedAuthentications: options.failedAuthentications ?? defaults.failedAuthentications,
  freeDailyRequests: options.freeDailyRequests ?? defaults.freeDailyRequests,
  corsOrigins: options.corsOrigins ?? defaults.corsOrigins,
  trustedProxies: options.trustedProxies ?? defaults.trustedProxies,
  metricsToken: options.metricsToken ?? defaults.metricsToken
})

/** The current settings. Default: {@link defaults}. */
export const GatewayServerConfig = Context.Reference<Settings>("@model-gateway/server/GatewayServerConfig", {
  defaultValue: () => defaults
})

/**
 * Settings from values.
 *
 * @example
 * ```ts
 * import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
 *
 * const Settings = GatewayServerConfig.layer({ bodyLimits: { rerank: 1_000_000 } })
 * ```
 */
export const layer = (options?: Options): Layer.Layer<never> => Layer.succeed(GatewayServerConfig, make(options))

const Positive = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThan(0))

const count = (name: string, fallback: number): Config.Config<number> =>
  Config.schema(Positive, name).pipe(Config.withDefault(fallback))

/** A size such as `8 MiB`, or a number of bytes. */
const size = <Fallback extends number | undefined>(
  name: string,
  fallback: Fallback
): Config.Config<number | Fallback> =>
  Config.schema(Positive, name).pipe(
    Config.orElse(() => Config.map(Config.ByteSize(name), ByteSize.toNumberUnsafe)),
    Config.withDefault(fallback)
  )

/** Zero would reject every request. */
const Span = Schema.DurationFromString.check(
  Schema.makeFilter((span: Duration.Duration) => Duration.toMillis(span) > 0, { expected: "a length of time above 0" })
)

const duration = (name: string, fallback: Duration.Duration, form = Span): Config.Config<Duration.Duration> =>
  Config.schema(form, name).pipe(Config.withDefault(fallback))

/** A job's expiry is stored as a time, so its lifetime must be finite. */
const Lifetime = Span.check(
  Schema.makeFilter((span: Duration.Duration) => Duration.toDays(span) <= 365, { expected: "at most 365 days" })
)

const policy = (name: string, fallback: { readonly requests: number; readonly window: Duration.Duration }) =>
  Config.all({
    requests: count(`${name}_REQUESTS`, fallback.requests),
    window: duration(`${name}_WINDOW`, fallback.window)
  })

const Token = Schema.String.check(Schema.isPattern(MetricsAccess.tokenForm))

const commaSeparated = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")

/** A comma-separated list in which every item is valid. */
const list = (
  name: string,
  fallback: ReadonlyArray<string>,
  problemOf: (item: string) => string | undefined
): Config.Config<ReadonlyArray<string>> => {
  const Items = Schema.String.check(
    Schema.makeFilter((text) =>
      commaSeparated(text)
        .map(problemOf)
        .find((problem) => problem !== undefined)
    )
  )
  return Config.schema(Items, name).pipe(Config.map(commaSeparated), Config.withDefault(fallback))
}

/**
 * Every setting from `Config`. Sizes are written as `8 MiB` or in bytes, times as `20 seconds`.
 *
 * | Name | Setting |
 * |---|---|
 * | `MODEL_GATEWAY_BODY_LIMIT_RERANK`, `…_TRANSCRIPTION`, `…_TRANSCRIPTION_FILE`, `…_VIDEOS`, `…_FILES`, `…_OTHER` | {@link BodyLimits} |
 * | `MODEL_GATEWAY_BODY_RATE`, `MODEL_GATEWAY_BODY_RATE_GRACE` | {@link BodyRate} |
 * | `MODEL_GATEWAY_BODY_MEMORY` | `bodyMemory` |
 * | `MODEL_GATEWAY_DEADLINE_RERANK_ATTEMPT`, `…_RERANK`, `…_TRANSCRIPTION_ATTEMPT`, `…_TRANSCRIPTION` | {@link Deadlines} |
 * | `MODEL_GATEWAY_CIRCUIT_FAILURES`, `MODEL_GATEWAY_CIRCUIT_OPEN_FOR` | {@link Circuits} |
 * | `MODEL_GATEWAY_VIDEO_CONCURRENCY`, `…_LIFETIME`, `…_RETENTION` | {@link Videos} |
 * | `MODEL_GATEWAY_KEPT_ANSWERS_PER_KEY`, `…_TOTAL` | {@link KeptAnswers} |
 * | `MODEL_GATEWAY_RATE_LIMIT_REQUESTS`, `…_WINDOW` | `rateLimit` |
 * | `MODEL_GATEWAY_FAILED_AUTHENTICATIONS_REQUESTS`, `…_WINDOW` | `failedAuthentications` |
 * | `MODEL_GATEWAY_FREE_DAILY_REQUESTS` | `freeDailyRequests` |
 * | `MODEL_GATEWAY_CORS_ORIGINS`, separated by commas | `corsOrigins` |
 * | `MODEL_GATEWAY_TRUSTED_PROXIES`, separated by commas | `trustedProxies` |
 * | `MODEL_GATEWAY_METRICS_TOKEN` | `metricsToken` |
 */
export const config: Config.Config<Settings> = Config.all({
  bodyLimits: Config.all({
    rerank: size("MODEL_GATEWAY_BODY_LIMIT_RERANK", defaults.bodyLimits.rerank),
    transcription: size("MODEL_GATEWAY_BODY_LIMIT_TRANSCRIPTION", defaults.bodyLimits.transcription),
    transcriptionFile: size("MODEL_GATEWAY_BODY_LIMIT_TRANSCRIPTION_FILE", defaults.bodyLimits.transcriptionFile),
    videos: size("MODEL_GATEWAY_BODY_LIMIT_VIDEOS", defaults.bodyLimits.videos),
    files: size("MODEL_GATEWAY_BODY_LIMIT_FILES", defaults.bodyLimits.files),
    other: size("MODEL_GATEWAY_BODY_LIMIT_OTHER", defaults.bodyLimits.other)
  }),
  bodyRate: Config.all({
    bytesPerSecond: size("MODEL_GATEWAY_BODY_RATE", defaults.bodyRate.bytesPerSecond),
    grace: duration("MODEL_GATEWAY_BODY_RATE_GRACE", defaults.bodyRate.grace)
  }),
  bodyMemory: size("MODEL_GATEWAY_BODY_MEMORY", defaults.bodyMemory),
  deadlines: Config.all({
    rerankAttempt: duration("MODEL_GATEWAY_DEADLINE_RERANK_ATTEMPT", defaults.deadlines.rerankAttempt),
    rerank: duration("MODEL_GATEWAY_DEADLINE_RERANK", defaults.deadlines.rerank),
    transcriptionAttempt: duration(
      "MODEL_GATEWAY_DEADLINE_TRANSCRIPTION_ATTEMPT",
      defaults.deadlines.transcriptionAttempt
    ),
    transcription: duration("MODEL_GATEWAY_DEADLINE_TRANSCRIPTION", defaults.deadlines.transcription)
  }),
  circuits: Config.all({
    failures: count("MODEL_GATEWAY_CIRCUIT_FAILURES", defaults.circuits.failures),
    openFor: duration("MODEL_GATEWAY_CIRCUIT_OPEN_FOR", defaults.circuits.openFor)
  }),
  videos: Config.all({
    concurrency: count("MODEL_GATEWAY_VIDEO_CONCURRENCY", defaults.videos.concurrency),
    lifetime: duration("MODEL_GATEWAY_VIDEO_LIFETIME", defaults.videos.lifetime, Lifetime),
    retention: Config.schema(Schema.Union([Span, Schema.Literal("never")]), "MODEL_GATEWAY_VIDEO_RETENTION").pipe(
      Config.map((span) => (span === "never" ? undefined : span)),
      Config.withDefault(defaults.videos.retention)
    )
  }),
  keptAnswers: Config.all({
    perKey: size("MODEL_GATEWAY_KEPT_ANSWERS_PER_KEY", defaults.keptAnswers.perKey),
    total: size("MODEL_GATEWAY_KEPT_ANSWERS_TOTAL", defaults.keptAnswers.total)
  }),
  rateLimit: policy("MODEL_GATEWAY_RATE_LIMIT", defaults.rateLimit),
  failedAuthentications: policy("MODEL_GATEWAY_FAILED_AUTHENTICATIONS", defaults.failedAuthentications),
  freeDailyRequests: count("MODEL_GATEWAY_FREE_DAILY_REQUESTS", defaults.freeDailyRequests),
  corsOrigins: list("MODEL_GATEWAY_CORS_ORIGINS", defaults.corsOrigins, Cors.problemOf),
  trustedProxies: list("MODEL_GATEWAY_TRUSTED_PROXIES", defaults.trustedProxies, ClientAddress.problemOf),
  metricsToken: Config.schema(Schema.Redacted(Token), "MODEL_GATEWAY_METRICS_TOKEN").pipe(
    Config.withDefault(defaults.metricsToken)
  )
})

/** Settings from `Config`. Fails with the name of a malformed one. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(GatewayServerConfig, config)
