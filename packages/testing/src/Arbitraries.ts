/**
 * Generated values of every type of the wire, for property tests: derived from the
 * contract's schemas, so within all of its bounds, and shrunk when a property
 * fails.
 *
 * They are Effect's own arbitraries: give them to `it.effect.prop` of
 * `@effect/vitest`, or to `effect/Arbitrary` (`sampleEffect`, `checkEffect`).
 *
 * @example
 * ```ts
 * import { Arbitraries } from "@model-gateway/testing"
 * import { Arbitrary, Effect } from "effect"
 *
 * const someJobs = Arbitrary.sampleEffect(Arbitraries.videoJob, { count: 3, seed: 1 })
 * ```
 *
 * @since 0.1.0
 */
import * as CurrentKey from "@model-gateway/core/CurrentKey"
import * as Files from "@model-gateway/core/Files"
import * as Guardrails from "@model-gateway/core/Guardrails"
import * as Identifiers from "@model-gateway/core/Identifiers"
import * as Keys from "@model-gateway/core/Keys"
import * as Models from "@model-gateway/core/Models"
import * as Rerank from "@model-gateway/core/Rerank"
import * as Routing from "@model-gateway/core/Routing"
import * as Trace from "@model-gateway/core/Trace"
import * as Transcription from "@model-gateway/core/Transcription"
import * as Video from "@model-gateway/core/Video"
import * as Workspaces from "@model-gateway/core/Workspaces"
import * as Arbitrary from "effect/Arbitrary"

/** @since 0.1.0 */
export const workspaceId: Arbitrary.Arbitrary<typeof Identifiers.WorkspaceId.Type> = /* @__PURE__ */ Arbitrary.schema(
  Identifiers.WorkspaceId
)

/** @since 0.1.0 */
export const guardrailId: Arbitrary.Arbitrary<typeof Identifiers.GuardrailId.Type> = /* @__PURE__ */ Arbitrary.schema(
  Identifiers.GuardrailId
)

/** @since 0.1.0 */
export const fileId: Arbitrary.Arbitrary<typeof Identifiers.FileId.Type> = /* @__PURE__ */ Arbitrary.schema(
  Identifiers.FileId
)

/** @since 0.1.0 */
export const videoId: Arbitrary.Arbitrary<typeof Identifiers.VideoId.Type> = /* @__PURE__ */ Arbitrary.schema(
  Identifiers.VideoId
)

/** @since 0.1.0 */
export const keyHash: Arbitrary.Arbitrary<typeof Identifiers.KeyHash.Type> = /* @__PURE__ */ Arbitrary.schema(
  Identifiers.KeyHash
)

/** @since 0.1.0 */
export const timestamp: Arbitrary.Arbitrary<typeof Identifiers.Timestamp.Type> = /* @__PURE__ */ Arbitrary.schema(
  Identifiers.Timestamp
)

/** @since 0.1.0 */
export const idempotencyKey: Arbitrary.Arbitrary<typeof Identifiers.IdempotencyKey.Type> =
  /* @__PURE__ */ Arbitrary.schema(Identifiers.IdempotencyKey)

/** @since 0.1.0 */
export const preferences: Arbitrary.Arbitrary<typeof Routing.Preferences.Type> = /* @__PURE__ */ Arbitrary.schema(
  Routing.Preferences
)

/** @since 0.1.0 */
export const trace: Arbitrary.Arbitrary<typeof Trace.Metadata.Type> = /* @__PURE__ */ Arbitrary.schema(Trace.Metadata)

/** @since 0.1.0 */
export const rerankRequest: Arbitrary.Arbitrary<typeof Rerank.Request.Type> = /* @__PURE__ */ Arbitrary.schema(
  Rerank.Request
)

/** @since 0.1.0 */
export const rerankResponse: Arbitrary.Arbitrary<typeof Rerank.Response.Type> = /* @__PURE__ */ Arbitrary.schema(
  Rerank.Response
)

/** @since 0.1.0 */
export const transcriptionRequest: Arbitrary.Arbitrary<typeof Transcription.Request.Type> =
  /* @__PURE__ */ Arbitrary.schema(Transcription.Request)

/** @since 0.1.0 */
export const transcriptionResponse: Arbitrary.Arbitrary<typeof Transcription.Response.Type> =
  /* @__PURE__ */ Arbitrary.schema(Transcription.Response)

/** @since 0.1.0 */
export const videoRequest: Arbitrary.Arbitrary<typeof Video.Request.Type> = /* @__PURE__ */ Arbitrary.schema(
  Video.Request
)

/** @since 0.1.0 */
export const videoJob: Arbitrary.Arbitrary<typeof Video.Job.Type> = /* @__PURE__ */ Arbitrary.schema(Video.Job)

/** @since 0.1.0 */
export const deletion: Arbitrary.Arbitrary<typeof Files.Deletion.Type> = /* @__PURE__ */ Arbitrary.schema(
  Files.Deletion
)

/** @since 0.1.0 */
export const file: Arbitrary.Arbitrary<typeof Files.File.Type> = /* @__PURE__ */ Arbitrary.schema(Files.File)

