/**
 * What can be set on the service, with its defaults. Sizes are bytes; times are anything that is a `Duration`.
 */
import { ByteSize, Config, Context, Duration, Layer, type Redacted, Schema } from "effect"
import * as ClientAddress from "./http/ClientAddress.ts"
import * as Cors from "./http/Cors.ts"
import * as MetricsAccess from "./http/MetricsAccess.ts"

/** How much of a request's body is read before it is refused with a 413. */
export interface BodyLimits {
  /** POST `/rerank`. Default 8 MiB. */
  readonly rerank: number
  /** POST `/audio/transcriptions` with a JSON body. Default 36 MiB, which is 25 MiB of audio in base64 and some room. */
  readonly transcription: number
  /** The file of a multipart POST `/audio/transcriptions`. Default 25 MiB; its other fields may have 1 MiB more. */
  readonly transcriptionFile: number
  /** POST `/videos`. Default 24 MiB. */
  readonly videos: number
  /** The file of POST `/files`. Default 2 GiB; it is streamed, never held. */
  readonly files: number
  /** Every other operation. Default 1 MiB. */
  readonly other: number
}

/** How long an upstream may take. */
export interface Deadlines {
  /** One attempt at a rerank. Default 20 seconds. */
  readonly rerankAttempt: Duration.Duration
  /** A rerank with all its fallbacks; past it the answer is 524. Default 60 seconds. */
  readonly rerank: Duration.Duration
  /** One attempt at a transcription. Default 2 minutes. */
  readonly transcriptionAttempt: Duration.Duration
  /** A transcription with all its fallbacks; past it the answer is 504. Default 5 minutes. */
  readonly transcription: Duration.Duration
}

/** When a model's endpoint is left alone for a while. */
export interface Circuits {
  /** So many failures in a row open it. Default 5. */
  readonly failures: number
  /** How long it stays open before one request may try it again. Default 10 seconds. */
  readonly openFor: Duration.Duration
}

/** How video jobs are worked off. */
export interface Videos {
  /** Jobs that one process moves on at the same time; most of that time is waiting for an upstream. Default 32. */
  readonly concurrency: number
  /** From its submission until a job that is not done expires, and costs nothing. Default 24 hours; at most 365 days. */
  readonly lifetime: Duration.Duration
  /** From the end of a job until it and its videos are deleted. Default undefined: never. */
  readonly retention: Duration.Duration | undefined
}

/**
 * How much the answers kept for `Idempotency-Key` may take, in bytes as they are stored: compressed
 * where they are large.
 */
export interface KeptAnswers {
  /** Of one API key, with the ephemeral keys made from it. Default 32 MiB. */
  readonly perKey: number
  /** Of all API keys. Default 1 GiB. */
  readonly total: number
}

/** How fast the body of a request must arrive. Slower ones are ended with 408. */
export interface BodyRate {
  /** Default 1024. */
  readonly bytesPerSecond: number
  /**
   * Within each span of this length the body must bring as many bytes as the rate asks for. Default
   * 30 seconds.
   */
  readonly grace: Duration.Duration
}

/** So many in that time. */
export interface Rate {
  readonly requests: number
  readonly window: Duration.Duration
}

/** Every setting. */
export interface Settings {
  readonly bodyLimits: BodyLimits
  /** Held by the program that owns the HTTP server. */
  readonly bodyRate: BodyRate
  /**
   * Memory that the bodies of all requests in flight may take up together, in bytes. A body counts
   * four times its length, for the text and the values made of it. One key gets at most half.
   * Bodies beyond it wait for two seconds and are then answered with a 503. Default undefined: a
   * quarter of what the process may use.
   */
  readonly bodyMemory: number | undefined
  readonly deadlines: Deadlines
  readonly circuits: Circuits
  readonly videos: Videos
  readonly keptAnswers: KeptAnswers
  /** How often a key may ask. Default 1000 requests in 10 seconds. */
  readonly rateLimit: Rate
  /**
   * Failed authentications of an address after which its next ones are answered 2 seconds later.
   * Each recent failure before that adds its share of the delay. Valid keys are never delayed.
   * Default 20 in a minute.
   */
  readonly failedAuthentications: Rate
  /** Requests to free models that a new key has a UTC day. Default 200. */
  readonly freeDailyRequests: number
  /**
   * Origins whose pages may call the service from a browser, exactly as browsers send them: `https://app.example`. Default none, and never `*`. A page of the service's own origin needs no
   * place in it.
   */
  readonly corsOrigins: ReadonlyArray<string>
  /**
   * Proxies in front of the service, as addresses and CIDR blocks: `10.0.0.0/8`, `2001:db8::7`. What these say in `X-Forwarded-For` of the caller's address is believed. Default none: the
   * caller is who opened the connection. Never all addresses.
   */
  readonly trustedProxies: ReadonlyArray<string>
  /**
   * What `/metrics` asks for as a bearer token: 16 to 512 characters. Default none: then it answers programs on this machine alone, that ask without a proxy between.
   */
  readonly metricsToken: Redacted.Redacted | undefined
}

/** Settings, each of which may be left out. */
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

/** The defaults. */
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

/** Completes the options with the defaults. */
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

/** The settings in force: {@link defaults} unless a layer says otherwise. */
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

/** As `8 MiB`, or a plain number of bytes. */
const size = <Fallback extends number | undefined>(
  name: string,
  fallback: Fallback
): Config.Config<number | Fallback> =>
  Config.schema(Positive, name).pipe(
    Config.orElse(() => Config.map(Config.ByteSize(name), ByteSize.toNumberUnsafe)),
    Config.withDefault(fallback)
  )

/** No time at all would let nothing through. */
const Span = Schema.DurationFromString.check(
  Schema.makeFilter((span: Duration.Duration) => Duration.toMillis(span) > 0, { expected: "a length of time above 0" })
)

const duration = (name: string, fallback: Duration.Duration, form = Span): Config.Config<Duration.Duration> =>
  Config.schema(form, name).pipe(Config.withDefault(fallback))

/** The end of a job is written down as a time, so there has to be one. */
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

/** A list written with commas, each item of which has to have no problem. */
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

/** Settings from `Config`; a malformed one fails with its name. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(GatewayServerConfig, config)
