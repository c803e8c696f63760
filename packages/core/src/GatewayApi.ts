/**
 * The whole contract: every operation under `/api/v1`, version 1.0.0. The service, the test gateway
 * and the OpenAPI document are derived from it. The client uses the same operations. An operation's
 * own file declares its responses (`Operation`); this file declares its request.
 *
 * @since 0.1.0
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Authorization, ManagementKey, SpendingKey } from "./Authorization.ts"
import * as CurrentKey from "./CurrentKey.ts"
import * as Files from "./Files.ts"
import * as Guardrails from "./Guardrails.ts"
import { idempotencyHeaders } from "./Idempotency.ts"
import { Decimal, FileId, GuardrailId, KeyHash, Page, VideoId, WorkspaceId } from "./Identifiers.ts"
import * as Keys from "./Keys.ts"
import * as Models from "./Models.ts"
import * as Rerank from "./Rerank.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as Workspaces from "./Workspaces.ts"

const scope = { workspace_id: Schema.optionalKey(WorkspaceId) }

const file = { file_id: FileId }
const guardrail = { id: GuardrailId }
const key = { hash: KeyHash }
const video = { id: VideoId }
const workspace = { id: WorkspaceId }

/** @since 0.1.0 */
export class FilesGroup extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.make(Files.deleteFile.method)(Files.deleteFile.identifier, Files.deleteFile.path, {
      ...Files.deleteFile,
      params: file,
      query: { ...scope, provider: Schema.optionalKey(Files.FileProvider) }
    }),
    HttpApiEndpoint.make(Files.uploadFile.method)(Files.uploadFile.identifier, Files.uploadFile.path, {
      ...Files.uploadFile,
      query: scope,
      payload: Files.Form.pipe(HttpApiSchema.asMultipart())
    }),
    HttpApiEndpoint.make(Files.listFiles.method)(Files.listFiles.identifier, Files.listFiles.path, {
      ...Files.listFiles,
      query: { ...scope, ...Page }
    }),
    HttpApiEndpoint.make(Files.getFile.method)(Files.getFile.identifier, Files.getFile.path, {
      ...Files.getFile,
      params: file,
      query: scope
    }),
    HttpApiEndpoint.make(Files.getFileContent.method)(Files.getFileContent.identifier, Files.getFileContent.path, {
      ...Files.getFileContent,
      success: HttpApiSchema.StreamUint8Array(),
      params: file,
      query: scope
    })
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Files" })) {}

