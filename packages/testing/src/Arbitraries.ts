/**
 * Arbitraries of every wire type, for property tests. They are derived from the contract's schemas,
 * so that values satisfy all bounds, and failing values shrink.
 *
 * They are Effect arbitraries, for `it.effect.prop` of `@effect/vitest` and for `effect/Arbitrary`
 * (`sampleEffect`, `checkEffect`).
 *
 * @example
 * ```ts
 * import { Arbitraries } from "@model-gateway/testing"
 * import { Arbitrary } from "effect"
 *
 * const someJobs = Arbitrary.sampleEffect(Arbitraries.videoJob, { count: 3, seed: 1 })
 * ```
 *
 * @since 0.1.0
 */
import * as Credits from "@model-gateway/core/Credits"
import * as CurrentKey from "@model-gateway/core/CurrentKey"
import * as Files from "@model-gateway/core/Files"
import * as Guardrails from "@model-gateway/core/Guardrails"
import * as Identifiers from "@model-gateway/core/Identifiers"
import * as Keys from "@model-gateway/core/Keys"
import * as ModelEndpoints from "@model-gateway/core/ModelEndpoints"
import * as Models from "@model-gateway/core/Models"
import * as Providers from "@model-gateway/core/Providers"
import * as VideoModels from "@model-gateway/core/VideoModels"
import * as Rerank from "@model-gateway/core/Rerank"
import * as Routing from "@model-gateway/core/Routing"
import * as Trace from "@model-gateway/core/Trace"
import * as Transcription from "@model-gateway/core/Transcription"
import * as Video from "@model-gateway/core/Video"
import * as Workspaces from "@model-gateway/core/Workspaces"
import * as Arbitrary from "effect/Arbitrary"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"

/** Excludes negative zero, which JSON turns into zero. */
const wire = <S extends Schema.Top>(schema: S): Arbitrary.Arbitrary<S["Type"]> =>
  Arbitrary.map(Arbitrary.schema(schema), (value) => withoutNegativeZero(value) as S["Type"])

