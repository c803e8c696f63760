/**
 * Composes the service; contains no other code. The layers here provide every service, for the
 * tests. `GatewayServer.ts` is what embedders use.
 */
import * as GatewayApi from "@model-gateway/core/GatewayApi"
import type { EffectiveSetting } from "@model-gateway/core/System"
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Offers } from "@model-gateway/offers/Offer"
import { Effect, type FileSystem, identity, Layer, Path, type Redacted } from "effect"
import type * as SecureRandom from "effect/crypto/SecureRandom"
import { HttpRouter } from "effect/http"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { SqlClient } from "effect/sql/SqlClient"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import * as Accounting from "./accounting/Accounting.ts"
import * as Reconcile from "./accounting/Reconcile.ts"
import * as LedgerSql from "./accounting/LedgerSql.ts"
import * as Activity from "./accounting/Activity.ts"
import * as ActivitySeries from "./accounting/ActivitySeries.ts"
import * as RequestLog from "./accounting/RequestLog.ts"
import * as ActivityHandlers from "./operations/ActivityHandlers.ts"
import * as ByokHandlers from "./operations/ByokHandlers.ts"
import * as FilesHandlers from "./operations/FilesHandlers.ts"
import type { FileApis } from "./objects/FileProviders.ts"
import * as FileStore from "./objects/FileStore.ts"
import * as LocalObjectStore from "./objects/LocalObjectStore.ts"
import * as ObjectStore from "./objects/ObjectStore.ts"
import * as S3ObjectStore from "./objects/S3ObjectStore.ts"
import * as ObjectSweep from "./objects/ObjectSweep.ts"
import { EffectiveSettings } from "./EffectiveSettings.ts"
import { GatewayServerConfig } from "./GatewayServerConfig.ts"
import * as Broadcast from "./broadcast/Broadcast.ts"
import * as DestinationsHandlers from "./operations/DestinationsHandlers.ts"
import * as DestinationStore from "./broadcast/DestinationStore.ts"
import * as OutboundHttp from "./outbound/OutboundHttp.ts"
import * as AlertsHandlers from "./operations/AlertsHandlers.ts"
import * as AuditHandlers from "./operations/AuditHandlers.ts"
import * as GenerationsHandlers from "./operations/GenerationsHandlers.ts"
import * as GuardrailsHandlers from "./operations/GuardrailsHandlers.ts"
import * as GuardrailStore from "./access/GuardrailStore.ts"
import * as Authorization from "./access/Authorization.ts"
import * as BodyMemory from "./http/BodyMemory.ts"
import * as RandomPool from "./internal/RandomPool.ts"
import * as Docs from "./site/Docs.ts"
import * as FailureLog from "./observability/FailureLog.ts"
import * as Health from "./http/Health.ts"
import * as Lifecycle from "./http/Lifecycle.ts"
import * as RequestServices from "./http/RequestServices.ts"
import * as RequestMiddleware from "./http/RequestMiddleware.ts"
import * as RequestSpans from "./http/RequestSpans.ts"
import * as StaticSite from "./site/StaticSite.ts"
import * as UploadFolder from "./objects/UploadFolder.ts"
import * as ConsoleAccess from "./console/ConsoleAccess.ts"
import * as ConsoleLinks from "./console/ConsoleLinks.ts"
import * as ConsoleSessions from "./console/ConsoleSessions.ts"
import * as SessionRoutes from "./console/SessionRoutes.ts"
import * as Idempotency from "./admission/Idempotency.ts"
import * as ConsoleSessionsHandlers from "./operations/ConsoleSessionsHandlers.ts"
import * as CreditsHandlers from "./operations/CreditsHandlers.ts"
import * as CurrentKeyHandlers from "./operations/CurrentKeyHandlers.ts"
import * as EphemeralKeys from "./access/EphemeralKeys.ts"
import * as AlertStore from "./alerts/AlertStore.ts"
import * as AlertWorker from "./alerts/AlertWorker.ts"
import * as CallerCache from "./access/CallerCache.ts"
import * as KeyResponses from "./access/KeyResponses.ts"
import * as KeysHandlers from "./operations/KeysHandlers.ts"
import * as KeyStore from "./access/KeyStore.ts"
import * as ModelsHandlers from "./operations/ModelsHandlers.ts"
import * as FreeModelDays from "./accounting/FreeModelDays.ts"
import * as AllowedProviderKeys from "./routing/AllowedProviderKeys.ts"
import * as ProviderKeyUse from "./access/ProviderKeyUse.ts"
import * as ProviderKeys from "./access/ProviderKeys.ts"
import * as RateLimits from "./access/RateLimits.ts"
import * as Reload from "./Reload.ts"
import * as RateLimiterStore from "./storage/memory/RateLimiterStore.ts"
import * as AccessLog from "./requests/AccessLog.ts"
import * as AuditLog from "./audit/AuditLog.ts"
import * as FirstKeys from "./audit/FirstKeys.ts"
import * as RejectedRequests from "./requests/RejectedRequests.ts"
import * as RerankHandlers from "./operations/RerankHandlers.ts"
import * as Admission from "./admission/Admission.ts"
import * as Outbox from "./events/Outbox.ts"
import * as BodyAdmission from "./admission/BodyAdmission.ts"
import * as Router from "./routing/Router.ts"
import * as BuildInfo from "./observability/BuildInfo.ts"
import * as CircuitMetrics from "./routing/CircuitMetrics.ts"
import * as DeliveryMetrics from "./webhooks/DeliveryMetrics.ts"
import * as FreeSpace from "./objects/FreeSpace.ts"
import * as MoneyMetrics from "./accounting/MoneyMetrics.ts"
import * as ProcessMetrics from "./observability/ProcessMetrics.ts"
import { MetricsPage } from "./observability/MetricsPage.ts"
import * as Readiness from "./observability/Readiness.ts"
import * as Scrape from "./observability/Scrape.ts"
import * as VideoMetrics from "./video/VideoMetrics.ts"
import * as DatabaseReadiness from "./storage/sql/DatabaseReadiness.ts"
import * as PostgresClient from "./storage/postgres/PostgresClient.ts"
import * as Migrations from "./storage/sql/Migrations.ts"
import * as InstanceDescription from "./storage/sql/InstanceDescription.ts"
import * as ProcessInstance from "./storage/sql/ProcessInstance.ts"
import * as SqliteProcessLocks from "./storage/sqlite/SqliteProcessLocks.ts"
import * as SqliteClient from "./storage/sqlite/SqliteClient.ts"
import * as WebApplication from "./site/WebApplication.ts"
import * as SystemHandlers from "./operations/SystemHandlers.ts"
import * as TranscriptionHandlers from "./operations/TranscriptionHandlers.ts"
import * as VideoHandlers from "./operations/VideoHandlers.ts"
import * as VideoJobs from "./video/VideoJobs.ts"
import * as VideoObjects from "./video/VideoObjects.ts"
import * as VideoQueue from "./video/VideoQueue.ts"
import * as VideoRetention from "./video/VideoRetention.ts"
import * as VideoSignals from "./video/VideoSignals.ts"
import * as VideoWaits from "./video/VideoWaits.ts"
import * as VideoWorker from "./video/VideoWorker.ts"
import * as Vault from "./access/Vault.ts"
import * as DeliveryStore from "./webhooks/DeliveryStore.ts"
import * as DeliveryRetention from "./webhooks/DeliveryRetention.ts"
import * as DeliveryWorker from "./webhooks/DeliveryWorker.ts"
import * as WebhookSecrets from "./webhooks/WebhookSecrets.ts"
import * as WebhooksHandlers from "./operations/WebhooksHandlers.ts"
import * as WorkspacesHandlers from "./operations/WorkspacesHandlers.ts"
import * as WorkspaceRemoval from "./access/WorkspaceRemoval.ts"
import * as WorkspaceParts from "./WorkspaceParts.ts"
import * as WorkspaceStore from "./access/WorkspaceStore.ts"

