/** `model-gateway serve`: runs the whole service. */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { ofPreset } from "@model-gateway/core/WireNames"
import { processLimit } from "@model-gateway/offers/ResponseMemory"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as Setting from "@model-gateway/settings/Setting"
import * as JsonLog from "@model-gateway/server/JsonLog"
import * as LogEvent from "@model-gateway/server/LogEvent"
import { Lifecycle } from "@model-gateway/server/Lifecycle"
import {
  type Context,
  Duration,
  Effect,
  type FileSystem,
  identity,
  Layer,
  Logger,
  type Path,
  type Queue,
  Redacted,
  Ref,
  References
} from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import type { ServeError } from "effect/http/HttpServerError"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { getHeapStatistics } from "node:v8"
import * as Announce from "../Announce.ts"
import * as Catalog from "../Catalog.ts"
import * as ConsoleAddress from "../ConsoleAddress.ts"
import * as ConsoleSettings from "../ConsoleSettings.ts"
import * as Connections from "../Connections.ts"
import { Crash } from "../Crash.ts"
import * as Database from "../Database.ts"
import * as DataFolder from "../DataFolder.ts"
import * as EffectiveSettings from "../EffectiveSettings.ts"
import { Failure } from "../Failure.ts"
import * as FirstKeys from "../FirstKeys.ts"
import * as LoadSettings from "../LoadSettings.ts"
import * as Memory from "../Memory.ts"
import { Offered } from "../Offered.ts"
import * as Settings from "../Settings.ts"
import { ProcessLog } from "../ProcessLog.ts"
import * as SettingsReload from "../SettingsReload.ts"
import * as Signals from "../Signals.ts"
import * as Tls from "../Tls.ts"
import { version } from "../Version.ts"
import * as Worker from "../Worker.ts"

/**
 * Imported when it runs: without it the other commands, help and error messages start twice as
 * fast.
 */
const layerService = Effect.fnUntraced(function* (
  loaded: LoadSettings.Loaded,
  applied: Ref.Ref<LoadSettings.Loaded>,
  settings: LoadSettings.Ready,
  connections: Connections.Connections,
  basePath: string | undefined
) {
  const [GatewayServer, UploadFolder, Offers, NodeHttpServer] = yield* Effect.promise(() =>
    Promise.all([
      import("@model-gateway/server/GatewayServer"),
      import("@model-gateway/server/UploadFolder"),
      import("../Offers.ts"),
      import("@effect/platform-node/NodeHttpServer")
    ])
  )
  // Most gateways have it switched off.
  const Mcp = settings.mcp.enabled === "on" ? yield* Effect.promise(() => import("../mcp/Endpoint.ts")) : undefined
  const {
    databaseConnections,
    databaseUrl,
    dataDir,
    host,
    migrate,
    objectStoreUrl,
    port,
    redisUrl,
    shutdownTimeout,
    web,
    workers
  } = settings
  const httpServer = NodeHttpServer.layer(() => connections.server, {
    host,
    port,
    gracefulShutdownTimeout: shutdownTimeout
  })
  return Layer.unwrap(
    Effect.map(Offered, ({ fileProviders, makeVideoOffer, offers }) =>
      GatewayServer.layer({
        databaseConnections,
        databaseUrl,
        dataDir,
        fileProviders,
        makeVideoOffer,
        migrate,
        objectStoreUrl,
        offers,
        redisUrl,
        application: { dir: Settings.application, hasPlayground: web === "playground" },
        console: ConsoleSettings.optionsOf(settings, basePath),
        web: typeof web === "string" ? undefined : { dir: web.page },
        settings: Effect.map(Ref.get(applied), (latest) => EffectiveSettings.of(loaded, latest)),
        version,
        worker: Worker.number,
        workers,
        metricsPage: Worker.number === undefined ? undefined : Worker.allMetrics
      })
    )
  ).pipe(
    Layer.provideMerge(Offers.layer(loaded, settings, UploadFolder.layer(resolve(dataDir, "uploads")))),
    Layer.provideMerge(
      (Mcp === undefined
        ? httpServer
        : Layer.provideMerge(Mcp.layer({ ...settings.mcp, isSecure: settings.tls !== undefined }), httpServer)
      ).pipe(
        Layer.catchTag("ServeError", (error) => Layer.effectContext(Effect.fail(refused(error, host, port)))),
        // Responses of interrupted requests are sent before the process ends.
        Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.promise(connections.closed))))
      )
    )
  )
})

