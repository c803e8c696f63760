export { createModelGateway, fromHttpClient, modelGateway } from "./ModelGateway.ts"
export type { ModelGatewayProvider } from "./ModelGateway.ts"
export type {
  ModelGatewayFilesOptions,
  ModelGatewayRerankingOptions,
  ModelGatewayTranscriptionOptions,
  ModelGatewayVideoOptions
} from "./ModelGatewayOptions.ts"
export type { ModelGatewayClientSettings, ModelGatewayProviderSettings } from "./ModelGatewayProviderSettings.ts"
