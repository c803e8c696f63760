/**
 * The settings of the executable. To add one, declare it here and read it where it is used; the
 * service's own are declared in `GatewayServerConfig`. Flags, help, errors, the JSON Schema of the
 * settings file and the table in the documentation come from the declarations.
 *
 * A flag takes precedence over the environment, the environment over the file, and the file over
 * the default.
 */
import * as AnthropicFiles from "@model-gateway/providers/AnthropicFiles"
import type { Variables } from "@model-gateway/offers/Adapter"
import { adapters, type AnyAdapter } from "@model-gateway/providers/Adapters"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as KeyFormat from "@model-gateway/server/KeyFormat"
import * as ObjectStoreUrl from "@model-gateway/server/ObjectStoreUrl"
import * as RedisUrl from "@model-gateway/server/RedisUrl"
import * as Setting from "@model-gateway/settings/Setting"
import { type Config, Duration, JsonSchema, type Option, Result, Schema } from "effect"
import { Flag } from "effect/cli"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Database from "./Database.ts"
import * as ModelSettings from "./ModelSettings.ts"

/** A URL that is an origin and nothing more. */
const PublicUrl = Schema.String.check(
  Schema.makeFilter(
    (text) => /^https?:\/\//.test(text) && URL.canParse(text) && `${new URL(text).origin}/` === new URL(text).href
  )
)

/** HTTP is for a provider on this machine, such as one of a test. */
const Issuer = Schema.String.check(
  Schema.makeFilter((text) => {
    const url = URL.parse(text)
    if (url === null || url.search !== "" || url.hash !== "") return false
    return (
      url.protocol === "https:" ||
      (url.protocol === "http:" && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname))
    )
  })
)