const refused = ({ cause }: ServeError, host: string, port: number): Failure => {
  const code = ErrorCode.of(cause)
  switch (code) {
    case "EADDRINUSE":
      return new Failure({
        message: `Port ${port} on ${host} is in use by another program. Choose another port with --port.`
      })
    case "EACCES":
      return new Failure({
        message: `Port ${port} on ${host} is not allowed for this user. Choose a port above 1023 with --port.`
      })
    case "EADDRNOTAVAIL":
    case "EINVAL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new Failure({ message: `${host} is not an address of this machine. Choose another with --host.` })
    default:
      return new Failure({ message: `The gateway cannot listen on ${host}, port ${port} (${String(code ?? cause)}).` })
  }
}

/** Logs go to stderr, so that stdout has only what a person or a script waits for. */
const layerLogs = ({ logFormat, logLevel }: LoadSettings.Ready) =>
  Layer.mergeAll(
    Logger.layer([logFormat === "json" ? JsonLog.logger : Logger.consolePretty()]),
    Layer.succeed(Logger.LogToStderr, true),
    Layer.succeed(Announce.LogFormat, logFormat),
    Layer.succeed(References.MinimumLogLevel, logLevel)
  )

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`

/** Memory, and the time since the start. */
const condition = (): string => {
  const { external, heapUsed, rss } = process.memoryUsage()
  const heap = `${mebibytes(heapUsed)} of ${mebibytes(getHeapStatistics().heap_size_limit)} of its heap`
  const uptime = Duration.format(Duration.seconds(Math.round(process.uptime())))
  return `${mebibytes(rss)} of memory, ${heap}, ${mebibytes(external)} outside of it, up for ${uptime}`
}

/** Reports how earlier runs ended, and records how this one ends. */
const layerRunRecord = Effect.fnUntraced(function* (
  { dataDir }: LoadSettings.Ready,
  connections: Connections.Connections,
  basePath: string | undefined
) {
  const [InProgress, RunRecord] = yield* Effect.promise(() =>
    Promise.all([import("@model-gateway/server/InProgress"), import("../RunRecord.ts")])
  )
  return Layer.effectDiscard(
    Effect.contextWith((context: Context.Context<never>) =>
      RunRecord.make({
        dataDir,
        doing: () => `${InProgress.describe(connections.openRequests(), context, basePath)}, ${condition()}`
      })
    )
  )
})

/** The URL of the gateway on this machine. */
/** The pages that are served, as the first line of the output names them. */
const pagesOf = ({ hasConsole, web }: LoadSettings.Ready, basePath: string | undefined) => {
  const page =
    typeof web === "string"
      ? []
      : [{ what: "web page", path: basePath === undefined ? "" : "/", file: join(web.page, "index.html") }]
  const playground =
    web === "playground" ? [{ what: "playground", path: "/play", file: join(Settings.application, "play.html") }] : []
  const console = hasConsole
    ? [{ what: "console", path: "/console", file: join(Settings.application, "console/index.html") }]
    : []
  return [...page, ...playground, ...console].filter(({ file }) => existsSync(file))
}

/** Where rate limits and circuits are counted. Never shows the user and the password of the URL. */
const counterLocation = ({ redisUrl }: LoadSettings.Ready): string => {
  if (redisUrl === undefined) return "Rate limits and circuits are counted per process."
  const { hostname, port } = new URL(Redacted.value(redisUrl))
  return `Rate limits and circuits are counted in Redis at ${hostname}:${port === "" ? 6379 : port}.`
}

/** Time for the parts of the service to close after the last response. */
const closing = Duration.seconds(15)

/**
 * Runs between the signal and the closing of the service's layers, which interrupts the requests
 * that are still in progress.
 */
const stopping = Effect.fnUntraced(function* (
  crash: Crash["Service"],
  { shutdownDelay, shutdownTimeout }: LoadSettings.Ready,
  connections: Connections.Connections,
  lifecycle: Lifecycle["Service"]
) {
  const accepts = Duration.isZero(shutdownDelay)
    ? ""
    : ` New requests are accepted for ${Setting.formatDuration(shutdownDelay)}.`
  if (Worker.number === undefined) {
    yield* Announce.say(
      "stopping",
      `Stopping.${accepts} Requests in flight have ${Setting.formatDuration(shutdownTimeout)} to finish. Press Ctrl-C again to stop at once.`
    )
  }
  if (!Duration.isZero(shutdownDelay)) {
    yield* lifecycle.stop
    yield* Effect.sleep(shutdownDelay)
  }
  // A database that hangs must not keep the process: what it owns is released as after a crash.
  setTimeout(
    () => crash.end("a part that it could not close in time. Another process releases what it owned", 1),
    Duration.toMillis(Duration.sum(shutdownTimeout, closing))
  ).unref()
  yield* Effect.promise(connections.stopListening)
  // Not before: each response then closes its connection, and its client would open another one.
  yield* lifecycle.stop
  yield* Effect.promise(() => connections.drain(Duration.toMillis(shutdownTimeout)))
})

const running = Effect.fnUntraced(function* (
  { applied, load, loaded, reloads, settings }: Started,
  connections: Connections.Connections,
  basePath: string | undefined,
  certificate: Tls.Reloader | undefined
) {
  const { address } = yield* HttpServer.HttpServer
  connections.begin()
  const port = "port" in address ? address.port : settings.port
  const base = ConsoleAddress.localUrl(settings, port, basePath)
  const pages = pagesOf(settings, basePath).map(({ path, what }) => `, ${what} at ${base}${path}`)
  const crash = yield* Crash
  const lifecycle = yield* Lifecycle
  const { databaseUrl, dataDir } = settings
  const data = databaseUrl === undefined ? dataDir : `${dataDir} and ${Database.nameOf(databaseUrl)}`
  return yield* Effect.gen(function* () {
    const banner = [`Model gateway at ${base}/api/v1 (data in ${data}${pages.join("")}, API reference at ${base}/docs)`]
    if (settings.mcp.enabled === "on") banner.push(`Model Context Protocol at ${base}/mcp`)
    if (settings.objectStoreUrl !== undefined) {
      banner.push(`Files and videos are stored in ${settings.objectStoreUrl.split("?")[0]}.`)
    }
    banner.push(Catalog.summary(yield* Offered), counterLocation(settings))
    if (Worker.number === undefined) yield* Announce.say("started", banner.join("\n"))
    // Created once the port is open: a run that cannot listen must not create keys that nobody
    // sees.
    yield* FirstKeys.create(loaded, settings, { base, console: ConsoleAddress.publicUrl(settings, port, basePath) })
    Worker.ready(banner.join("\n"))
    Memory.releaseAfterStart(() => [...connections.openRequests()].length > 0)
    yield* SettingsReload.onSignal({ load, started: loaded, applied, certificate, signals: reloads })
    return yield* certificate === undefined ? Effect.never : certificate.watch
  }).pipe(
    Effect.scoped,
    Effect.onInterrupt(() => stopping(crash, settings, connections, lifecycle))
  )
})

/** Runs the workers, which run this command, too. */
const workers = Effect.fnUntraced(function* ({ mcp, shutdownDelay, shutdownTimeout, workers }: LoadSettings.Ready) {
  const Workers = yield* Effect.promise(() => import("../Workers.ts"))
  if (mcp.enabled === "on") {
    yield* LogEvent.log(
      "mcp_needs_one_worker",
      "A session at /mcp is known to one worker only. Clients of the protocol before its revision 2026-07-28 need --workers 1."
    )
  }
  const drained = Duration.sum(shutdownDelay, shutdownTimeout)
  yield* Workers.run({ count: workers, stopTimeout: Duration.sum(drained, Duration.sum(closing, closing)) })
})

const logFormatConfig = Setting.config({ logFormat: Settings.declarations.logFormat })

/** The settings of this run. */
interface Started {
  readonly loaded: LoadSettings.Loaded
  /** The settings that were applied last. */
  readonly applied: Ref.Ref<LoadSettings.Loaded>
  readonly settings: LoadSettings.Ready
  /** Reads the settings again. */
  readonly load: Effect.Effect<LoadSettings.Loaded, Failure, FileSystem.FileSystem | Path.Path>
  /** Asks for it. */
  readonly reloads: Queue.Dequeue<void>
}

/** The `serve` command. */
export const command = Command.make(
  "serve",
  { config: Settings.configFlag, settings: Settings.flagsOf(Settings.all) },
  Effect.fnUntraced(function* (input) {
    // Before the settings are read, so that none is lost.
    const reloads = yield* Signals.queue("reload")
    const log = yield* ProcessLog
    if (yield* LoadSettings.isJsonLog(input.settings)) log.use("json")
    const load = LoadSettings.load(input.settings, input.config)
    const loaded = yield* load
    log.use((yield* loaded.read(logFormatConfig)).logFormat)
    const settings = yield* LoadSettings.read(loaded)
    const limits = yield* loaded.read(GatewayServerConfig.config)
    yield* ConsoleSettings.check(loaded, settings, limits.trustedProxies)
    if (settings.migrate === "never") yield* Database.required(settings)
    yield* DataFolder.prepare(settings.dataDir)
    const certificate = settings.tls === undefined ? undefined : yield* Tls.read(settings.tls)
    if (settings.workers > 1 && Worker.number === undefined) {
      return yield* workers(settings).pipe(Effect.provide(layerLogs(settings)))
    }
    const applied = yield* Ref.make(loaded)
    const connections = Connections.make({
      certificate,
      bodyRate: {
        bytesPerSecond: limits.bodyRate.bytesPerSecond,
        firstGrace: Duration.toMillis(limits.bodyRate.firstGrace),
        grace: Duration.toMillis(limits.bodyRate.grace)
      },
      wireNames: ofPreset(limits.wireNames)
    })
    const share = settings.workers === 1 ? undefined : Math.floor(processLimit(settings.workers) / 4)
    const { bodyMemory = share } = limits
    const { responseMemory = share } = settings
    const service = yield* layerService(loaded, applied, { ...settings, responseMemory }, connections, limits.basePath)
    const { traces } = settings
    const { endpoint } = traces
    const tracing =
      endpoint === undefined
        ? Layer.empty
        : (yield* Effect.promise(() => import("../Tracing.ts"))).layer(traces, endpoint)
    const reloader =
      settings.tls === undefined || certificate === undefined
        ? undefined
        : Tls.makeReloader(settings.tls, certificate, connections.setCertificate)
    yield* running({ applied, load, loaded, reloads, settings }, connections, limits.basePath, reloader).pipe(
      Effect.provide(Layer.provide(service, [GatewayServerConfig.layer({ ...limits, bodyMemory }), tracing])),
      Effect.provide(
        Layer.provideMerge(yield* layerRunRecord(settings, connections, limits.basePath), layerLogs(settings))
      ),
      Worker.number === undefined ? identity : Effect.annotateLogs({ worker: Worker.number })
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Run the gateway. The first run creates a workspace with credits, a management key and an ordinary key. It prints the keys if standard output is a terminal, else it writes them to first-keys.env in the data folder. " +
      "Settings can be given as flags, in the environment or in a JSON file, secrets in the environment, the settings file or files of their own (--cohere-api-key-file). A flag takes precedence over the environment, the environment over the file."
  ),
  Command.withShortDescription("Run the gateway"),
  Command.withExamples([
    { command: "model-gateway serve", description: "At http://127.0.0.1:8787/api/v1, with its data in .data" },
    { command: "model-gateway serve --host 0.0.0.0 --log-format json", description: "For a container" }
  ])
)
