/**
 * The whole service on its own port, over a temporary folder, and a client that sends plain HTTP.
 */
import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import type { Offers } from "@model-gateway/offers/Offer"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { Context, Effect, Layer, Metric, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http"
import type { FileApis } from "../src/objects/FileProviders.ts"
import * as Composition from "../src/Composition.ts"
import * as GatewayServerConfig from "../src/GatewayServerConfig.ts"
import { WorkspaceStore, type Workspace } from "../src/access/WorkspaceStore.ts"
import { create, kind, temporaryFolder } from "./TestStorage.ts"

/** A response. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

/** Options of a request. */
export interface Ask {
  readonly method?: string
  /** Default: the ordinary key. Null: none. */
  readonly key?: string | null
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array | undefined
}

/** A running gateway. */
export class TestGateway extends Context.Service<
  TestGateway,
  {
    readonly folder: string
    /** The location of the database, for another process. */
    readonly database: string
    readonly port: number
    readonly workspace: Workspace
    readonly ordinaryKey: string
    readonly managementKey: string
    /** Sends the path unchanged. */
    readonly ask: (path: string, ask?: Ask) => Effect.Effect<Answer>
  }
>()("test/TestGateway") {}

const send = (port: number, path: string, { body, headers, method }: Ask) =>
  Effect.callback<Answer>((resume) => {
    const request = httpRequest(
      { host: "127.0.0.1", port, path, method: method ?? "GET", headers: headers ?? {}, agent: false },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", (error) => resume(Effect.die(error)))
        response.on("end", () => {
          const bytes = Buffer.concat(chunks)
          const { headers, statusCode } = response
          resume(Effect.succeed({ status: statusCode ?? 0, headers, bytes, text: bytes.toString() }))
        })
      }
    )
    request.on("error", (error) => resume(Effect.die(error)))
    request.end(body)
    return Effect.sync(() => request.destroy())
  })

/** The service over `folder`. Default: the sandbox's models, and Node's services. */
export const layerAt = (
  folder: string,
  options?: GatewayServerConfig.Options,
  offers?: ReadonlyArray<Offers>,
  services: typeof NodeServices.layer = NodeServices.layer,
  busyTimeout?: number,
  fileProviders?: FileApis,
  objectStoreUrl?: string,
  databaseUrl?: Redacted.Redacted,
  console?: Composition.Options["console"]
) =>
  Layer.effect(
    TestGateway,
    Effect.gen(function* () {
      const made = yield* (yield* WorkspaceStore).bootstrap()
      if (made === null) return yield* Effect.die(new Error("this folder was used before"))
      const { address } = yield* HttpServer.HttpServer
      if (address._tag !== "InetAddressV4") return yield* Effect.die(new Error("no port"))
      const ordinaryKey = Redacted.value(made.ordinaryKey)
      return TestGateway.of({
        folder,
        database: databaseUrl === undefined ? `${folder}/${Composition.databaseFile}` : Redacted.value(databaseUrl),
        port: address.port,
        workspace: made.workspace,
        ordinaryKey,
        managementKey: Redacted.value(made.managementKey),
        ask: (path, ask) => {
          const key = ask?.key === undefined ? ordinaryKey : ask.key
          return send(address.port, path, {
            ...ask,
            headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...ask?.headers }
          })
        }
      })
    })
  ).pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(offers === undefined ? Sandbox.make() : Effect.succeed(offers.flat()), (offers) =>
          Composition.layer({
            dataDir: folder,
            databaseUrl,
            offers,
            busyTimeout,
            fileProviders,
            objectStoreUrl,
            console
          })
        )
      )
    ),
    Layer.provideMerge(services),
    Layer.provideMerge(
      NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "2 seconds" })
    ),
    Layer.provideMerge(NodeServices.layer),
    // Many tests fail requests on purpose.
    Layer.provide(GatewayServerConfig.layer({ accessLog: "none", ...options })),
    // By default, all gateways of a process count into one registry.
    Layer.provide(Layer.sync(Metric.MetricRegistry, () => new Map())),
    Layer.fresh
  )

/** The service over a temporary folder, and over a new Postgres if this run is for it. */
export const layer = (
  options?: GatewayServerConfig.Options,
  offers?: ReadonlyArray<Offers>,
  fileProviders?: FileApis,
  console?: Composition.Options["console"]
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const url = kind === "postgres" ? Redacted.make(yield* create) : undefined
      return layerAt(folder, options, offers, undefined, undefined, fileProviders, undefined, url, console)
    })
  )

/** A part of a form: a plain field, or a file when it has a filename. */
export interface Part {
  readonly name: string
  readonly filename?: string
  readonly type?: string
  readonly value: string | Uint8Array
}

const boundary = "----test-boundary-7d3f"

/** The header that goes with {@link form}. */
export const formHeaders = { "content-type": `multipart/form-data; boundary=${boundary}` }

/** The parts as `multipart/form-data`. */
export const form = (...parts: ReadonlyArray<Part>): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ filename, name, type, value }) => [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}\r\n` +
          `${type === undefined ? "" : `content-type: ${type}\r\n`}\r\n`
      ),
      Buffer.from(value),
      Buffer.from("\r\n")
    ]),
    Buffer.from(`--${boundary}--\r\n`)
  ])
