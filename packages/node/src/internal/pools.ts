/**
 * The connection pools of a client: for short calls and for long polls, directly or by a proxy.
 * Decision 7 says what is gained over Effect's client.
 */
import type * as Undici from "@effect/platform-node/Undici"
import { Config, Data, Effect, Redacted, type Scope } from "effect"

/** The options of both pools. */
export interface Options {
  readonly connections: number
  readonly longPollConnections: number
  readonly keepAliveTimeout: number
  readonly proxy: "environment" | "none"
  readonly agent: Undici.Agent.Options | undefined
}

export interface Pools {
  readonly short: Undici.Dispatcher
  readonly longPolls: Undici.Dispatcher
}

/** The URLs of the proxies, which may contain passwords. An empty text: none. */
interface Proxies {
  readonly httpProxy: string
  readonly httpsProxy: string
  readonly noProxy: string
}

/**
 * A variable of the environment does not name a proxy. The message never quotes its value, which
 * may contain a password.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidProxy extends Data.TaggedError("InvalidProxy")<{
  /** The name of the variable, such as `HTTP_PROXY`. */
  readonly variable: string
  /** Why the variable cannot be read, if that is the reason. */
  readonly cause?: Config.ConfigError
}> {
  override get message(): string {
    return this.cause === undefined
      ? `${this.variable} must be the URL of a proxy, such as http://proxy.example:3128`
      : `${this.variable} cannot be read: ${this.cause.message}`
  }
}

/** The first of the two variables that is set, with its name. An empty text: none. */
const variableOf = (
  variable: string
): Effect.Effect<{ readonly name: string; readonly text: string }, InvalidProxy> => {
  const read = (name: string) =>
    Config.map(Config.Redacted(name), (secret) => ({ name, text: Redacted.value(secret).trim() }))
  const found = Config.withDefault(
    Config.orElse(read(variable.toLowerCase()), () => read(variable)),
    { name: variable, text: "" }
  )
  return Effect.mapError(found, (cause) => new InvalidProxy({ variable, cause }))
}

const proxyUrl = (variable: string): Effect.Effect<string, InvalidProxy> =>
  Effect.flatMap(variableOf(variable), ({ name, text }) => {
    // As curl accepts it.
    const url = text === "" || text.includes("://") ? text : `http://${text}`
    const isValid = url === "" || (URL.canParse(url) && /^https?:/i.test(url))
    return isValid ? Effect.succeed(url) : Effect.fail(new InvalidProxy({ variable: name }))
  })

const proxies: Effect.Effect<Proxies, InvalidProxy> = Effect.all({
  httpProxy: proxyUrl("HTTP_PROXY"),
  httpsProxy: proxyUrl("HTTPS_PROXY"),
  // A proxy elsewhere cannot reach this machine.
  noProxy: Effect.map(variableOf("NO_PROXY"), ({ text }) => `${text},localhost,127.0.0.1,::1`)
})

const agentOf = (undici: typeof Undici, options: Undici.Agent.Options, proxies: Proxies | undefined) => {
  if (proxies === undefined || proxies.httpProxy + proxies.httpsProxy === "") return new undici.Agent(options)
  return new undici.EnvHttpProxyAgent({
    // Without it, a proxy without a tunnel would get the default pool.
    factory: (origin, given) => new undici.Pool(origin, Object.assign({}, options, given)),
    ...options,
    ...proxies,
    // For the gateway's certificate. The connection itself is the proxy's.
    ...(typeof options.connect === "object" ? { requestTls: options.connect } : undefined)
  })
}

/** Whether the options say where to connect: with a function, or with the path of a socket. */
const connectsItself = (agent: Undici.Agent.Options | undefined): boolean =>
  typeof agent?.connect === "function" || typeof agent?.connect?.socketPath === "string"

/** Opens the pools. They are closed with the scope. */
export const make = Effect.fnUntraced(function* ({
  agent,
  connections,
  keepAliveTimeout,
  longPollConnections,
  proxy
}: Options): Effect.fn.Return<Pools, InvalidProxy, Scope.Scope> {
  const undici = yield* Effect.promise(() => import("@effect/platform-node/Undici"))
  const found = proxy === "none" || connectsItself(agent) ? undefined : yield* proxies
  const open = (connections: number) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        agentOf(
          undici,
          // With more pipelining, requests on one connection wait for each other: a rerank for a
          // transcription.
          { connections, keepAliveTimeout, pipelining: 1, ...agent },
          found
        )
      ),
      (dispatcher) => Effect.promise(() => dispatcher.destroy())
    )
  return { short: yield* open(connections), longPolls: yield* open(longPollConnections) }
})
