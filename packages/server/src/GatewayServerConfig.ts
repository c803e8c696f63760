/**
 * The settings of the service. To add one, declare it here and read it where it is used.
 *
 * Sizes are in bytes, and times are `Duration`s. As text, sizes are written as `8 MiB` or in bytes,
 * and times as `20 seconds`.
 */
import { presets } from "@model-gateway/core/WireNames"
import type { Offer } from "@model-gateway/offers/Offer"
import * as Setting from "@model-gateway/settings/Setting"
import { type Config, Context, Duration, Layer, Schema } from "effect"
import { BasePath } from "./internal/BasePath.ts"
import { ExemptHost } from "./internal/ExemptHost.ts"
import { NameServer } from "./internal/NameServer.ts"
import { Origin } from "./internal/Origin.ts"
import { ProxyNetwork } from "./internal/ProxyNetwork.ts"

const mebibyte = 1024 * 1024

/** Prefix of the environment variables that a setting's name gives. */
export const variablePrefix = "MODEL_GATEWAY_"

/** The declaration of every setting, under its key in a settings file. */
export const declarations = Setting.prefixed(variablePrefix, {
  /** Maximum size of a request body. A larger one is rejected with a 413. */
  bodyLimits: {
    rerank: Setting.size("body-limit-rerank", {
      default: 8 * mebibyte,
      description: "Maximum body size of POST /rerank"
    }),
    transcription: Setting.size("body-limit-transcription", {
      // Enough for 25 MiB of audio in base64.
      default: 36 * mebibyte,
      description: "Maximum JSON body size of POST /audio/transcriptions"
    }),
    transcriptionFile: Setting.size("body-limit-transcription-file", {
      default: 25 * mebibyte,
      description: "Maximum file size of a multipart POST /audio/transcriptions. Its other fields may add 1 MiB"
    }),
    videos: Setting.size("body-limit-videos", {
      default: 24 * mebibyte,
      description: "Maximum body size of POST /videos"
    }),
    files: Setting.size("body-limit-files", {
      default: 2048 * mebibyte,
      description: "Maximum file size of POST /files. The file is streamed, and never in memory as a whole"
    }),
    other: Setting.size("body-limit-other", {
      default: mebibyte,
      description: "Maximum body size of every other operation"
    })
  },
  /** The minimum speed of a request body. Enforced by the program that owns the HTTP server. */
  bodyRate: {
    bytesPerSecond: Setting.size("body-rate", {
      default: 1024,
      description: "Minimum rate of a request body, in bytes per second. A slower request is ended with status 408"
    }),
    firstGrace: Setting.duration("body-rate-first-grace", {
      default: Duration.seconds(5),
      description:
        "Time over which the rate of a request body is measured at first, but not more than body-rate-grace. No body is too slow before it has passed"
    }),
    grace: Setting.duration("body-rate-grace", {
      default: Duration.seconds(30),
      description: "Time over which the rate of a request body is measured after that, so that an upload may pause"
    })
  },
  bodyMemory: Setting.size("body-memory", {
    default: undefined,
    description:
      "Memory for the bodies of all requests in flight. A JSON body counts four times what has arrived of it, and one key gets at most half. " +
      "Short bodies, when it is used up, and management operations each have an eighth as much in addition. " +
      "Requests beyond it wait for 2 seconds and then get status 503. Without it, a quarter of the memory available to the process"
  }),
  /** Time limits for upstreams. */
  deadlines: {
    rerankAttempt: Setting.duration("deadline-rerank-attempt", {
      default: Duration.seconds(20),
      description: "Timeout of one provider for a rerank"
    }),
    rerank: Setting.duration("deadline-rerank", {
      default: Duration.minutes(1),
      description: "Timeout of a rerank including its fallbacks. Then the status is 524"
    }),
    transcriptionAttempt: Setting.duration("deadline-transcription-attempt", {
      default: Duration.minutes(2),
      description: "Timeout of one provider for a transcription"
    }),
    transcription: Setting.duration("deadline-transcription", {
      default: Duration.minutes(5),
      description: "Timeout of a transcription including its fallbacks. Then the status is 504"
    })
  },
  waitingCalls: Setting.integer("waiting-calls", {
    minimum: 0,
    default: 20,
    description:
      "Calls of one key that may wait, in each process, for an offer that takes a limited number at a time, such as a local command. " +
      "Further ones get status 529"
  }),
  /** When the circuit of an endpoint opens. */
  circuits: {
    failures: Setting.integer("circuit-failures", {
      minimum: 1,
      default: 5,
      description: "Consecutive failures of a model's endpoint before its circuit opens"
    }),
    openFor: Setting.duration("circuit-open-for", {
      default: Duration.seconds(10),
      description: "How long a circuit stays open before one request tries the endpoint again"
    })
  },
  /** Video jobs. */
  videos: {
    concurrency: Setting.integer("video-concurrency", {
      minimum: 1,
      default: 32,
      description:
        "Video jobs that one process handles at the same time at each provider. One workspace gets at most half of them"
    }),
    maxSize: Setting.size("video-max-size", {
      default: 1024 * mebibyte,
      description: "Maximum size of one finished video. The job fails if the provider sends more"
    }),
    maxJobSize: Setting.size("video-max-job-size", {
      default: 2048 * mebibyte,
      description:
        "Maximum size of all finished videos of a job, of which there may be 16. The job fails if the provider sends more"
    }),
    downloadRate: Setting.size("video-download-rate", {
      default: 16 * 1024,
      description:
        "Minimum rate of the download of a finished video from its provider, in bytes per second. A download that is slower for 30 seconds is repeated, and fails the job after three times"
    }),
    requests: Setting.size("video-requests-per-workspace", {
      default: 256 * mebibyte,
      description:
        "Maximum stored size of the requests of a workspace's unfinished video jobs, with the images in them. A request beyond it gets status 429"
    }),
    lifetime: Setting.duration("video-lifetime", {
      // The expiry of a job is stored as a time, so it must be finite.
      maximum: Duration.days(365),
      default: Duration.hours(24),
      description: "Time after its submission at which an unfinished video job expires, at no cost"
    }),
    waits: Setting.integer("video-waits", {
      minimum: 1,
      default: 4000,
      description:
        "Long polls of video jobs that wait in one process at the same time. Further ones are answered at once with the job as it is"
    }),
    waitsPerKey: Setting.integer("video-waits-per-key", {
      minimum: 1,
      default: 200,
      description:
        "Long polls of video jobs of one key, with its ephemeral keys, that wait in one process at the same time. Further ones are answered at once with the job as it is"
    }),
    retention: Setting.durationOrNever("video-retention", {
      description: "Time after its end at which a video job is deleted, with its videos"
    })
  },
  diskReserve: Setting.size("disk-reserve", {
    default: 512 * mebibyte,
    description:
      "Free space that uploads and videos leave on the disk of the data folder. Below it, uploads get status 503, and finished videos wait up to 20 minutes for room"
  }),
  accessLog: Setting.literals("access-log", ["failures", "all", "none"], {
    default: "failures",
    description:
      "Requests that are logged at the level Info: those that failed, all, or none. Of many failures of one key, the first 30 of a minute are"
  }),
  /** How long records are kept that nothing else depends on. */
  retention: {
    requests: Setting.durationOrNever("request-log-retention", {
      minimum: Duration.days(1),
      maximum: Duration.days(36_500),
      description:
        "Time after which an entry of the request log is deleted. Sums of spending and of the activity remain"
    }),
    rejectedRequests: Setting.duration("rejected-requests-retention", {
      minimum: Duration.hours(1),
      maximum: Duration.days(365),
      default: Duration.days(7),
      description: "Time after which the record of a rejected request is deleted. At most 500,000 are kept"
    }),
    audit: Setting.duration("audit-retention", {
      minimum: Duration.days(1),
      maximum: Duration.days(36_500),
      default: Duration.days(365),
      description: "Time after which an entry of the audit log is deleted. At most 1,000,000 are kept"
    }),
    events: Setting.duration("event-retention", {
      minimum: Duration.hours(1),
      maximum: Duration.days(90),
      default: Duration.days(3),
      description:
        "Time after which an event that is broadcast is deleted, also if a destination has not accepted it by then"
    })
  },
  webhooks: {
    retention: Setting.duration("webhook-retention", {
      maximum: Duration.days(3650),
      default: Duration.days(30),
      description: "Time after which a webhook that was delivered or given up is deleted, with its attempts"
    })
  },
  /** Maximum stored size of the answers for `Idempotency-Key`. Large answers are compressed. */
  keptAnswers: {
    perKey: Setting.size("kept-answers-per-key", {
      default: 32 * mebibyte,
      description:
        "Maximum size of the answers kept for Idempotency-Key per API key, including its ephemeral keys. Beyond it, the oldest are deleted"
    }),
    total: Setting.size("kept-answers-total", {
      default: 1024 * mebibyte,
      description:
        "Maximum size of all answers kept for Idempotency-Key. Beyond it, answers of the keys that use the most are deleted"
    })
  },
  rateLimit: {
    requests: Setting.integer("rate-limit-requests", {
      minimum: 1,
      default: 1000,
      description: "Maximum requests per key in each window"
    }),
    window: Setting.duration("rate-limit-window", {
      default: Duration.seconds(10),
      description: "Length of the window of rate-limit-requests"
    })
  },
  failedAuthentications: {
    requests: Setting.integer("failed-authentications-requests", {
      minimum: 1,
      default: 20,
      description:
        "Failed authentications of an address in each window before its next ones are answered 2 seconds later. " +
        "Before that, each failure adds a share of the delay. Valid keys are never delayed"
    }),
    window: Setting.duration("failed-authentications-window", {
      default: Duration.minutes(1),
      description: "Length of the window of failed-authentications-requests"
    })
  },
  redisPrefix: Setting.text("redis-prefix", {
    allowed: "a text",
    default: "model-gateway:",
    description: "Prefix of all keys in Redis. Services that share a database of a Redis need different prefixes"
  }),
  freeDailyRequests: Setting.integer("free-daily-requests", {
    minimum: 1,
    default: 200,
    description: "Requests to free models per UTC day for each new key"
  }),
  wireNames: Setting.literals("wire-names", presets, {
    default: "neutral",
    description:
      "Words for vendors on the wire: those of the specification, or those of OpenRouter's clients. Clients of this gateway need the same setting"
  }),
  basePath: Setting.text("base-path", {
    schema: BasePath,
    allowed: "a path such as /gateway, without a slash at its end",
    default: undefined,
    description:
      "Path below which everything is served: the API at /gateway/api/v1, the page at /gateway/. /healthz and /readyz answer at the root, too. A proxy must leave it in the requests that it passes on"
  }),
  corsOrigins: Setting.list("cors-origins", Origin, {
    allowed: "a list of origins such as https://app.example",
    description:
      "Origins whose pages may call the service from a browser. * is not allowed. The service's own origin need not be listed"
  }),
  trustedProxies: Setting.list("trusted-proxies", ProxyNetwork, {
    allowed: "a list of addresses and blocks such as 10.0.0.0/8",
    description:
      "Proxies whose X-Forwarded-For is trusted: addresses and CIDR blocks. Without it, the client is the peer of the connection"
  }),
  /** Keys that encrypt what callers store: provider keys, and secrets of broadcast destinations. */
  byok: {
    masterKey: Setting.secret("master-key", {
      schema: Schema.Redacted(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]{43}=$/))),
      allowed: "32 bytes in base64, as openssl rand -base64 32 prints them",
      description:
        "Key that encrypts stored secrets: provider keys of callers, and secrets of webhooks and broadcast destinations. Without it, the first secret that is stored creates a key, in the file master.key of the data folder or in the Postgres database"
    }),
    formerMasterKeys: Setting.secret("former-master-keys", {
      schema: Schema.Redacted(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]{43}=(,[A-Za-z0-9+/]{43}=){0,9}$/))),
      allowed: "up to 10 keys, each 32 bytes in base64, separated by commas",
      description:
        "Former master keys. They still decrypt what they encrypted, until model-gateway byok rewrap has replaced them"
    })
  },
  outboundExemptHosts: Setting.list("outbound-exempt-hosts", ExemptHost, {
    allowed: "a list of names and addresses such as collector.internal",
    description:
      "Hosts that callback URLs, broadcast destinations and links of providers may use although their address is not public; destinations also over http. Any key can then send requests to them. The operating system resolves their names"
  }),
  outboundNameServers: Setting.list("outbound-name-servers", NameServer, {
    allowed: "a list of addresses such as 10.0.0.53 and [fd00::53]:5353",
    description:
      "Name servers for the hosts of callback URLs, broadcast destinations and links of providers. Default: those of the machine"
  }),
  metricsToken: Setting.secret("metrics-token", {
    // Too long to guess, with the characters of a bearer token (RFC 6750).
    schema: Schema.Redacted(Schema.String.check(Schema.isPattern(/^[\w.~+/-]{16,512}={0,2}$/))),
    allowed: "a token of 16 to 512 letters, digits and - . _ ~ + /",
    // This flag is older than the rule that secrets have none.
    hasFlag: true,
    description:
      "Bearer token for /metrics. Without it, /metrics answers only local requests. Other users of this machine can see a flag: prefer the environment or the file"
  })
})

