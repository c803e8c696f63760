/**
 * The Model Context Protocol at /mcp, in front of the service: an HTTP server that answers /mcp and
 * its metadata, and passes all other requests on. Loaded only if it is switched on.
 *
 * The tools call the service in this process with the key of the request. What this module does for
 * a request is what the service cannot do: it checks the origin and the body before the protocol
 * reads them, and knows which session a request belongs to.
 */
import { Gateway, type GatewayClient, GatewayConfig, RetryPolicy } from "@model-gateway/core"
import { ofPreset } from "@model-gateway/core/WireNames"
import * as GatewayTools from "@model-gateway/mcp/GatewayTools"
import * as Session from "@model-gateway/mcp/Session"
import { GatewayServerConfig } from "@model-gateway/server/GatewayServerConfig"
import { Lifecycle } from "@model-gateway/server/Lifecycle"
import { ByteSize, Clock, Context, Effect, Layer, Option, Redacted, type Scope } from "effect"
import * as McpServer from "effect/ai/McpServer"
import {
  HttpClient,
  HttpEffect,
  HttpIncomingMessage,
  HttpRouter,
  HttpServer,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { createHash } from "node:crypto"
import { version } from "../Version.ts"
import type * as Settings from "../Settings.ts"
import * as InProcess from "../InProcess.ts"
import * as Metadata from "./Metadata.ts"
import * as Sessions from "./Sessions.ts"

/** The settings of the endpoint. */
export type Options = Settings.Settings["mcp"] & Pick<Metadata.Location, "isSecure">

type Response = HttpServerResponse.HttpServerResponse

const sessionHeader = "mcp-session-id"

/** A client may lower what its session may spend. */
const maxCreditsHeader = "model-gateway-max-credits"

/** Where the client of the service believes that it is. Nothing is sent there. */
const inProcessOrigin = "http://gateway.invalid"

/** Request headers that a page of a listed origin may send. */
const pageHeaders = [
  "authorization",
  "content-type",
  "accept",
  sessionHeader,
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  maxCreditsHeader
].join(", ")

const refuse = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response =>
  HttpServerResponse.jsonUnsafe({ error: { code: status, message } }, { status, headers })

const busy = (message: string): Response => refuse(503, message, { "retry-after": "1" })

/** The bearer token of the `Authorization` header. Undefined: the header is missing or malformed. */
const keyOf = ({ headers }: HttpServerRequest.HttpServerRequest): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers["authorization"] ?? "")?.[1]

/** The length that a request announces. Undefined: it does not say. */
const lengthOf = ({ headers }: HttpServerRequest.HttpServerRequest): number | undefined => {
  const length = headers["content-length"]
  return length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined
}