/** The handlers of the groups that an operator needs to manage a gateway. */
const management = Layer.mergeAll(
  VideoHandlers.layer.pipe(Layer.provide(VideoWaits.layer)),
  GuardrailsHandlers.layer,
  KeysHandlers.layer,
  ByokHandlers.layer,
  WorkspacesHandlers.layer,
  CreditsHandlers.layer,
  WebhooksHandlers.layer,
  DestinationsHandlers.layer,
  AlertsHandlers.layer,
  AuditHandlers.layer,
  ConsoleSessionsHandlers.layer,
  GenerationsHandlers.layer,
  ActivityHandlers.layer
)

const handlers = Layer.mergeAll(
  management,
  FilesHandlers.layer,
  CurrentKeyHandlers.layer,
  RerankHandlers.layer,
  TranscriptionHandlers.layer,
  ModelsHandlers.layer,
  SystemHandlers.layer
).pipe(
  Layer.provide([Authorization.layer, BodyAdmission.layer.pipe(Layer.provide(BodyMemory.layer)), Router.layer]),
  Layer.provide(Admission.layer),
  Layer.provide(AllowedProviderKeys.layer)
)

const api = HttpApiBuilder.layer(GatewayApi.GatewayApi).pipe(Layer.provide(handlers))

const routes = Layer.mergeAll(
  api,
  Health.layer,
  Docs.layer,
  StaticSite.layer,
  WebApplication.layer,
  SessionRoutes.layer
).pipe(
  Layer.provide(RequestMiddleware.layer.pipe(Layer.provide([AccessLog.layer, ConsoleAccess.layerGate]))),
  Layer.provide(ConsoleAccess.layer)
)

