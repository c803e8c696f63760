/**
 * The whole contract: every operation under `/api/v1`, version 1.0.0. The service, the test gateway
 * and the OpenAPI document are derived from it. This file only lists the operations. What an
 * operation is stands in its own file, and the client uses the same declaration. The order of the
 * groups is that of the API reference.
 *
 * @since 0.1.0
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Activity from "./Activity.ts"
import * as Alerts from "./Alerts.ts"
import * as AuditLog from "./AuditLog.ts"
import * as Byok from "./Byok.ts"
import * as CohereRerank from "./dialect/CohereRerank.ts"
import * as ConsoleSessions from "./ConsoleSessions.ts"
import * as Credits from "./Credits.ts"
import * as CurrentKey from "./CurrentKey.ts"
import * as Destinations from "./Destinations.ts"
import * as Estimate from "./Estimate.ts"
import * as Files from "./Files.ts"
import * as Generations from "./Generations.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Keys from "./Keys.ts"
import * as ModelEndpoints from "./ModelEndpoints.ts"
import * as Models from "./Models.ts"
import { GroupTitle } from "./Operation.ts"
import * as ProviderHealth from "./ProviderHealth.ts"
import * as Providers from "./Providers.ts"
import * as RejectedRequests from "./RejectedRequests.ts"
import * as Rerank from "./Rerank.ts"
import * as Reservations from "./Reservations.ts"
import * as System from "./System.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as VideoModels from "./VideoModels.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Workspaces from "./Workspaces.ts"

/**
 * Stored files: upload, list, download and delete them. The `shape` parameter of the header
 * `Accept` selects the shape of a response, such as `application/json; shape=compat_a`.
 *
 * @category groups
 * @since 0.1.0
 */
export class FilesGroup extends HttpApiGroup.make("files")
  .add(
    Files.deleteFileEndpoint,
    Files.uploadFileEndpoint,
    Files.listFilesEndpoint,
    Files.getFileEndpoint,
    Files.fileContentEndpoint
  )
  .annotate(GroupTitle, "Files") {}

/**
 * What the key of the request may do and spend.
 *
 * @category groups
 * @since 0.1.0
 */
export class CurrentKeyGroup extends HttpApiGroup.make("key")
  .add(CurrentKey.currentKeyEndpoint)
  .annotate(GroupTitle, "Current key") {}

/**
 * Rank documents by relevance to a query.
 *
 * @category groups
 * @since 0.1.0
 */
export class RerankGroup extends HttpApiGroup.make("rerank")
  .add(Rerank.rerankEndpoint, CohereRerank.cohereRerankEndpoint, CohereRerank.cohereRerankV1Endpoint)
  .annotate(GroupTitle, "Rerank") {}

/**
 * Turn speech into text.
 *
 * @category groups
 * @since 0.1.0
 */
export class TranscriptionGroup extends HttpApiGroup.make("transcription")
  .add(Transcription.transcribeEndpoint)
  .annotate(GroupTitle, "Transcription") {}

/**
 * Generate videos. A video is a job: submit it, follow it, and download the result.
 *
 * @category groups
 * @since 0.1.0
 */
export class VideoGroup extends HttpApiGroup.make("videos")
  .add(
    Video.submitVideoEndpoint,
    Video.listVideosEndpoint,
    Video.getVideoEndpoint,
    Video.videoContentEndpoint,
    Video.cancelVideoEndpoint
  )
  .annotate(GroupTitle, "Videos") {}

/**
 * Limits on models, providers and spending that apply to the keys they are assigned to.
 *
 * @category groups
 * @since 0.1.0
 */
export class GuardrailsGroup extends HttpApiGroup.make("guardrails")
  .add(
    Guardrails.assignKeysEndpoint,
    Guardrails.unassignKeysEndpoint,
    Guardrails.listAssignmentsEndpoint,
    Guardrails.listAllAssignmentsEndpoint,
    Guardrails.createGuardrailEndpoint,
    Guardrails.listGuardrailsEndpoint,
    Guardrails.getGuardrailEndpoint,
    Guardrails.updateGuardrailEndpoint,
    Guardrails.deleteGuardrailEndpoint
  )
  .annotate(GroupTitle, "Guardrails") {}

/**
 * Create, list, change and delete API keys, and create short-lived keys for web pages.
 *
 * @category groups
 * @since 0.1.0
 */
export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    Keys.createKeyEndpoint,
    Keys.listKeysEndpoint,
    Keys.getKeyEndpoint,
    Keys.updateKeyEndpoint,
    Keys.rotateKeyEndpoint,
    Keys.deleteKeyEndpoint,
    Keys.createEphemeralKeyEndpoint,
    Keys.createEphemeralKeyForEndpoint
  )
  .annotate(GroupTitle, "Keys") {}

/**
 * Your provider keys, which requests use before those of the gateway.
 *
 * @category groups
 * @since 0.1.0
 */
export class ByokGroup extends HttpApiGroup.make("byok")
  .add(
    Byok.createByokKeyEndpoint,
    Byok.listByokKeysEndpoint,
    Byok.getByokKeyEndpoint,
    Byok.updateByokKeyEndpoint,
    Byok.deleteByokKeyEndpoint,
    Byok.testByokKeyEndpoint
  )
  .annotate(GroupTitle, "Provider keys") {}

/**
 * Workspaces, which own keys, files, budgets and jobs, and their credits.
 *
 * @category groups
 * @since 0.1.0
 */
