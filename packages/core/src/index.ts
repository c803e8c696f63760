// The operations, one module for each group: schemas, errors, and the functions that call them.
export * as Activity from "./Activity.ts"
export * as Alerts from "./Alerts.ts"
export * as AuditLog from "./AuditLog.ts"
export * as Byok from "./Byok.ts"
export * as ConsoleSessions from "./ConsoleSessions.ts"
export * as Credits from "./Credits.ts"
export * as CurrentKey from "./CurrentKey.ts"
export * as Destinations from "./Destinations.ts"
export * as Estimate from "./Estimate.ts"
export * as Files from "./Files.ts"
export * as Generations from "./Generations.ts"
export * as Guardrails from "./Guardrails.ts"
export * as Keys from "./Keys.ts"
export * as ModelEndpoints from "./ModelEndpoints.ts"
export * as Models from "./Models.ts"
export * as ProviderFiles from "./ProviderFiles.ts"
export * as ProviderHealth from "./ProviderHealth.ts"
export * as Providers from "./Providers.ts"
export * as RejectedRequests from "./RejectedRequests.ts"
export * as Rerank from "./Rerank.ts"
export * as Reservations from "./Reservations.ts"
export * as System from "./System.ts"
export * as Transcription from "./Transcription.ts"
export * as Video from "./Video.ts"
export * as VideoModels from "./VideoModels.ts"
export * as Webhooks from "./Webhooks.ts"
export * as Workspaces from "./Workspaces.ts"

// What requests of several operations share.
export * as Identifiers from "./Identifiers.ts"
export * as Routing from "./Routing.ts"
export * as Trace from "./Trace.ts"

// The client.
export * as FetchGateway from "./FetchGateway.ts"
export * as Gateway from "./Gateway.ts"
export * as GatewayClient from "./GatewayClient.ts"
export * as GatewayConfig from "./GatewayConfig.ts"
export * as IdempotencyKeySource from "./IdempotencyKeySource.ts"
export * as RetryBudget from "./RetryBudget.ts"
export * as RetryPolicy from "./RetryPolicy.ts"
export * as Telemetry from "./Telemetry.ts"

// The errors of calls.
export * as ClientError from "./ClientError.ts"
export * as ErrorResponse from "./ErrorResponse.ts"
export * as GatewayError from "./GatewayError.ts"

// Following a video job: its states, and the webhooks that report them.
export * as VideoProgress from "./VideoProgress.ts"
export * as Webhook from "./Webhook.ts"

// Shapes and names that clients of other gateways expect.
export * as CohereRerank from "./dialect/CohereRerank.ts"
export * as FileShapes from "./dialect/FileShapes.ts"
export * as WireNames from "./dialect/WireNames.ts"

// The contract as values, for servers, documents and tests.
export * as GatewayApi from "./GatewayApi.ts"
export * as Operation from "./Operation.ts"