/** Longer than any identifier of the contract, so that longer ones are rejected with a reason. */
const maxParamLength = 1024

const serving = {
  // A path has exactly one spelling, so that a proxy's rules apply to it.
  routerConfig: { maxParamLength, caseSensitive: true, ignoreDuplicateSlashes: false, ignoreTrailingSlash: false },
  disableLogger: true,
  disableListenLog: true
}

const served = HttpRouter.serve(routes, serving)

/**
 * The contract, health, metrics and documentation over the HTTP server in the context. When the
 * layer closes, the service first reports that it is not ready, stops accepting requests, and lets
 * requests in flight finish within the HTTP server's `gracefulShutdownTimeout` (use 30 seconds).
 */
export const layerHttp = Lifecycle.layerStopFirst.pipe(Layer.provideMerge(served), Layer.provideMerge(Lifecycle.layer))

/**
 * The HTTP server for {@link layerHttp}. Provide it last: each request has what is in its context.
 */
export const layerServer = RequestServices.layerServer.pipe(
  Layer.provideMerge(Layer.merge(RequestSpans.layer, FailureLog.layer()))
)

/** The groups of the contract that an operator needs to manage a gateway. */
class OperatorApi extends HttpApi.make("model-gateway")
  .add(
    GatewayApi.VideoGroup,
    GatewayApi.GuardrailsGroup,
    GatewayApi.KeysGroup,
    GatewayApi.ByokGroup,
    GatewayApi.WorkspacesGroup,
    GatewayApi.CreditsGroup,
    GatewayApi.WebhooksGroup,
    GatewayApi.DestinationsGroup,
    GatewayApi.AlertsGroup,
    GatewayApi.GenerationsGroup,
    GatewayApi.ActivityGroup,
    GatewayApi.AuditGroup,
    GatewayApi.ConsoleGroup
  )
  .prefix("/api/v1") {}

/** Rate limits and failed authentications. */
export const limits = Layer.unwrap(
  Effect.map(GatewayServerConfig, ({ rateLimit }) => RateLimits.layer(rateLimit))
).pipe(Layer.provideMerge(RateLimiter.layer))

/** What several processes share to count rate limits and circuits together. */
export interface RedisOptions {
  /**
   * `redis://user:password@host:6379/0`, or `rediss://` for TLS. Another URL is a defect. While
   * Redis is not available, each process counts by itself. Default: each process counts by itself.
   */
  readonly redisUrl?: Redacted.Redacted | undefined
}

/** Counters of this process, for rate limits and circuits. */
export const countersMemory = Layer.merge(RateLimiterStore.layer(), CircuitBreaker.layerStoreMemory())

