/**
 * The service of a model gateway, as Layers.
 *
 * Each namespace is also a subpath of the package, which loads less. They are the whole public
 * surface; the other modules are closed.
 */
export * as Accounting from "./accounting/Accounting.ts"
export * as DestinationStore from "./broadcast/DestinationStore.ts"
export * as EphemeralKeys from "./access/EphemeralKeys.ts"
export * as GatewayServer from "./GatewayServer.ts"
export * as GatewayServerConfig from "./GatewayServerConfig.ts"
export * as GuardrailStore from "./access/GuardrailStore.ts"
export * as InProgress from "./http/InProgress.ts"
export * as KeyFormat from "./access/KeyFormat.ts"
export * as KeyResponses from "./access/KeyResponses.ts"
export * as KeyStore from "./access/KeyStore.ts"
export * as Lifecycle from "./http/Lifecycle.ts"
export * as LinkClient from "./outbound/LinkClient.ts"
export * as Maintenance from "./Maintenance.ts"
export * as ObjectStore from "./objects/ObjectStore.ts"
export * as ObjectStoreUrl from "./storage/s3/ObjectStoreUrl.ts"
export * as OpenApiDocument from "./openapi/OpenApiDocument.ts"
export * as Page from "./storage/sql/Page.ts"
export * as ProcessFolder from "./objects/ProcessFolder.ts"
export * as ProviderKeys from "./access/ProviderKeys.ts"
export * as Reconcile from "./accounting/Reconcile.ts"
export * as RedisUrl from "./storage/redis/RedisUrl.ts"
export * as StorageError from "./storage/sql/StorageError.ts"
export * as UploadFolder from "./objects/UploadFolder.ts"
export * as UpstreamLookup from "./outbound/UpstreamLookup.ts"
export * as WebhookSecrets from "./webhooks/WebhookSecrets.ts"
export * as WorkspaceStore from "./access/WorkspaceStore.ts"