/** All settings. */
export interface Settings extends Setting.Values<typeof declarations> {}

/** Settings. Absent ones have their defaults. */
export interface Options extends Setting.PartialValues<typeof declarations> {}

/** Maximum size of a request body, by operation. */
export type BodyLimits = Settings["bodyLimits"]

/** A number of requests per time window. */
export type Rate = Settings["rateLimit"]

/** Maximum size of the answers stored for `Idempotency-Key`. */
export type KeptAnswers = Settings["keptAnswers"]

/**
 * The longest wait for one call of an offer: its own or, for its kind, that of the deadlines.
 * Undefined: that of its adapter.
 */
export const timeLimitOf = (
  { kind, timeLimit }: Pick<Offer, "kind" | "timeLimit">,
  deadlines: Settings["deadlines"]
): Duration.Duration | undefined => {
  if (timeLimit !== undefined || kind === "video") return timeLimit
  return kind === "rerank" ? deadlines.rerankAttempt : deadlines.transcriptionAttempt
}

/** Adds the defaults to the options. Throws a `RangeError` on a value that is not allowed. */
export const make = (options: Options = {}): Settings => Setting.make(declarations, options)

/** The default settings. */
export const defaults: Settings = make()

/** The current settings. Default: {@link defaults}. */
export const GatewayServerConfig = Context.Reference<Settings>("@model-gateway/server/GatewayServerConfig", {
  defaultValue: () => defaults
})

/**
 * Settings from values. A value that is not allowed is a defect.
 *
 * @example
 * ```ts
 * import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
 *
 * const Settings = GatewayServerConfig.layer({ bodyLimits: { rerank: 1_000_000 } })
 * ```
 */
export const layer = (options?: Options): Layer.Layer<never> => Layer.sync(GatewayServerConfig, () => make(options))

/** Every setting from `Config`, under the environment variables of the declarations. */
export const config: Config.Config<Settings> = Setting.config(declarations)

/** Settings from `Config`. Fails with the name of a malformed one. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(GatewayServerConfig, config)
