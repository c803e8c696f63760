/**
 * A real database with every store over it. Fixtures use it too, so it does not import vitest;
 * TestDatabases.ts has the databases that suites run on.
 */
import { Clock, Effect, FileSystem, Layer, Redacted, type Scope } from "effect"
import { NodeFileSystem, NodeServices } from "@effect/platform-node"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import * as Accounting from "../src/accounting/Accounting.ts"
import * as LedgerSql from "../src/accounting/LedgerSql.ts"
import * as GuardrailStore from "../src/access/GuardrailStore.ts"
import * as Outbox from "../src/events/Outbox.ts"
import * as Idempotency from "../src/admission/Idempotency.ts"
import * as CallerCache from "../src/access/CallerCache.ts"
import * as KeyResponses from "../src/access/KeyResponses.ts"
import * as ProviderKeys from "../src/access/ProviderKeys.ts"
import * as Vault from "../src/access/Vault.ts"
import * as GatewayServerConfig from "../src/GatewayServerConfig.ts"
import * as KeyStore from "../src/access/KeyStore.ts"
import * as FreeModelDays from "../src/accounting/FreeModelDays.ts"
import * as Migrations from "../src/storage/sql/Migrations.ts"
import * as ProcessInstance from "../src/storage/sql/ProcessInstance.ts"
import * as PostgresClient from "../src/storage/postgres/PostgresClient.ts"
import * as SqliteClient from "../src/storage/sqlite/SqliteClient.ts"
import * as DeliveryStore from "../src/webhooks/DeliveryStore.ts"
import * as WebhookSecrets from "../src/webhooks/WebhookSecrets.ts"
import * as WorkspaceParts from "../src/WorkspaceParts.ts"
import * as WorkspaceStore from "../src/access/WorkspaceStore.ts"

/** A folder that is deleted when the scope closes. */
export const temporaryFolder = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.makeTempDirectoryScoped({ prefix: "model-gateway-" })
}).pipe(Effect.provide(NodeFileSystem.layer))

/**
 * Runs the effect with a system clock that is ahead by this many milliseconds, or behind if the
 * number is negative.
 */
export const clockAhead =
  (millis: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Clock.clockWith((clock) => {
      const nanos = BigInt(millis) * 1_000_000n
      return Effect.provideService(effect, Clock.Clock, {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + millis,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + nanos,
        currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + nanos),
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      })
    })

/** A vault whose key is the same in every process of a test. */
const layerVault = Vault.layer("unused").pipe(
  Layer.provide(NodeServices.layer),
  Layer.provide(
    GatewayServerConfig.layer({ byok: { masterKey: Redacted.make(Buffer.alloc(32, 7).toString("base64")) } })
  )
)

/** The client of the database at this location: a file of SQLite, or the URL of Postgres. */
export const layerClient = (location: string, wrap?: SqliteClient.Options["wrap"]) =>
  location.startsWith("postgres://")
    ? PostgresClient.layer({ url: Redacted.make(location), wrap })
    : SqliteClient.layer({ filename: location, wrap })

/**
 * The stores over the database at this location. Each use counts as a separate process.
 *
 * It sends one heartbeat, because a test that moves its clock by years should not send one every
 * five seconds. `{}` sets the heartbeat of the service.
 */
export const layerAt = (
  location: string,
  heartbeat: ProcessInstance.Options = { heartbeatEvery: "1000 days" },
  wrap?: SqliteClient.Options["wrap"]
) =>
  Layer.mergeAll(
    WorkspaceStore.layerSql,
    GuardrailStore.layerSql,
    KeyResponses.layerSql,
    FreeModelDays.layerSql,
    Outbox.layerSql,
    DeliveryStore.layerSql,
    WebhookSecrets.layerSql.pipe(Layer.provide(layerVault)),
    ProviderKeys.layerSql.pipe(Layer.provide(layerVault))
  ).pipe(
    Layer.provideMerge(WorkspaceParts.layer),
    Layer.provideMerge(Layer.mergeAll(KeyStore.layerSql, Accounting.layerSql, Idempotency.layerSql)),
    Layer.provideMerge(Layer.mergeAll(ProcessInstance.layerSql(heartbeat), CallerCache.layerSql, LedgerSql.layer)),
    Layer.provideMerge(Migrations.layer),
    Layer.provideMerge(layerClient(location, wrap)),
    Layer.provideMerge(layerWebCrypto),
    Layer.fresh
  )

/** The location of a new database of SQLite, which is deleted when the scope closes. */
export const createSqlite = Effect.map(Effect.orDie(temporaryFolder), (folder) => `${folder}/gateway.db`)

/** Only vitest can load it, and processes that tests start load this module. */
const testPostgres = Effect.promise(() => import("./TestPostgres.ts"))

/**
 * The kind of database of this run: vitest.config.ts lists the suites that also run on Postgres.
 */
export const kind = process.env["TEST_DATABASE"] === "postgres" ? "postgres" : "sqlite"

/** The location of a new database of this run's kind, which is deleted when the scope closes. */
export const create: Effect.Effect<string, never, Scope.Scope> =
  kind === "sqlite" ? createSqlite : Effect.flatMap(testPostgres, ({ create }) => create)

/**
 * Like {@link create}, for a database without tables. On SQLite, its folder does not exist either.
 */
export const createEmpty: Effect.Effect<string, never, Scope.Scope> =
  kind === "sqlite"
    ? Effect.map(Effect.orDie(temporaryFolder), (folder) => `${folder}/new/gateway.db`)
    : Effect.flatMap(testPostgres, ({ createEmpty }) => createEmpty)

/** The stores over a new database of this run's kind. */
export const layer = Layer.unwrap(Effect.map(create, (location) => layerAt(location)))