const withoutNegativeZero = (value: unknown): unknown =>
  typeof value === "number"
    ? value + 0
    : Array.isArray(value)
      ? value.map(withoutNegativeZero)
      : Predicate.isObject(value) && !Redacted.isRedacted(value)
        ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withoutNegativeZero(field)]))
        : value

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspaceId: Arbitrary.Arbitrary<typeof Identifiers.WorkspaceId.Type> = /* @__PURE__ */ wire(
  Identifiers.WorkspaceId
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const guardrailId: Arbitrary.Arbitrary<typeof Identifiers.GuardrailId.Type> = /* @__PURE__ */ wire(
  Identifiers.GuardrailId
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const fileId: Arbitrary.Arbitrary<typeof Identifiers.FileId.Type> = /* @__PURE__ */ wire(Identifiers.FileId)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const videoId: Arbitrary.Arbitrary<typeof Identifiers.VideoId.Type> = /* @__PURE__ */ wire(Identifiers.VideoId)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyHash: Arbitrary.Arbitrary<typeof Identifiers.KeyHash.Type> = /* @__PURE__ */ wire(Identifiers.KeyHash)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const timestamp: Arbitrary.Arbitrary<typeof Identifiers.Timestamp.Type> = /* @__PURE__ */ wire(
  Identifiers.Timestamp
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const idempotencyKey: Arbitrary.Arbitrary<typeof Identifiers.IdempotencyKey.Type> = /* @__PURE__ */ wire(
  Identifiers.IdempotencyKey
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const preferences: Arbitrary.Arbitrary<typeof Routing.Preferences.Type> = /* @__PURE__ */ wire(
  Routing.Preferences
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const trace: Arbitrary.Arbitrary<typeof Trace.Metadata.Type> = /* @__PURE__ */ wire(Trace.Metadata)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const rerankRequest: Arbitrary.Arbitrary<typeof Rerank.Request.Type> = /* @__PURE__ */ wire(Rerank.Request)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const rerankResponse: Arbitrary.Arbitrary<typeof Rerank.Response.Type> = /* @__PURE__ */ wire(Rerank.Response)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const transcriptionRequest: Arbitrary.Arbitrary<typeof Transcription.Request.Type> = /* @__PURE__ */ wire(
  Transcription.Request
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const transcriptionResponse: Arbitrary.Arbitrary<typeof Transcription.Response.Type> = /* @__PURE__ */ wire(
  Transcription.Response
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const videoRequest: Arbitrary.Arbitrary<typeof Video.Request.Type> = /* @__PURE__ */ wire(Video.Request)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const videoJob: Arbitrary.Arbitrary<typeof Video.Job.Type> = /* @__PURE__ */ wire(Video.Job)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const videoJobList: Arbitrary.Arbitrary<typeof Video.JobList.Type> = /* @__PURE__ */ wire(Video.JobList)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const deletion: Arbitrary.Arbitrary<typeof Files.Deletion.Type> = /* @__PURE__ */ wire(Files.Deletion)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const file: Arbitrary.Arbitrary<typeof Files.File.Type> = /* @__PURE__ */ wire(Files.File)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const fileList: Arbitrary.Arbitrary<typeof Files.FileList.Type> = /* @__PURE__ */ wire(Files.FileList)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyRecord: Arbitrary.Arbitrary<typeof CurrentKey.KeyRecord.Type> = /* @__PURE__ */ wire(
  CurrentKey.KeyRecord
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const currentKeyResponse: Arbitrary.Arbitrary<typeof CurrentKey.Response.Type> = /* @__PURE__ */ wire(
  CurrentKey.Response
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const guardrail: Arbitrary.Arbitrary<typeof Guardrails.Guardrail.Type> = /* @__PURE__ */ wire(
  Guardrails.Guardrail
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const guardrailCreateRequest: Arbitrary.Arbitrary<typeof Guardrails.CreateRequest.Type> = /* @__PURE__ */ wire(
  Guardrails.CreateRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const guardrailUpdateRequest: Arbitrary.Arbitrary<typeof Guardrails.UpdateRequest.Type> = /* @__PURE__ */ wire(
  Guardrails.UpdateRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const guardrailResponse: Arbitrary.Arbitrary<typeof Guardrails.Response.Type> = /* @__PURE__ */ wire(
  Guardrails.Response
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const guardrailListResponse: Arbitrary.Arbitrary<typeof Guardrails.ListResponse.Type> = /* @__PURE__ */ wire(
  Guardrails.ListResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const assignRequest: Arbitrary.Arbitrary<typeof Guardrails.AssignRequest.Type> = /* @__PURE__ */ wire(
  Guardrails.AssignRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const assignResponse: Arbitrary.Arbitrary<typeof Guardrails.AssignResponse.Type> = /* @__PURE__ */ wire(
  Guardrails.AssignResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const unassignResponse: Arbitrary.Arbitrary<typeof Guardrails.UnassignResponse.Type> = /* @__PURE__ */ wire(
  Guardrails.UnassignResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const assignmentList: Arbitrary.Arbitrary<typeof Guardrails.AssignmentList.Type> = /* @__PURE__ */ wire(
  Guardrails.AssignmentList
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const key: Arbitrary.Arbitrary<typeof Keys.Key.Type> = /* @__PURE__ */ wire(Keys.Key)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyCreateRequest: Arbitrary.Arbitrary<typeof Keys.CreateRequest.Type> = /* @__PURE__ */ wire(
  Keys.CreateRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyCreateResponse: Arbitrary.Arbitrary<typeof Keys.CreateResponse.Type> = /* @__PURE__ */ wire(
  Keys.CreateResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const ephemeralKeyRequest: Arbitrary.Arbitrary<typeof Keys.EphemeralRequest.Type> = /* @__PURE__ */ wire(
  Keys.EphemeralRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const ephemeralKeyResponse: Arbitrary.Arbitrary<typeof Keys.EphemeralResponse.Type> = /* @__PURE__ */ wire(
  Keys.EphemeralResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyUpdateRequest: Arbitrary.Arbitrary<typeof Keys.UpdateRequest.Type> = /* @__PURE__ */ wire(
  Keys.UpdateRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyResponse: Arbitrary.Arbitrary<typeof Keys.Response.Type> = /* @__PURE__ */ wire(Keys.Response)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const keyListResponse: Arbitrary.Arbitrary<typeof Keys.ListResponse.Type> = /* @__PURE__ */ wire(
  Keys.ListResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const model: Arbitrary.Arbitrary<typeof Models.Model.Type> = /* @__PURE__ */ wire(Models.Model)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const modelListResponse: Arbitrary.Arbitrary<typeof Models.ListResponse.Type> = /* @__PURE__ */ wire(
  Models.ListResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const modelCountResponse: Arbitrary.Arbitrary<typeof Models.CountResponse.Type> = /* @__PURE__ */ wire(
  Models.CountResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const modelResponse: Arbitrary.Arbitrary<typeof Models.Response.Type> = /* @__PURE__ */ wire(Models.Response)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const modelEndpoint: Arbitrary.Arbitrary<typeof ModelEndpoints.Endpoint.Type> = /* @__PURE__ */ wire(
  ModelEndpoints.Endpoint
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const modelEndpointsResponse: Arbitrary.Arbitrary<typeof ModelEndpoints.Response.Type> = /* @__PURE__ */ wire(
  ModelEndpoints.Response
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const videoModel: Arbitrary.Arbitrary<typeof VideoModels.VideoModel.Type> = /* @__PURE__ */ wire(
  VideoModels.VideoModel
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const videoModelListResponse: Arbitrary.Arbitrary<typeof VideoModels.ListResponse.Type> = /* @__PURE__ */ wire(
  VideoModels.ListResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const provider: Arbitrary.Arbitrary<typeof Providers.Provider.Type> = /* @__PURE__ */ wire(Providers.Provider)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const providerListResponse: Arbitrary.Arbitrary<typeof Providers.ListResponse.Type> = /* @__PURE__ */ wire(
  Providers.ListResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspace: Arbitrary.Arbitrary<typeof Workspaces.Workspace.Type> = /* @__PURE__ */ wire(
  Workspaces.Workspace
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspaceCreateRequest: Arbitrary.Arbitrary<typeof Workspaces.CreateRequest.Type> = /* @__PURE__ */ wire(
  Workspaces.CreateRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspaceUpdateRequest: Arbitrary.Arbitrary<typeof Workspaces.UpdateRequest.Type> = /* @__PURE__ */ wire(
  Workspaces.UpdateRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const credits: Arbitrary.Arbitrary<typeof Credits.Credits.Type> = /* @__PURE__ */ wire(Credits.Credits)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const creditsResponse: Arbitrary.Arbitrary<typeof Credits.Response.Type> = /* @__PURE__ */ wire(Credits.Response)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const creditLedgerResponse: Arbitrary.Arbitrary<typeof Credits.LedgerResponse.Type> = /* @__PURE__ */ wire(
  Credits.LedgerResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const addCreditsRequest: Arbitrary.Arbitrary<typeof Workspaces.AddCreditsRequest.Type> = /* @__PURE__ */ wire(
  Workspaces.AddCreditsRequest
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspaceResponse: Arbitrary.Arbitrary<typeof Workspaces.Response.Type> = /* @__PURE__ */ wire(
  Workspaces.Response
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspaceListResponse: Arbitrary.Arbitrary<typeof Workspaces.ListResponse.Type> = /* @__PURE__ */ wire(
  Workspaces.ListResponse
)

/**
 * @category arbitraries
 * @since 0.1.0
 */
export const workspaceDeleteResponse: Arbitrary.Arbitrary<typeof Workspaces.DeleteResponse.Type> = /* @__PURE__ */ wire(
  Workspaces.DeleteResponse
)