export class WorkspacesGroup extends HttpApiGroup.make("workspaces")
  .add(
    Workspaces.createWorkspaceEndpoint,
    Workspaces.listWorkspacesEndpoint,
    Workspaces.getWorkspaceEndpoint,
    Workspaces.updateWorkspaceEndpoint,
    Workspaces.deleteWorkspaceEndpoint,
    Workspaces.addCreditsEndpoint
  )
  .annotate(GroupTitle, "Workspaces") {}

/**
 * The credits that were added and used, the ledger of what was added, and reservations.
 *
 * @category groups
 * @since 0.1.0
 */
export class CreditsGroup extends HttpApiGroup.make("credits")
  .add(
    Credits.getCreditsEndpoint,
    Credits.listCreditLedgerEndpoint,
    Reservations.listReservationsEndpoint,
    Reservations.settleReservationEndpoint,
    Reservations.dismissReservationEndpoint
  )
  .annotate(GroupTitle, "Credits") {}

/**
 * The secret that signs the events of video jobs, and the deliveries of these events.
 *
 * @category groups
 * @since 0.1.0
 */
export class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    Webhooks.rotateWebhookSecretEndpoint,
    Webhooks.listWebhookDeliveriesEndpoint,
    Webhooks.getWebhookDeliveryEndpoint,
    Webhooks.redeliverWebhookEndpoint
  )
  .annotate(GroupTitle, "Webhooks") {}

/**
 * Where the service sends a record of every paid request, such as an OpenTelemetry collector.
 *
 * @category groups
 * @since 0.1.0
 */
export class DestinationsGroup extends HttpApiGroup.make("destinations")
  .add(
    Destinations.createDestinationEndpoint,
    Destinations.listDestinationsEndpoint,
    Destinations.getDestinationEndpoint,
    Destinations.updateDestinationEndpoint,
    Destinations.deleteDestinationEndpoint,
    Destinations.testDestinationEndpoint
  )
  .annotate(GroupTitle, "Broadcast destinations") {}

/**
 * Rules that watch the gateway and send a message when something needs attention, and when they
 * did.
 *
 * @category groups
 * @since 0.1.0
 */
export class AlertsGroup extends HttpApiGroup.make("alerts")
  .add(
    Alerts.createAlertEndpoint,
    Alerts.listAlertsEndpoint,
    Alerts.listAlertFiringsEndpoint,
    Alerts.getAlertEndpoint,
    Alerts.updateAlertEndpoint,
    Alerts.deleteAlertEndpoint,
    Alerts.testAlertEndpoint
  )
  .annotate(GroupTitle, "Alerts") {}

/**
 * The models of this gateway, their providers and prices.
 *
 * @category groups
 * @since 0.1.0
 */
export class ModelsGroup extends HttpApiGroup.make("models")
  .add(
    Models.listModelsEndpoint,
    Models.countModelsEndpoint,
    Models.getModelEndpoint,
    ModelEndpoints.listModelEndpointsEndpoint,
    VideoModels.listVideoModelsEndpoint,
    Providers.listProvidersEndpoint,
    ProviderHealth.getProviderHealthEndpoint,
    Estimate.estimateEndpoint
  )
  .annotate(GroupTitle, "Models") {}

/**
 * What each paid request cost, who served it and how long it took, and the requests that were
 * rejected.
 *
 * @category groups
 * @since 0.1.0
 */
export class GenerationsGroup extends HttpApiGroup.make("generations")
  .add(
    Generations.getGenerationEndpoint,
    Generations.listGenerationsEndpoint,
    RejectedRequests.listRejectedRequestsEndpoint
  )
  .annotate(GroupTitle, "Request log") {}

/**
 * Spending and counts of requests by day, model, provider and key.
 *
 * @category groups
 * @since 0.1.0
 */
export class ActivityGroup extends HttpApiGroup.make("activity")
  .add(Activity.listActivityEndpoint)
  .annotate(GroupTitle, "Activity") {}

/**
 * Who changed what.
 *
 * @category groups
 * @since 0.1.0
 */
export class AuditGroup extends HttpApiGroup.make("audit")
  .add(AuditLog.listAuditEndpoint)
  .annotate(GroupTitle, "Audit log") {}

/**
 * Who is signed in to the console.
 *
 * @category groups
 * @since 0.1.0
 */
export class ConsoleGroup extends HttpApiGroup.make("console")
  .add(
    ConsoleSessions.listConsoleSessionsEndpoint,
    ConsoleSessions.endConsoleSessionEndpoint,
    ConsoleSessions.endConsoleSessionsEndpoint
  )
  .annotate(GroupTitle, "Console") {}

/**
 * The processes of the gateway, its database, and the settings that are in force.
 *
 * @category groups
 * @since 0.1.0
 */
export class SystemGroup extends HttpApiGroup.make("system")
  .add(System.listInstancesEndpoint, System.listSettingsEndpoint)
  .annotate(GroupTitle, "System") {}

/**
 * The version of the contract.
 *
 * @category constants
 * @since 0.1.0
 */
export const version = "1.0.0"

/**
 * The contract.
 *
 * @category groups
 * @since 0.1.0
 */
export class GatewayApi extends HttpApi.make("model-gateway")
  .add(
    RerankGroup,
    TranscriptionGroup,
    VideoGroup,
    ModelsGroup,
    FilesGroup,
    CurrentKeyGroup,
    GenerationsGroup,
    ActivityGroup,
    KeysGroup,
    GuardrailsGroup,
    WorkspacesGroup,
    CreditsGroup,
    ByokGroup,
    DestinationsGroup,
    AlertsGroup,
    WebhooksGroup,
    AuditGroup,
    ConsoleGroup,
    SystemGroup
  )
  .prefix("/api/v1")
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  // The service collects the remaining issues of a body itself, at a bounded cost.
  .annotate(HttpApi.PayloadParseOptions, { errors: "first" }) {}
