/**
 * The whole contract: every operation under `/api/v1`, version 1.0.0. The client,
 * the service, the test gateway and the OpenAPI document are all made from it.
 *
 * @since 0.1.0
 */
import { HttpApi, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorization, ManagementKey, SpendingKey } from "./Authorization.ts"
import * as CurrentKey from "./CurrentKey.ts"
import * as Files from "./Files.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Keys from "./Keys.ts"
import * as Models from "./Models.ts"
import * as Rerank from "./Rerank.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as Workspaces from "./Workspaces.ts"

/** @since 0.1.0 */
export class FilesGroup extends HttpApiGroup.make("files")
  .add(Files.deleteFile, Files.uploadFile, Files.listFiles, Files.getFile, Files.getFileContent)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Files" })) {}

/** @since 0.1.0 */
export class CurrentKeyGroup extends HttpApiGroup.make("key")
  .add(CurrentKey.currentKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Current key" })) {}

/** @since 0.1.0 */
export class RerankGroup extends HttpApiGroup.make("rerank")
  .add(Rerank.rerank)
  .middleware(SpendingKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Rerank" })) {}

/** @since 0.1.0 */
export class TranscriptionGroup extends HttpApiGroup.make("transcription")
  .add(Transcription.transcribe)
  .middleware(SpendingKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Transcription" })) {}

/** @since 0.1.0 */
export class VideoGroup extends HttpApiGroup.make("videos")
  .add(Video.submitVideo.middleware(SpendingKey), Video.getVideo, Video.getVideoContent, Video.cancelVideo)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Videos" })) {}

/** @since 0.1.0 */
export class GuardrailsGroup extends HttpApiGroup.make("guardrails")
  .add(
    Guardrails.assignKeys,
    Guardrails.unassignKeys,
    Guardrails.listAssignments,
    Guardrails.createGuardrail,
    Guardrails.listGuardrails,
    Guardrails.getGuardrail,
    Guardrails.updateGuardrail,
    Guardrails.deleteGuardrail
  )
  .middleware(ManagementKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Guardrails" })) {}

/** @since 0.1.0 */
export class KeysGroup extends HttpApiGroup.make("keys")
  .add(Keys.createKey, Keys.listKeys, Keys.getKey, Keys.updateKey, Keys.deleteKey)
  .middleware(ManagementKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Keys" })) {}

/** @since 0.1.0 */
export class WorkspacesGroup extends HttpApiGroup.make("workspaces")
  .add(Workspaces.getWorkspace, Workspaces.updateWorkspace, Workspaces.addCredits)
  .middleware(ManagementKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Workspaces" })) {}

/** @since 0.1.0 */
export class ModelsGroup extends HttpApiGroup.make("models")
  .add(Models.listModels)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Models" })) {}

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
    WorkspacesGroup,
    ModelsGroup
  )
  .prefix("/api/v1")
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Model Gateway",
      version: "1.0.0",
      description:
        "Many AI providers through one HTTP/JSON API: files, keys, rerank, transcription, video, guardrails.",
      license: { name: "MIT" }
    })
  ) {}