/** @since 0.1.0 */
export const fileList: Arbitrary.Arbitrary<typeof Files.FileList.Type> = /* @__PURE__ */ Arbitrary.schema(
  Files.FileList
)

/** @since 0.1.0 */
export const keyRecord: Arbitrary.Arbitrary<typeof CurrentKey.KeyRecord.Type> = /* @__PURE__ */ Arbitrary.schema(
  CurrentKey.KeyRecord
)

/** @since 0.1.0 */
export const currentKeyResponse: Arbitrary.Arbitrary<typeof CurrentKey.Response.Type> =
  /* @__PURE__ */ Arbitrary.schema(CurrentKey.Response)

/** @since 0.1.0 */
export const guardrail: Arbitrary.Arbitrary<typeof Guardrails.Guardrail.Type> = /* @__PURE__ */ Arbitrary.schema(
  Guardrails.Guardrail
)

/** @since 0.1.0 */
export const guardrailCreateRequest: Arbitrary.Arbitrary<typeof Guardrails.CreateRequest.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.CreateRequest)

/** @since 0.1.0 */
export const guardrailUpdateRequest: Arbitrary.Arbitrary<typeof Guardrails.UpdateRequest.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.UpdateRequest)

/** @since 0.1.0 */
export const guardrailResponse: Arbitrary.Arbitrary<typeof Guardrails.Response.Type> = /* @__PURE__ */ Arbitrary.schema(
  Guardrails.Response
)

/** @since 0.1.0 */
export const guardrailListResponse: Arbitrary.Arbitrary<typeof Guardrails.ListResponse.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.ListResponse)

/** @since 0.1.0 */
export const assignRequest: Arbitrary.Arbitrary<typeof Guardrails.AssignRequest.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.AssignRequest)

/** @since 0.1.0 */
export const assignResponse: Arbitrary.Arbitrary<typeof Guardrails.AssignResponse.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.AssignResponse)

/** @since 0.1.0 */
export const unassignResponse: Arbitrary.Arbitrary<typeof Guardrails.UnassignResponse.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.UnassignResponse)

/** @since 0.1.0 */
export const assignmentList: Arbitrary.Arbitrary<typeof Guardrails.AssignmentList.Type> =
  /* @__PURE__ */ Arbitrary.schema(Guardrails.AssignmentList)

/** @since 0.1.0 */
export const key: Arbitrary.Arbitrary<typeof Keys.Key.Type> = /* @__PURE__ */ Arbitrary.schema(Keys.Key)

/** @since 0.1.0 */
export const keyCreateRequest: Arbitrary.Arbitrary<typeof Keys.CreateRequest.Type> = /* @__PURE__ */ Arbitrary.schema(
  Keys.CreateRequest
)

/** @since 0.1.0 */
export const keyCreateResponse: Arbitrary.Arbitrary<typeof Keys.CreateResponse.Type> = /* @__PURE__ */ Arbitrary.schema(
  Keys.CreateResponse
)

/** @since 0.1.0 */
export const keyUpdateRequest: Arbitrary.Arbitrary<typeof Keys.UpdateRequest.Type> = /* @__PURE__ */ Arbitrary.schema(
  Keys.UpdateRequest
)

/** @since 0.1.0 */
export const keyResponse: Arbitrary.Arbitrary<typeof Keys.Response.Type> = /* @__PURE__ */ Arbitrary.schema(
  Keys.Response
)

/** @since 0.1.0 */
export const keyListResponse: Arbitrary.Arbitrary<typeof Keys.ListResponse.Type> = /* @__PURE__ */ Arbitrary.schema(
  Keys.ListResponse
)

/** @since 0.1.0 */
export const model: Arbitrary.Arbitrary<typeof Models.Model.Type> = /* @__PURE__ */ Arbitrary.schema(Models.Model)

/** @since 0.1.0 */
export const modelListResponse: Arbitrary.Arbitrary<typeof Models.ListResponse.Type> = /* @__PURE__ */ Arbitrary.schema(
  Models.ListResponse
)

/** @since 0.1.0 */
export const workspace: Arbitrary.Arbitrary<typeof Workspaces.Workspace.Type> = /* @__PURE__ */ Arbitrary.schema(
  Workspaces.Workspace
)

/** @since 0.1.0 */
export const workspaceUpdateRequest: Arbitrary.Arbitrary<typeof Workspaces.UpdateRequest.Type> =
  /* @__PURE__ */ Arbitrary.schema(Workspaces.UpdateRequest)

/** @since 0.1.0 */
export const addCreditsRequest: Arbitrary.Arbitrary<typeof Workspaces.AddCreditsRequest.Type> =
  /* @__PURE__ */ Arbitrary.schema(Workspaces.AddCreditsRequest)

/** @since 0.1.0 */
export const workspaceResponse: Arbitrary.Arbitrary<typeof Workspaces.Response.Type> = /* @__PURE__ */ Arbitrary.schema(
  Workspaces.Response
)