/** What counts rate limits and circuits. The client of Redis takes 0.1 seconds to load. */
const counters = (url: RedisOptions["redisUrl"]) =>
  url === undefined
    ? countersMemory
    : Layer.unwrap(
        Effect.gen(function* () {
          const { redisPrefix: prefix } = yield* GatewayServerConfig
          const SharedCounters = yield* Effect.promise(() => import("./storage/redis/SharedCounters.ts"))
          return SharedCounters.layer({ url, prefix })
        })
      )

/**
 * All stores over the SQL database, the vault and the random source in the context. The database
 * must be migrated.
 */
export const layerStoresSql = Layer.mergeAll(
  WorkspaceStore.layerSql.pipe(Layer.provide(FirstKeys.layer)),
  GuardrailStore.layerSql,
  KeyResponses.layerSql,
  Idempotency.layerSql,
  FreeModelDays.layerSql,
  RequestLog.layerSql,
  RejectedRequests.layerSql,
  ConsoleLinks.layerSql,
  ConsoleSessions.layerSql,
  Activity.layerSql,
  ActivitySeries.layerSql,
  FileStore.layerSql,
  ProviderKeys.layerSql,
  DestinationStore.layerSql,
  WebhookSecrets.layerSql,
  Reconcile.layerSql
).pipe(
  Layer.provideMerge(AlertStore.layerSql.pipe(Layer.provideMerge(DeliveryStore.layerSql))),
  Layer.provideMerge(Layer.mergeAll(AuditLog.layerSql, WorkspaceParts.layer, Outbox.layerSql)),
  Layer.provideMerge(KeyStore.layerSql),
  Layer.provideMerge(Accounting.layerSql),
  Layer.provideMerge(LedgerSql.layer),
  Layer.provideMerge(Layer.mergeAll(CallerCache.layerSql, ProcessInstance.layerSql()))
)

/** Location of the data. */
export interface DataOptions {
  /**
   * The folder for the data of this machine: the database `gateway.db` if it is SQLite, files in
   * `files/`, uploads in progress in `uploads/`, lock files in `processes/`, the key `master.key`.
   * Created if missing.
   */
  readonly dataDir: string
  /**
   * `postgres://user:password@host:port/database`: the database is Postgres, which many machines
   * may share. Default: SQLite in the folder.
   */
  readonly databaseUrl?: Redacted.Redacted | undefined
  /**
   * The greatest number of connections to Postgres, at least 3: one of them holds the lock of this
   * process. Default: 10.
   */
  readonly databaseConnections?: number | undefined
  /**
   * How long a write waits while another process locks the database of SQLite, and how long a
   * statement may take on Postgres, in milliseconds. Default: 5000.
   */
  readonly busyTimeout?: number | undefined
  /**
   * What happens if the database does not have the schema of this version. `auto` migrates it, and
   * creates it if it is a file. `never` fails and changes nothing. Default: `auto`.
   */
  readonly migrate?: "auto" | "never" | undefined
}

/** Name of the SQLite database in the data folder. */
export const databaseFile = "gateway.db"

/** Name of the folder of the lock files in the data folder. */
export const processesFolder = "processes"

const inFolder = <A, E, R>(dataDir: string, name: string, make: (folder: string) => Layer.Layer<A, E, R>) =>
  Layer.unwrap(Effect.map(Path.Path, (path) => make(path.join(dataDir, name))))

/** The database, and the locks of the processes that use it. */
export const database = ({ busyTimeout, databaseConnections, databaseUrl, dataDir }: DataOptions) =>
  databaseUrl === undefined
    ? Layer.merge(
        inFolder(dataDir, databaseFile, (filename) => SqliteClient.layer({ filename, busyTimeout })),
        inFolder(dataDir, processesFolder, SqliteProcessLocks.layer)
      )
    : PostgresClient.layer({ url: databaseUrl, maxConnections: databaseConnections, timeout: busyTimeout })

/** A created master key is where all processes of this database find it. */
const vault = ({
  databaseUrl,
  dataDir
}: DataOptions): Layer.Layer<
  Vault.Vault,
  never,
  FileSystem.FileSystem | Path.Path | SecureRandom.SecureRandom | SqlClient
> => (databaseUrl === undefined ? Vault.layer(dataDir) : Vault.layerSql)