/** @since 0.1.0 */
export class CurrentKeyGroup extends HttpApiGroup.make("key")
  .add(
    HttpApiEndpoint.make(CurrentKey.currentKey.method)(CurrentKey.currentKey.identifier, CurrentKey.currentKey.path, {
      ...CurrentKey.currentKey
    })
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Current key" })) {}

/** @since 0.1.0 */
export class RerankGroup extends HttpApiGroup.make("rerank")
  .add(
    HttpApiEndpoint.make(Rerank.rerank.method)(Rerank.rerank.identifier, Rerank.rerank.path, {
      ...Rerank.rerank,
      headers: idempotencyHeaders,
      payload: Rerank.Request
    })
  )
  .middleware(SpendingKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Rerank" })) {}

/** @since 0.1.0 */
export class TranscriptionGroup extends HttpApiGroup.make("transcription")
  .add(
    HttpApiEndpoint.make(Transcription.transcribe.method)(
      Transcription.transcribe.identifier,
      Transcription.transcribe.path,
      {
        ...Transcription.transcribe,
        headers: idempotencyHeaders,
        payload: [Transcription.Request, Transcription.Form.pipe(HttpApiSchema.asMultipart())]
      }
    )
  )
  .middleware(SpendingKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Transcription" })) {}

/** @since 0.1.0 */
export class VideoGroup extends HttpApiGroup.make("videos")
  .add(
    HttpApiEndpoint.make(Video.submitVideo.method)(Video.submitVideo.identifier, Video.submitVideo.path, {
      ...Video.submitVideo,
      headers: idempotencyHeaders,
      payload: Video.Request
    }).middleware(SpendingKey),
    HttpApiEndpoint.make(Video.getVideo.method)(Video.getVideo.identifier, Video.getVideo.path, {
      ...Video.getVideo,
      params: video,
      query: {
        /** Seconds to wait for the status to change. */
        wait: Schema.optionalKey(Decimal.check(Schema.isBetween({ minimum: 0, maximum: 60 })))
      }
    }),
    HttpApiEndpoint.make(Video.getVideoContent.method)(Video.getVideoContent.identifier, Video.getVideoContent.path, {
      ...Video.getVideoContent,
      success: HttpApiSchema.StreamUint8Array({ contentType: "video/mp4" }),
      params: video,
      query: {
        /** Which of the job's videos, counted from 0. Default: 0. */
        index: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0)))
      }
    }),
    HttpApiEndpoint.make(Video.cancelVideo.method)(Video.cancelVideo.identifier, Video.cancelVideo.path, {
      ...Video.cancelVideo,
      params: video
    })
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Videos" })) {}

/** @since 0.1.0 */
export class GuardrailsGroup extends HttpApiGroup.make("guardrails")
  .add(
    HttpApiEndpoint.make(Guardrails.assignKeys.method)(Guardrails.assignKeys.identifier, Guardrails.assignKeys.path, {
      ...Guardrails.assignKeys,
      params: guardrail,
      payload: Guardrails.AssignRequest
    }),
    HttpApiEndpoint.make(Guardrails.unassignKeys.method)(
      Guardrails.unassignKeys.identifier,
      Guardrails.unassignKeys.path,
      { ...Guardrails.unassignKeys, params: guardrail, payload: Guardrails.AssignRequest }
    ),
    HttpApiEndpoint.make(Guardrails.listAssignments.method)(
      Guardrails.listAssignments.identifier,
      Guardrails.listAssignments.path,
      { ...Guardrails.listAssignments, params: guardrail, query: Page }
    ),
    HttpApiEndpoint.make(Guardrails.createGuardrail.method)(
      Guardrails.createGuardrail.identifier,
      Guardrails.createGuardrail.path,
      { ...Guardrails.createGuardrail, payload: Guardrails.CreateRequest }
    ),
    HttpApiEndpoint.make(Guardrails.listGuardrails.method)(
      Guardrails.listGuardrails.identifier,
      Guardrails.listGuardrails.path,
      { ...Guardrails.listGuardrails, query: Page }
    ),
    HttpApiEndpoint.make(Guardrails.getGuardrail.method)(
      Guardrails.getGuardrail.identifier,
      Guardrails.getGuardrail.path,
      { ...Guardrails.getGuardrail, params: guardrail }
    ),
    HttpApiEndpoint.make(Guardrails.updateGuardrail.method)(
      Guardrails.updateGuardrail.identifier,
      Guardrails.updateGuardrail.path,
      { ...Guardrails.updateGuardrail, params: guardrail, payload: Guardrails.UpdateRequest }
    ),
    HttpApiEndpoint.make(Guardrails.deleteGuardrail.method)(
      Guardrails.deleteGuardrail.identifier,
      Guardrails.deleteGuardrail.path,
      { ...Guardrails.deleteGuardrail, params: guardrail }
    )
  )
  .middleware(ManagementKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Guardrails" })) {}

/** @since 0.1.0 */
export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.make(Keys.createKey.method)(Keys.createKey.identifier, Keys.createKey.path, {
      ...Keys.createKey,
      payload: Keys.CreateRequest
    }),
    HttpApiEndpoint.make(Keys.listKeys.method)(Keys.listKeys.identifier, Keys.listKeys.path, {
      ...Keys.listKeys,
      query: {
        ...scope,
        ...Page,
        /** List only the unexpired ephemeral keys of this parent. */
        parent_hash: Schema.optionalKey(KeyHash)
      }
    }),
    HttpApiEndpoint.make(Keys.getKey.method)(Keys.getKey.identifier, Keys.getKey.path, { ...Keys.getKey, params: key }),
    HttpApiEndpoint.make(Keys.updateKey.method)(Keys.updateKey.identifier, Keys.updateKey.path, {
      ...Keys.updateKey,
      params: key,
      payload: Keys.UpdateRequest
    }),
    HttpApiEndpoint.make(Keys.deleteKey.method)(Keys.deleteKey.identifier, Keys.deleteKey.path, {
      ...Keys.deleteKey,
      params: key
    })
  )
  .middleware(ManagementKey)
  .add(
    HttpApiEndpoint.make(Keys.createEphemeralKey.method)(
      Keys.createEphemeralKey.identifier,
      Keys.createEphemeralKey.path,
      // Null: the request may have no body.
      { ...Keys.createEphemeralKey, payload: [Keys.EphemeralRequest, Schema.Null] }
    ).middleware(SpendingKey)
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Keys" })) {}

/** @since 0.1.0 */
export class WorkspacesGroup extends HttpApiGroup.make("workspaces")
  .add(
    HttpApiEndpoint.make(Workspaces.getWorkspace.method)(
      Workspaces.getWorkspace.identifier,
      Workspaces.getWorkspace.path,
      { ...Workspaces.getWorkspace, params: workspace }
    ),
    HttpApiEndpoint.make(Workspaces.updateWorkspace.method)(
      Workspaces.updateWorkspace.identifier,
      Workspaces.updateWorkspace.path,
      { ...Workspaces.updateWorkspace, params: workspace, payload: Workspaces.UpdateRequest }
    ),
    HttpApiEndpoint.make(Workspaces.addCredits.method)(Workspaces.addCredits.identifier, Workspaces.addCredits.path, {
      ...Workspaces.addCredits,
      params: workspace,
      headers: idempotencyHeaders,
      payload: Workspaces.AddCreditsRequest
    })
  )
  .middleware(ManagementKey)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Workspaces" })) {}

/** @since 0.1.0 */
export class ModelsGroup extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.make(Models.listModels.method)(Models.listModels.identifier, Models.listModels.path, {
      ...Models.listModels,
      query: { kind: Schema.optionalKey(Models.ModelKind) }
    })
  )
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
