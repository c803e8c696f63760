/**
 * The whole contract: every operation under `/api/v1`, version 1.0.0. The service, the test gateway
 * and the OpenAPI document are derived from it. This file only lists the operations. What an
 * operation is stands in its own file, and the client uses the same declaration.
 *
 * @since 0.1.0
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Activity from "./Activity.ts"
import * as Byok from "./Byok.ts"
import * as CurrentKey from "./CurrentKey.ts"
import * as Destinations from "./Destinations.ts"
import * as Files from "./Files.ts"
import * as Generations from "./Generations.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Keys from "./Keys.ts"
import * as Models from "./Models.ts"
import * as Rerank from "./Rerank.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Workspaces from "./Workspaces.ts"

/** @since 0.1.0 */
export class FilesGroup extends HttpApiGroup.make("files")
  .add(
    Files.deleteFileEndpoint,
    Files.uploadFileEndpoint,
    Files.listFilesEndpoint,
    Files.getFileEndpoint,
    Files.fileContentEndpoint
  )
  .annotateMerge(OpenApi.annotations({ title: "Files" })) {}

/** @since 0.1.0 */
export class CurrentKeyGroup extends HttpApiGroup.make("key")
  .add(CurrentKey.currentKeyEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Current key" })) {}

/** @since 0.1.0 */
export class RerankGroup extends HttpApiGroup.make("rerank")
  .add(Rerank.rerankEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Rerank" })) {}

/** @since 0.1.0 */
export class TranscriptionGroup extends HttpApiGroup.make("transcription")
  .add(Transcription.transcribeEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Transcription" })) {}

/** @since 0.1.0 */
export class VideoGroup extends HttpApiGroup.make("videos")
  .add(Video.submitVideoEndpoint, Video.getVideoEndpoint, Video.videoContentEndpoint, Video.cancelVideoEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Videos" })) {}

/** @since 0.1.0 */
export class GuardrailsGroup extends HttpApiGroup.make("guardrails")
  .add(
    Guardrails.assignKeysEndpoint,
    Guardrails.unassignKeysEndpoint,
    Guardrails.listAssignmentsEndpoint,
    Guardrails.createGuardrailEndpoint,
    Guardrails.listGuardrailsEndpoint,
    Guardrails.getGuardrailEndpoint,
    Guardrails.updateGuardrailEndpoint,
    Guardrails.deleteGuardrailEndpoint
  )
  .annotateMerge(OpenApi.annotations({ title: "Guardrails" })) {}

/** @since 0.1.0 */
export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    Keys.createKeyEndpoint,
    Keys.listKeysEndpoint,
    Keys.getKeyEndpoint,
    Keys.updateKeyEndpoint,
    Keys.deleteKeyEndpoint,
    Keys.createEphemeralKeyEndpoint
  )
  .annotateMerge(OpenApi.annotations({ title: "Keys" })) {}

/** @since 0.1.0 */
export class ByokGroup extends HttpApiGroup.make("byok")
  .add(
    Byok.createByokKeyEndpoint,
    Byok.listByokKeysEndpoint,
    Byok.getByokKeyEndpoint,
    Byok.updateByokKeyEndpoint,
    Byok.deleteByokKeyEndpoint
  )
  .annotateMerge(OpenApi.annotations({ title: "Provider keys" })) {}

/** @since 0.1.0 */
export class WorkspacesGroup extends HttpApiGroup.make("workspaces")
  .add(Workspaces.getWorkspaceEndpoint, Workspaces.updateWorkspaceEndpoint, Workspaces.addCreditsEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Workspaces" })) {}

/** @since 0.1.0 */
export class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    Webhooks.rotateWebhookSecretEndpoint,
    Webhooks.listWebhookDeliveriesEndpoint,
    Webhooks.getWebhookDeliveryEndpoint,
    Webhooks.redeliverWebhookEndpoint
  )
  .annotateMerge(OpenApi.annotations({ title: "Webhooks" })) {}

/** @since 0.1.0 */
export class DestinationsGroup extends HttpApiGroup.make("destinations")
  .add(
    Destinations.createDestinationEndpoint,
    Destinations.listDestinationsEndpoint,
    Destinations.getDestinationEndpoint,
    Destinations.updateDestinationEndpoint,
    Destinations.deleteDestinationEndpoint
  )
  .annotateMerge(OpenApi.annotations({ title: "Broadcast destinations" })) {}

/** @since 0.1.0 */
export class ModelsGroup extends HttpApiGroup.make("models")
  .add(Models.listModelsEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Models" })) {}

/** @since 0.1.0 */
export class GenerationsGroup extends HttpApiGroup.make("generations")
  .add(Generations.getGenerationEndpoint, Generations.listGenerationsEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Request log" })) {}

/** @since 0.1.0 */
export class ActivityGroup extends HttpApiGroup.make("activity")
  .add(Activity.listActivityEndpoint)
  .annotateMerge(OpenApi.annotations({ title: "Activity" })) {}

/**
 * The contract.
 *
 * @since 0.1.0
 */
export class GatewayApi extends HttpApi.make("model-gateway")
  .add(
    FilesGroup,
    CurrentKeyGroup,
    RerankGroup,
    TranscriptionGroup,
    VideoGroup,
    GuardrailsGroup,
    KeysGroup,
    ByokGroup,
    WorkspacesGroup,
    WebhooksGroup,
    DestinationsGroup,
    ModelsGroup,
    GenerationsGroup,
    ActivityGroup
  )
  .prefix("/api/v1")
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  // The service collects the remaining issues of a body itself, at a bounded cost.
  .annotate(HttpApi.PayloadParseOptions, { errors: "first" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Model Gateway",
      version: "1.0.0",
      description:
        "Many AI providers through one HTTP/JSON API: files, keys, rerank, transcription, video, guardrails.",
      license: { name: "MIT" }
    })
  ) {}