/** The stores only. */
export const layerStores = (options: DataOptions) =>
  layerStoresSql.pipe(
    Layer.provide(vault(options)),
    Layer.provideMerge(RandomPool.layer),
    Layer.provideMerge(
      Layer.provideMerge(options.migrate === "never" ? Migrations.layerNever : Migrations.layer, database(options))
    )
  )

/** Background work: the video workers, webhooks, broadcast, and the purges and sweeps. */
export const background = Layer.mergeAll(
  VideoWorker.layerBackground(),
  Accounting.layerBackground(),
  Idempotency.layerBackground(),
  EphemeralKeys.layerBackground(),
  FreeModelDays.layerBackground(),
  Outbox.layerBackground(),
  RequestLog.layerBackground(),
  RejectedRequests.layerBackground(),
  AuditLog.layerBackground(),
  ConsoleLinks.layerBackground(),
  ConsoleSessions.layerBackground(),
  VideoRetention.layerBackground(),
  WorkspaceRemoval.layerBackground(),
  Layer.mergeAll(Broadcast.layerBackground(), DeliveryWorker.layerBackground()).pipe(Layer.provide(FailureLog.layer())),
  AlertWorker.layerBackground().pipe(Layer.provide(FailureLog.layer())),
  AlertWorker.layerRetention,
  DeliveryRetention.layerBackground(),
  ObjectSweep.layerBackground(Effect.all([FileStore.objectOwner, VideoObjects.objectOwner]))
).pipe(Layer.provide(Router.layer))

/** Video jobs, with their queue and their signals. */
export const jobs = VideoJobs.layerSql.pipe(Layer.provideMerge(Layer.mergeAll(VideoQueue.layerSql, VideoSignals.layer)))

/** The parts that `/readyz` shows. */
const parts = (uploads: ReturnType<typeof layerUploads>) =>
  Layer.mergeAll(
    DatabaseReadiness.layer(),
    ObjectStore.layerReadiness,
    UploadFolder.layerReadiness.pipe(Layer.provide(uploads))
  )

/** What `/metrics` reads when it is asked for. */
const sources = Layer.mergeAll(
  ProcessMetrics.layer,
  MoneyMetrics.layer,
  VideoMetrics.layer,
  DeliveryMetrics.layer,
  CircuitMetrics.layer,
  Scrape.layerReadiness
)

/** Where files and videos are stored. */
export interface ObjectOptions {
  /**
   * An object store with the S3 API that several machines share, such as
   * `s3://bucket/prefix?region=eu-central-1`. Credentials come from the standard AWS variables,
   * files and roles. Default: the folder `files` of the data.
   */
  readonly objectStoreUrl?: string | undefined
}

/** Options of the service. */
export interface Options extends DataOptions, ObjectOptions, RedisOptions {
  /**
   * The offers of models, in order of preference. `@model-gateway/sandbox` has some that need no
   * upstream.
   */
  readonly offers: Offers
  /**
   * The providers on which callers may delete files with a provider key. Default: none.
   */
  readonly fileProviders?: FileApis | undefined
  /** See `Reload`. */
  readonly makeVideoOffer?: Reload.Reloaded["makeVideoOffer"]
  /**
   * Makes the page of `/metrics` of the one of this process, such as one page of several processes.
   * Default: that one.
   */
  readonly metricsPage?: ((own: Effect.Effect<string>) => Effect.Effect<string>) | undefined
  /** A folder of built files to serve at `/`, next to the API. Default: none. */
  readonly web?: StaticSite.Options | undefined
  /** The web application to serve: the playground and the console. Default: none. */
  readonly application?: WebApplication.Options | undefined
  /** The console for operators, at `/console`. Default: it is switched off. */
  readonly console?: ConsoleAccess.Options | undefined
  /**
   * The version of the program that runs the service, for `/metrics` and `/docs`. Default: unknown.
   */
  readonly version?: string | undefined
  /** How many processes `metricsPage` makes one page of, for `/metrics`. Default: 1. */
  readonly workers?: number | undefined
  /** The number of this process among them, from 1, for `/instances`. Default: none. */
  readonly worker?: number | undefined
  /** Reads the settings of the program, for `/settings`. Default: there are none. */
  readonly settings?: Effect.Effect<ReadonlyArray<EffectiveSetting>> | undefined
}

