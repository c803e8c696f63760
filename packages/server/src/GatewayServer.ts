/**
 * The service of a model gateway, as Layers.
 *
 * {@link layer} is the whole service. {@link layerStores} is its stores alone. Limits and deadlines
 * are those of `GatewayServerConfig` in the context.
 */
import type { Layer, Path } from "effect"
import type { FileSystem } from "effect/FileSystem"
import type { Etag, HttpPlatform, HttpServer } from "effect/http"
import type { PlatformError } from "effect/PlatformError"
import type { EphemeralKeys } from "./access/EphemeralKeys.ts"
import type { GuardrailStore } from "./access/GuardrailStore.ts"
import type { KeyResponses } from "./access/KeyResponses.ts"
import type { KeyStore } from "./access/KeyStore.ts"
import type { ProviderKeys } from "./access/ProviderKeys.ts"
import type { WorkspaceStore } from "./access/WorkspaceStore.ts"
import type { Accounting } from "./accounting/Accounting.ts"
import type { Reconcile } from "./accounting/Reconcile.ts"
import type { DestinationStore } from "./broadcast/DestinationStore.ts"
import * as Composition from "./Composition.ts"
import type { ConsoleLinks } from "./console/ConsoleLinks.ts"
import type { Lifecycle } from "./http/Lifecycle.ts"
import type { Reload } from "./Reload.ts"
import type { ObjectStoreError } from "./objects/ObjectStore.ts"
import type { StorageError } from "./storage/sql/StorageError.ts"
import type { WebhookSecrets } from "./webhooks/WebhookSecrets.ts"

export { type DataOptions, databaseFile, type OperatorOptions, type Options } from "./Composition.ts"

/** What a program may use beside the running service: keys, guardrails, workspaces and credits. */
export type Stores =
  | Accounting
  | ConsoleLinks
  | Reconcile
  | DestinationStore
  | EphemeralKeys
  | GuardrailStore
  | KeyResponses
  | KeyStore
  | ProviderKeys
  | WebhookSecrets
  | WorkspaceStore

/** Why the service cannot start: its database, its folder or its port is not available. */
export type StartError = ObjectStoreError | PlatformError | StorageError

/**
 * The stores only. For tools that use the database directly, also while the service runs. Migrates
 * the database, and creates it if it is a file, unless `migrate` is `never`.
 */
export const layerStores: (
  options: Composition.DataOptions
) => Layer.Layer<Stores, StorageError, FileSystem | Path.Path> = Composition.layerStores

/**
 * The management operations of the service over the HTTP server in the context, for an operator's
 * tools: keys, workspaces, guardrails, credits, provider keys, webhooks, broadcast destinations,
 * video jobs, the request log, the activity and the audit log. It does no background work.
 *
 * No key is checked: every request has the permissions of a management key of the first
 * organization. So serve it to this process only, never to a network.
 */
export const layerOperator: (
  options: Composition.OperatorOptions
) => Layer.Layer<
  never,
  StorageError,
  Etag.Generator | FileSystem | HttpPlatform.HttpPlatform | HttpServer.HttpServer | Path.Path
> = Composition.layerOperator

/**
 * The whole service, over the HTTP server in the context. It also provides its stores, so that the
 * caller can create the first keys.
 *
 * By default the service runs on one machine, with SQLite in the folder. With `databaseUrl`, any
 * number of processes share a Postgres.
 *
 * When the layer closes, the service first reports that it is not ready, stops accepting requests,
 * and lets requests in flight finish within the HTTP server's `gracefulShutdownTimeout` (use 30
 * seconds). Behind a load balancer, run `stop` of the `Lifecycle` a few seconds earlier: `/readyz`
 * then answers 503 while requests are still accepted.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import * as Sandbox from "@model-gateway/sandbox/Sandbox"
 * import * as GatewayServer from "@model-gateway/server/GatewayServer"
 * import { Effect, Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const Gateway = Layer.unwrap(
 *   Effect.map(Sandbox.make(), (offers) => GatewayServer.layer({ dataDir: ".data", offers }))
 * ).pipe(
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 8787, gracefulShutdownTimeout: "30 seconds" }))
 * )
 * ```
 */
export const layer: (
  options: Composition.Options
) => Layer.Layer<
  Lifecycle | Reload | Stores,
  StartError,
  Etag.Generator | FileSystem | HttpPlatform.HttpPlatform | HttpServer.HttpServer | Path.Path
> = Composition.layer