const make = Effect.fnUntraced(function* (app: InProcess.App, options: Options) {
  const context = yield* Effect.context<never>()
  const { basePath = "", corsOrigins, wireNames } = yield* GatewayServerConfig
  const location: Metadata.Location = { ...options, basePath }
  const endpoint = `${basePath}${Metadata.endpoint}`
  const metadata = Metadata.pathsOf(basePath)
  const lifecycle = Context.getOption(context, Lifecycle)
  const isStopping = () => Option.exists(lifecycle, (each) => each.isStopping)
  const origins = new Set<string>(corsOrigins)

  const protocol = yield* HttpRouter.toHttpEffect(
    McpServer.layerHttp({
      name: "model-gateway",
      version,
      instructions: GatewayTools.instructions,
      path: Metadata.endpoint,
      protocols: GatewayTools.protocols,
      allowedOrigins: corsOrigins,
      allowSessionTermination: true,
      // The lists of tools and resources never change.
      allowSubscriptions: false,
      registrations: GatewayTools.layerWith({
        session: Effect.flatMap(
          Effect.serviceOption(Session.Session),
          Option.match({ onNone: () => Effect.die("a request without a session"), onSome: Effect.succeed })
        )
      })
    })
  )

  /** Ends a session as its client would, which is the only way that the protocol has. */
  const end = (id: string) =>
    protocol.pipe(
      Effect.provideService(
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(
          new Request(`http://gateway.invalid${Metadata.endpoint}`, {
            method: "DELETE",
            headers: { [sessionHeader]: id }
          })
        )
      ),
      Effect.scoped,
      Effect.ignore
    )
  const sessions = Sessions.make(options, end)

  /** The client of a key. It does not retry, because the agent gets the error and can retry. */
  const clientOf = (key: string, request: HttpServerRequest.HttpServerRequest) =>
    Layer.build(
      Layer.fresh(Gateway.layer).pipe(
        Layer.provide([
          Layer.succeed(HttpClient.HttpClient, InProcess.makeClient(app, context, InProcess.peerOf(request))),
          Layer.succeed(
            GatewayConfig.GatewayConfig,
            GatewayConfig.make({
              baseUrl: `${inProcessOrigin}${basePath}/api/v1`,
              credential: Redacted.make(key),
              retryPolicy: RetryPolicy.none,
              wireNames: ofPreset(wireNames)
            })
          )
        ])
      )
    )

  /** Who sends the request, or the response that refuses it. */
  const authenticate = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, url: string) {
    const unauthorized = (message: string) =>
      Effect.fail(refuse(401, message, { "www-authenticate": Metadata.challenge(url) }))
    const key = keyOf(request)
    if (key === undefined) {
      return yield* unauthorized('missing authentication header: expected "Authorization: Bearer <API_KEY>"')
    }
    const client = yield* clientOf(key, request)
    const record = yield* Context.get(client, Gateway.Gateway).currentKey.pipe(
      Effect.catchTag("Unauthorized", ({ error }) => unauthorized(error.message)),
      Effect.catchTags({
        InternalServerError: () => Effect.fail(busy("the key cannot be checked now")),
        InvalidResponse: () => Effect.fail(busy("the key cannot be checked now")),
        TimeoutError: () => Effect.fail(busy("the key cannot be checked now")),
        TransportError: () => Effect.fail(busy("the key cannot be checked now"))
      })
    )
    if (record.is_management_key) {
      return yield* Effect.fail(refuse(403, "a management key must not be given to an agent. Use an ordinary key."))
    }
    return { client, keyHash: createHash("sha256").update(key).digest("hex") }
  })

  /** Bytes of the bodies in flight. */
  let bodies = 0

  /** Reads the body within the limits, or returns the response that refuses it. */
  const readBody = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const length = lengthOf(request) ?? options.bodyLimit
    if (length > options.bodyLimit) {
      return yield* Effect.fail(refuse(413, `the body has more than ${options.bodyLimit} bytes`))
    }
    if (bodies + length > 4 * options.bodyLimit) return yield* Effect.fail(busy("too many requests with large bodies"))
    bodies += length
    yield* Effect.addFinalizer(() => Effect.sync(() => void (bodies -= length)))
    // The protocol gets the same text: the request keeps it.
    return yield* Effect.mapError(request.text, () =>
      refuse(413, `the body cannot be read, or has more than ${options.bodyLimit} bytes`)
    )
  })

  /** The limit of a session: the lower one of the setting and what its client asks for. */
  const limitOf = Effect.fnUntraced(function* ({ headers }: HttpServerRequest.HttpServerRequest) {
    const asked = headers[maxCreditsHeader]
    if (asked === undefined) return options.maxCredits
    if (!/^\d{1,10}(?:\.\d{1,6})?$/.test(asked)) {
      return yield* Effect.fail(
        refuse(400, "Model-Gateway-Max-Credits must be a number of credits with at most six decimals, such as 0.5")
      )
    }
    return Math.min(Number(asked), options.maxCredits ?? Number.POSITIVE_INFINITY)
  })

  const entryOf = (
    client: Context.Context<Gateway.Gateway | GatewayClient.GatewayClient>,
    keyHash: string,
    url: string,
    maxCredits: number | undefined,
    hasId: boolean
  ) =>
    Effect.map(Clock.currentTimeMillis, (lastUsed): Sessions.Entry => ({
      keyHash,
      hasId,
      // A stop of the gateway is no reason to end a video that another process can finish.
      session: Session.make(client, { maxCredits, baseUrl: `${url}/api/v1`, keepsJobs: isStopping }),
      running: 0,
      lastUsed
    }))

  /** The session of a request, or the response that refuses it. */
  const sessionOf = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, url: string) {
    const { client, keyHash } = yield* authenticate(request, url)
    const id = request.headers[sessionHeader]
    if (id !== undefined) {
      const found = sessions.find(id, keyHash)
      if (found === undefined) return yield* Effect.fail(refuse(404, "no such session: begin another one"))
      return { id, entry: found, isNew: false }
    }
    const maxCredits = yield* limitOf(request)
    const shared = `${keyHash} ${maxCredits ?? ""}`
    const isModern = request.headers["mcp-protocol-version"] === GatewayTools.protocols[0].protocolVersion
    const entry =
      (isModern ? sessions.find(shared, keyHash) : undefined) ??
      (yield* entryOf(client, keyHash, url, maxCredits, !isModern))
    return { id: shared, entry, isNew: true }
  })

  const answer = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, url: string) {
    const { entry, id, isNew } = yield* sessionOf(request, url)
    if (isNew && !entry.hasId && sessions.find(id, entry.keyHash) === undefined) {
      if (!(yield* sessions.add(id, entry))) return busy("too many sessions have requests in progress")
    }
    if (!(yield* sessions.use(id, entry))) return refuse(429, "too many requests of this key are in progress")
    if (request.method === "POST") yield* readBody(request)
    const response = yield* Effect.provideService(protocol, Session.Session, entry.session)
    if (request.method === "DELETE" && !isNew) yield* sessions.remove(id)
    if (!isNew || !entry.hasId) return response
    // Of a request that begins a session, the protocol adds the id at the end.
    yield* HttpEffect.appendPreResponseHandler((_, final) => {
      const begun = final.headers[sessionHeader]
      return begun === undefined
        ? Effect.succeed(final)
        : Effect.flatMap(sessions.add(begun, entry), (isAdded) =>
            isAdded
              ? Effect.succeed(final)
              : Effect.as(end(begun), busy("too many sessions of this key have requests in progress"))
          )
    })
    return response
  })

  const headersOf = (request: HttpServerRequest.HttpServerRequest): Readonly<Record<string, string>> => {
    const page = request.headers["origin"]
    return {
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(isStopping() ? { connection: "close" } : {}),
      ...(page !== undefined && origins.has(page)
        ? {
            "access-control-allow-origin": page,
            "access-control-expose-headers": `${sessionHeader}, mcp-protocol-version, www-authenticate`,
            vary: "Origin"
          }
        : {})
    }
  }

  const respond = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Response, unknown, Scope.Scope> => {
    const page = request.headers["origin"]
    // A page that guesses the address of a gateway on its reader's machine.
    if (page !== undefined && !origins.has(page)) return Effect.succeed(refuse(403, "this origin is not allowed"))
    if (request.method === "OPTIONS") {
      return Effect.succeed(
        HttpServerResponse.empty({
          status: 204,
          headers: {
            allow: "POST, DELETE",
            "access-control-allow-methods": "POST, DELETE",
            "access-control-allow-headers": pageHeaders
          }
        })
      )
    }
    if (request.method !== "POST" && request.method !== "DELETE") {
      return Effect.succeed(refuse(405, "this path supports POST and DELETE", { allow: "POST, DELETE" }))
    }
    return answer(request, Metadata.urlOf(location, request.headers["host"])).pipe(
      Effect.catchIf(HttpServerResponse.isHttpServerResponse, Effect.succeed),
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(options.bodyLimit))
    )
  }

  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const path = request.url.split("?", 1)[0] ?? ""
    if (path === endpoint) {
      const below = request.modify({ url: request.url.slice(basePath.length) })
      return Effect.map(respond(below), HttpServerResponse.setHeaders(headersOf(request)))
    }
    if (metadata.has(path) && request.method === "GET") {
      const url = Metadata.urlOf(location, request.headers["host"])
      return Effect.succeed(HttpServerResponse.setHeaders(Metadata.respond(url), headersOf(request)))
    }
    return app
  })
})

/** The HTTP server in the context, with /mcp in front of what it serves. */
export const layer = (options: Options): Layer.Layer<HttpServer.HttpServer, never, HttpServer.HttpServer> =>
  Layer.effect(
    HttpServer.HttpServer,
    Effect.map(HttpServer.HttpServer, (server) =>
      HttpServer.make({
        address: server.address,
        serve: (app, middleware) =>
          Effect.flatMap(Effect.orDie(make(app, options)), (served) =>
            middleware === undefined ? server.serve(served) : server.serve(served, middleware)
          )
      })
    )
  )