/** Parts of an upload to an object store wait in `uploads`. */
export const objects = (dataDir: string, { objectStoreUrl }: ObjectOptions, uploads: ReturnType<typeof layerUploads>) =>
  objectStoreUrl === undefined
    ? inFolder(dataDir, "files", LocalObjectStore.layer)
    : S3ObjectStore.layerUrl(objectStoreUrl).pipe(Layer.provide(uploads))

export const layerUploads = (dataDir: string) => inFolder(dataDir, "uploads", UploadFolder.layer)

/** The whole service, over the HTTP server in the context. */
export const layer = ({
  application,
  console,
  fileProviders = {},
  makeVideoOffer,
  metricsPage = identity,
  objectStoreUrl,
  offers,
  redisUrl,
  settings = Effect.succeed([]),
  version,
  web,
  worker,
  workers,
  ...data
}: Options) => {
  const uploads = layerUploads(data.dataDir)
  const running = background.pipe(Layer.provide(OutboundHttp.layer))
  const observed = Layer.mergeAll(
    sources,
    FreeSpace.layerMetrics(data.dataDir),
    BuildInfo.layer({ version, workers, storage: data.databaseUrl === undefined ? "sqlite" : "postgres" })
  )
  return Layer.mergeAll(
    layerHttp.pipe(
      Layer.provide([
        uploads,
        Layer.succeed(BuildInfo.ProgramVersion, version),
        Layer.succeed(EffectiveSettings, settings)
      ])
    ),
    running,
    parts(uploads),
    observed
  ).pipe(
    Layer.provideMerge(jobs),
    Layer.provideMerge(
      Layer.mergeAll(limits, ObjectStore.layerRemembering(objects(data.dataDir, { objectStoreUrl }, uploads)))
    ),
    Layer.provide([counters(redisUrl), ProviderKeyUse.layer()]),
    Layer.provide(InstanceDescription.layer({ version, worker })),
    Layer.provide([Readiness.layer, Scrape.layer]),
    Layer.provideMerge(layerStores(data)),
    Layer.provideMerge(Reload.layer({ offers, fileProviders, makeVideoOffer })),
    Layer.provide([
      Layer.succeed(StaticSite.StaticSite, web),
      Layer.succeed(WebApplication.WebApplication, application),
      Layer.succeed(ConsoleAccess.Console, console),
      Layer.succeed(MetricsPage, metricsPage)
    ]),
    Layer.provide(layerServer)
  )
}

/** Options of the service for an operator. */
export interface OperatorOptions extends DataOptions {
  /** Credits of the first workspace, if the database has none yet. Default: 10 credits. */
  readonly credits?: MicroCredits.MicroCredits | undefined
}

/**
 * The management of a gateway over the HTTP server in the context, without background work. Every
 * request is the operator's.
 */
export const layerOperator = ({ credits, ...data }: OperatorOptions) => {
  const operatorHandlers = management.pipe(
    Layer.provide([
      Authorization.layerOperator({ credits }),
      BodyAdmission.layer.pipe(Layer.provide(BodyMemory.layer)),
      Router.layer
    ]),
    Layer.provide(Admission.layer),
    Layer.provide(AllowedProviderKeys.layer)
  )
  const operatorRoutes = HttpApiBuilder.layer(OperatorApi).pipe(
    Layer.provide(operatorHandlers),
    Layer.provide(RequestMiddleware.layer.pipe(Layer.provide(AccessLog.layerNone)))
  )
  return HttpRouter.serve(operatorRoutes, serving).pipe(
    Layer.provide(Lifecycle.layer),
    Layer.provide(jobs),
    Layer.provide(Layer.mergeAll(limits, ObjectStore.layerNone("Objects are read by the service only."))),
    Layer.provide(countersMemory),
    Layer.provide([Readiness.layer, Scrape.layer]),
    Layer.provide(layerStores(data)),
    Layer.provide(Reload.layer({ offers: [], fileProviders: {} }))
  )
}