const HeaderName = Schema.String.check(Schema.isPattern(/^[\w!#$%&'*+.^`|~-]+$/))

const HttpUrl = Schema.String.check(
  Schema.makeFilter((text) => /^https?:\/\//.test(text) && URL.canParse(text) && !/[?#]/.test(text))
)

const isPair = (pair: string): boolean => {
  const [, value] = /^\s*[\w.!#$%&'*+^`|~-]+\s*=([\x20-\x7e]*)$/.exec(pair) ?? []
  if (value === undefined) return false
  try {
    return !/\p{Cc}/u.test(decodeURIComponent(value))
  } catch {
    return false
  }
}

/** Pairs of OpenTelemetry's variables. Their values are in percent-encoding. */
const Pairs = Schema.String.check(Schema.makeFilter((text) => text.split(",").every(isPair)))

/** The last characters of a key are a checksum. */
const ManagementKey = Schema.String.check(
  Schema.makeFilter((text) =>
    Result.match(KeyFormat.parse(text), { onFailure: () => false, onSuccess: ({ kind }) => kind === "management" })
  )
)

/** The settings of the upstream that an adapter has of its own, under the adapter's name. */
const ownUpstream = ({ credential, defaultBaseUrl, name, title }: AnyAdapter, variables: Variables) => ({
  apiKey: Setting.secret(`${name}-api-key`, {
    variable: variables.apiKey,
    schema: UpstreamHttp.ApiKey,
    allowed: ModelSettings.apiKeyAllowed,
    description:
      credential === "required"
        ? `API key of ${title}. Without it, only callers with a provider key can use its models`
        : `API key of ${title}, if it needs one`
  }),
  baseUrl: Setting.text(`${name}-base-url`, {
    variable: variables.baseUrl,
    schema: UpstreamHttp.BaseUrl,
    allowed: ModelSettings.baseUrlAllowed,
    default: defaultBaseUrl,
    description:
      defaultBaseUrl === undefined
        ? `URL of the API of ${title}. Without it, its models are not offered`
        : `URL of the API of ${title}`
  })
})

/** The settings of the adapters' own upstreams, by the names of the adapters. */
const ownUpstreams: Readonly<Record<string, ReturnType<typeof ownUpstream>>> = Object.fromEntries(
  adapters.flatMap((adapter) =>
    adapter.variables === undefined ? [] : [[adapter.name, ownUpstream(adapter, adapter.variables)]]
  )
)

/** The settings of an adapter's own upstream. Undefined if no adapter of this name has one. */
export const upstreamOf = (name: string): ReturnType<typeof ownUpstream> | undefined =>
  Object.hasOwn(ownUpstreams, name) ? ownUpstreams[name] : undefined

/** The declarations of the executable, under their keys in the settings file. */
export const declarations = Setting.prefixed(GatewayServerConfig.variablePrefix, {
  host: Setting.text("host", {
    allowed: "a host name or address",
    default: "127.0.0.1",
    description: "Address to listen on. 0.0.0.0 listens on all addresses of this machine"
  }),
  port: Setting.integer("port", {
    what: "a port",
    minimum: 0,
    maximum: 65_535,
    default: 8787,
    description: "Port to listen on. 0 chooses a free port"
  }),
  /** A server with a certificate speaks HTTPS and no HTTP. */
  tls: {
    cert: Setting.text("tls-cert", {
      allowed: "a PEM file",
      default: undefined,
      description:
        "Certificate with its chain, in PEM. The gateway then speaks HTTPS and no HTTP. Needs tls-key. Changed files are used within 20 seconds"
    }),
    key: Setting.text("tls-key", {
      allowed: "a PEM file",
      default: undefined,
      description: "Private key of tls-cert, in PEM, without a passphrase"
    })
  },
  /** The one setting that every command has as a flag. */
  dataDir: Setting.text("data-dir", {
    allowed: "a folder",
    default: ".data",
    description: "Folder of the database and the files. Created if it does not exist"
  }),
  catalog: Setting.text("catalog", {
    allowed: "a file, or built-in",
    default: undefined,
    description:
      "Catalog of models and prices, which `model-gateway models update` writes. `built-in` is that of the release. " +
      "Without it, catalog.json in the data folder if there is one, else the built-in one"
  }),
  databaseUrl: Setting.secret("database-url", {
    variable: "DATABASE_URL",
    schema: Database.Url,
    allowed: Database.urlAllowed,
    description:
      "URL of a Postgres database, which several processes can share. Without it, the database is SQLite in the data folder"
  }),
  databaseConnections: Setting.integer("database-connections", {
    // One of them holds the lock of the process.
    minimum: 3,
    maximum: 1000,
    default: 10,
    description: "Maximum number of connections of this process to Postgres"
  }),
  migrate: Setting.literals("migrate", ["auto", "never"], {
    default: "auto",
    description:
      "What happens if the database lacks migrations of this version. `auto` runs them at the start. `never` refuses to start: `model-gateway migrate` runs them"
  }),
  objectStoreUrl: ObjectStoreUrl.setting("object-store-url", {
    variable: "OBJECT_STORE_URL",
    description:
      "Object store for files and videos, which several machines share: s3://bucket/prefix?region=…&endpoint=…&pathStyle=true. " +
      "Without it, they are stored in the data folder"
  }),
  redisUrl: RedisUrl.setting("redis-url", {
    variable: "REDIS_URL",
    description:
      "Redis in which several processes count rate limits and circuits together. Without it, each process counts by itself"
  }),
  webDir: Setting.text("web-dir", {
    allowed: "an existing folder, playground, sample or none",
    default: "playground",
    description:
      "What is served at /. `playground` leads to /play, a page to try every model. `sample` is the page of the sample, `none` serves no page, and a folder is a page of your own"
  }),
  /** The console for operators. */
  console: {
    enabled: Setting.literals("console", ["auto", "on", "off"], {
      default: "auto",
      description:
        "Whether operators can sign in to the console, at /console. `auto` switches it on if the gateway listens on loopback only. It needs HTTPS, except at localhost"
    }),
    publicUrl: Setting.text("console-public-url", {
      schema: PublicUrl,
      allowed: "an http or https URL without a path, such as https://gateway.example",
      default: undefined,
      description:
        "URL of the gateway as browsers see it, for one-time links to the console and for OpenID Connect, which needs https except at localhost. Without it, links have http:// (https:// with tls-cert) and the host and port"
    }),
    /** Sign-in by a provider of identities. */
    oidc: {
      issuer: Setting.text("console-oidc-issuer", {
        schema: Issuer,
        allowed: "an https URL, or an http URL of this machine, such as https://login.example/realms/staff",
        default: undefined,
        description:
          "Provider of identities that people sign in to the console with, by OpenID Connect. Needs console-oidc-client-id and console-public-url. Its redirect URI is /console/session/openid-connect/callback below that URL"
      }),
      name: Setting.text("console-oidc-name", {
        schema: Schema.String.check(Schema.isPattern(/^\P{C}{1,64}$/u)),
        allowed: "a name of at most 64 characters",
        default: "OpenID Connect",
        description: "Name of the provider of identities, as the console shows it"
      }),
      clientId: Setting.text("console-oidc-client-id", {
        allowed: "a text",
        default: undefined,
        description: "Client that the gateway is at the provider of identities"
      }),
      clientSecret: Setting.secret("console-oidc-client-secret", {
        // A space or a line end in it was pasted by mistake.
        schema: Schema.Redacted(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/))),
        allowed: "a text of ASCII characters without spaces",
        description: "Secret of that client. Without it, the gateway is a public client"
      }),
      scopes: Setting.text("console-oidc-scopes", {
        schema: Schema.String.check(Schema.isPattern(/^openid( [\x21\x23-\x5b\x5d-\x7e]+)*$/)),
        allowed: "openid and further scopes, separated by spaces",
        default: "openid profile email",
        description: "Scopes that the gateway asks the provider of identities for"
      }),
      roleClaim: Setting.text("console-oidc-role-claim", {
        allowed: "the name of a claim",
        default: "role",
        description:
          "Claim with the role of a person: viewer, operator or admin. Of a list, the highest counts. A person without one of these cannot sign in. A dot leads into an object: realm_access.roles"
      }),
      workspacesClaim: Setting.text("console-oidc-workspaces-claim", {
        allowed: "the name of a claim",
        default: undefined,
        description:
          "Claim with slugs or ids of the workspaces that a viewer or operator is restricted to. With this setting, one without the claim cannot sign in. It is read from the ID token or, if it is not there, from the user information"
      })
    },
    /** Sign-in by a proxy that has authenticated the user. */
    proxy: {
      userHeader: Setting.text("console-proxy-user-header", {
        schema: HeaderName,
        allowed: "the name of a header, such as x-forwarded-user",
        default: undefined,
        description:
          "Header in which a proxy of trusted-proxies names the user, who can then sign in to the console without a key. The proxy must remove the header from requests of others"
      }),
      roleHeader: Setting.text("console-proxy-role-header", {
        schema: HeaderName,
        allowed: "the name of a header, such as x-forwarded-role",
        default: undefined,
        description:
          "Header in which that proxy names the role of the user: viewer, operator or admin. Without it, all users have console-proxy-role"
      }),
      role: Setting.literals("console-proxy-role", ["viewer", "operator", "admin"], {
        default: "viewer",
        description: "Role of the users of console-proxy-user-header"
      })
    }
  },
  /** Read by every command that may create the database. */
  initialCredits: Setting.number("initial-credits", {
    what: "a number of credits",
    minimum: 0,
    maximum: 1_000_000_000,
    default: 10,
    description: "Credits of the workspace that the first run creates. 1 credit is 1 USD"
  }),
  initialKeyTier: Setting.literals("initial-key-tier", ["paid", "free"], {
    default: "paid",
    description:
      "Tier of the ordinary key that the first run creates. A key of the free tier calls only models at a price of 0"
  }),
  firstKeys: Setting.literals("first-keys", ["auto", "stdout", "file", "both"], {
    default: "auto",
    description:
      "Where the keys of the first run go. `auto` prints them if standard output is a terminal, and else writes them to the file first-keys.env in the data folder, which only its owner can read. `both` writes the file in any case, and prints them to a terminal only. `stdout` prints them, also into a log; `file` never does"
  }),
  bootstrapManagementKey: Setting.secret("bootstrap-management-key", {
    schema: Schema.Redacted(ManagementKey),
    allowed: "a management key such as `model-gateway keys generate` prints (mg_mk_ and 38 letters and digits)",
    description:
      "The management key that the first run creates. Then it generates and prints none, and no ordinary key. On later runs it has no effect"
  }),
  /** The Model Context Protocol at /mcp. */
  mcp: {
    enabled: Setting.literals("mcp", ["off", "on"], {
      default: "off",
      description:
        "Whether agents can call the gateway at /mcp by the Model Context Protocol, with an ordinary key and within its limits"
    }),
    publicUrl: Setting.text("mcp-public-url", {
      schema: PublicUrl,
      allowed: "an http or https URL without a path, such as https://gateway.example",
      default: undefined,
      description:
        "URL of the gateway as its clients see it, which /mcp names in its metadata and in links to videos. Without it, http:// (https:// with tls-cert) and the Host header of the request"
    }),
    maxCredits: Setting.number("mcp-max-credits", {
      what: "a number of credits",
      minimum: 0,
      default: undefined,
      description:
        "Maximum credits that one session at /mcp may spend. A client can lower it. Without it, only the limits of its key apply"
    }),
    sessions: Setting.integer("mcp-sessions", {
      minimum: 1,
      default: 10_000,
      description:
        "Sessions at /mcp that one process keeps, 32 of each key. Beyond it, the one that is idle for longest ends"
    }),
    sessionIdle: Setting.duration("mcp-session-idle", {
      minimum: Duration.seconds(1),
      default: Duration.hours(1),
      description: "Time without a request after which a session at /mcp ends"
    }),
    bodyLimit: Setting.size("mcp-body-limit", {
      // As for a transcription in JSON: enough for 25 MiB of audio in base64.
      default: 36 * 1024 * 1024,
      description: "Maximum body size of a request to /mcp. All bodies in flight may have four times as much"
    })
  },
  responseMemory: Setting.size("response-memory", {
    default: undefined,
    description:
      "Memory for the answers of all providers in flight. A JSON answer counts four times its size, and one provider gets at most a quarter. " +
      "Answers beyond it wait within the time limit of their request. Without it, a quarter of the memory available to the process"
  }),
  workers: Setting.integer("workers", {
    minimum: 1,
    maximum: 64,
    default: 1,
    description:
      "Processes that serve requests on this machine, on one port and over the same stores. With 2 or more, one that ends is replaced, and SIGUSR2 restarts one after the other"
  }),
  shutdownTimeout: Setting.duration("shutdown-timeout", {
    minimum: Duration.zero,
    // Timers cannot wait for more than 24 days.
    maximum: Duration.days(1),
    default: Duration.seconds(30),
    description: "Time for requests in flight to finish after Ctrl-C or SIGTERM"
  }),
  shutdownDelay: Setting.duration("shutdown-delay", {
    minimum: Duration.zero,
    maximum: Duration.hours(1),
    default: Duration.zero,
    description:
      "Time after Ctrl-C or SIGTERM in which requests are still accepted while /readyz answers 503, so that a load balancer stops sending them. Then the shutdown timeout begins"
  }),
  logFormat: Setting.literals("log-format", ["pretty", "json"], {
    default: "pretty",
    description: "Format of the logs on stderr: pretty for people, json for programs"
  }),
  logLevel: Setting.literals("log-level", ["Trace", "Debug", "Info", "Warn", "Error", "None"], {
    default: "Info",
    description: "Minimum log level"
  }),
  /** The standard variables of OpenTelemetry. */
  traces: {
    endpoint: Setting.text("traces-endpoint", {
      variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
      schema: HttpUrl,
      allowed: "an http or https URL, such as http://127.0.0.1:4318",
      default: undefined,
      description:
        "OpenTelemetry collector that gets the spans of requests, at the path /v1/traces below this URL. Without it, there are no spans"
    }),
    headers: Setting.secret("traces-headers", {
      variable: "OTEL_EXPORTER_OTLP_HEADERS",
      schema: Schema.Redacted(Pairs),
      allowed: "pairs separated by commas, such as authorization=Bearer%20token",
      description: "Headers for the collector, with values in percent-encoding"
    }),
    protocol: Setting.literals("traces-protocol", ["http/protobuf", "http/json"], {
      variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
      default: "http/protobuf",
      description: "Form of the spans. A collector accepts both"
    }),
    serviceName: Setting.text("traces-service-name", {
      variable: "OTEL_SERVICE_NAME",
      allowed: "a name",
      default: "model-gateway",
      description: "Name of the service in its spans"
    }),
    resourceAttributes: Setting.text("traces-resource-attributes", {
      variable: "OTEL_RESOURCE_ATTRIBUTES",
      schema: Pairs,
      allowed: "pairs separated by commas, such as deployment.environment.name=production",
      default: undefined,
      description: "Attributes of the service in its spans, with values in percent-encoding"
    }),
    sampler: Setting.literals(
      "traces-sampler",
      [
        "parentbased_always_on",
        "parentbased_traceidratio",
        "parentbased_always_off",
        "always_on",
        "traceidratio",
        "always_off"
      ],
      {
        variable: "OTEL_TRACES_SAMPLER",
        default: "parentbased_always_on",
        description:
          "Which traces are sent. With `parentbased_…`, a trace that the caller began is sent exactly if the caller sends it. Choose another one if you do not trust callers"
      }
    ),
    samplerRatio: Setting.number("traces-sampler-ratio", {
      variable: "OTEL_TRACES_SAMPLER_ARG",
      minimum: 0,
      maximum: 1,
      default: 1,
      description: "Share of the traces that the sampler `traceidratio` sends"
    })
  },
  /** In the settings file they are a part of {@link ModelSettings}. */
  anthropicBaseUrl: Setting.text("anthropic-base-url", {
    variable: "ANTHROPIC_BASE_URL",
    schema: UpstreamHttp.BaseUrl,
    allowed: ModelSettings.baseUrlAllowed,
    default: AnthropicFiles.defaultBaseUrl,
    description: "URL of the API of Anthropic, for the files of callers with a provider key"
  }),
  upstreams: ownUpstreams
})

/** The settings of the executable. */
export interface Settings extends Setting.Values<typeof declarations> {}

/** Reads the settings of the executable. The service reads its own. */
export const config: Config.Config<Settings> = Setting.config(declarations)

/** Every setting, under its key in the settings file. */
export const all = { ...declarations, ...GatewayServerConfig.declarations } satisfies Setting.Group

const pages = fileURLToPath(new URL("../page", import.meta.url))

/** The folder of the sample's page, in the bundle. */
export const samplePage = join(pages, "sample")

/** The folder of the playground and the console, in the bundle. */
export const application = join(pages, "application")

/** Names the settings file; a flag of every command. */
export const configFlag = Flag.String("config").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription(
    `JSON file of settings, such as { "port": 9000, "videos": { "concurrency": 8 } } (${GatewayServerConfig.variablePrefix}CONFIG)`
  ),
  Flag.optional
)

const defaultOf = ({ defaultText }: Setting.Setting<unknown>): string =>
  defaultText === undefined ? "none" : String(defaultText)

/**
 * A flag for each setting that has one, and one for the file of each secret. Its value stays text:
 * {@link config} decodes it, whatever its source.
 */
export const flagsOf = (group: Setting.Group): Record<string, Flag.Flag<Option.Option<string>>> =>
  Object.fromEntries(
    Setting.entries(group).flatMap(({ setting }) => [
      ...(setting.hasFlag
        ? [
            flag(
              setting.name,
              "value",
              `${setting.description}${separated(setting)}. Default ${defaultOf(setting)} (${setting.variable})`
            )
          ]
        : []),
      ...(setting.isSecret
        ? [
            flag(
              Setting.fileFlagOf(setting),
              "file",
              `File with the value of ${setting.variable} (${Setting.fileVariableOf(setting)})`
            )
          ]
        : [])
    ])
  )

const flag = (name: string, metavar: string, description: string) =>
  [name, Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)] as const

const separated = ({ isList }: Setting.Setting<unknown>): string => (isList ? ". Separated by commas" : "")

/** The JSON Schema of the settings file. A file may name it in `$schema`. */
export const jsonSchema = (): JsonSchema.JsonSchema => {
  const { properties, ...schema } = Setting.jsonSchema(all)
  return {
    $schema: JsonSchema.META_SCHEMA_URI_DRAFT_07,
    title: "Settings of Model Gateway",
    ...schema,
    properties: {
      $schema: { type: "string", description: "The location of this schema" },
      ...properties,
      ...ModelSettings.jsonSchema()
    }
  }
}

const code = (names: ReadonlyArray<string>): string => names.map((name) => `\`${name}\``).join(", ")

/** The table in Markdown, as the documentation shows it. */
export const markdown = (): string =>
  [
    "| Flag | Key in a file | Environment | Default | Allowed | Meaning |",
    "|---|---|---|---|---|---|",
    ...Setting.entries(all).map(({ path, setting }) => {
      const flags = [
        ...(setting.hasFlag ? [setting.name] : []),
        ...(setting.isSecret ? [Setting.fileFlagOf(setting)] : [])
      ]
      const variables = [setting.variable, ...(setting.isSecret ? [Setting.fileVariableOf(setting)] : [])]
      const fallback = setting.defaultText === undefined ? "none" : `\`${setting.defaultText}\``
      return `| ${code(flags.map((name) => `--${name}`))} | \`${path.join(".")}\` | ${code(variables)} | ${fallback} | ${setting.allowed} | ${setting.description} |`
    })
  ].join("\n") + "\n"
