import { describe, expect, it } from "@effect/vitest"
import {
  Activity,
  Byok,
  ConsoleSessions,
  CohereRerank,
  Credits,
  CurrentKey,
  Alerts,
  Destinations,
  Files,
  GatewayError,
  Generations,
  Guardrails,
  Identifiers,
  Keys,
  ModelEndpoints,
  Models,
  ProviderHealth,
  Providers,
  AuditLog,
  RejectedRequests,
  Rerank,
  Reservations,
  Routing,
  System,
  Trace,
  Transcription,
  Video,
  VideoModels,
  Webhooks,
  Workspaces
} from "@model-gateway/core"
import { Arbitraries, Samples } from "@model-gateway/testing"
import { Arbitrary, Effect, Schema } from "effect"

/** The schema of each sample and each arbitrary, by its name. */
const schemas = {
  workspaceId: Identifiers.WorkspaceId,
  organizationId: Schema.String,
  guardrailId: Identifiers.GuardrailId,
  fileId: Identifiers.FileId,
  videoId: Identifiers.VideoId,
  keyHash: Identifiers.KeyHash,
  timestamp: Identifiers.Timestamp,
  idempotencyKey: Identifiers.IdempotencyKey,
  preferences: Routing.Preferences,
  trace: Trace.Metadata,
  rerankRequest: Rerank.Request,
  rerankResponse: Rerank.Response,
  cohereRerankRequest: CohereRerank.Request,
  cohereRerankResponse: CohereRerank.Response,
  cohereRerankV1Request: CohereRerank.RequestV1,
  cohereRerankV1Response: CohereRerank.ResponseV1,
  transcriptionRequest: Transcription.Request,
  transcriptionResponse: Transcription.Response,
  transcriptionVerboseResponse: Transcription.Response,
  videoRequest: Video.Request,
  videoJob: Video.Job,
  videoJobList: Video.JobList,
  deletion: Files.Deletion,
  file: Files.File,
  fileList: Files.FileList,
  keyRecord: CurrentKey.KeyRecord,
  currentKeyResponse: CurrentKey.Response,
  guardrail: Guardrails.Guardrail,
  guardrailCreateRequest: Guardrails.CreateRequest,
  guardrailUpdateRequest: Guardrails.UpdateRequest,
  guardrailResponse: Guardrails.Response,
  guardrailListResponse: Guardrails.ListResponse,
  guardrailDeleteResponse: Guardrails.DeleteResponse,
  assignRequest: Guardrails.AssignRequest,
  assignResponse: Guardrails.AssignResponse,
  unassignResponse: Guardrails.UnassignResponse,
  assignmentList: Guardrails.AssignmentList,
  key: Keys.Key,
  keyCreateRequest: Keys.CreateRequest,
  keyCreateResponse: Keys.CreateResponse,
  keyRotateRequest: Keys.RotateRequest,
  keyRotateResponse: Keys.RotateResponse,
  ephemeralKey: Keys.Key,
  ephemeralKeyRequest: Keys.EphemeralRequest,
  ephemeralKeyResponse: Keys.EphemeralResponse,
  keyUpdateRequest: Keys.UpdateRequest,
  keyResponse: Keys.Response,
  keyListResponse: Keys.ListResponse,
  keyDeleteResponse: Keys.DeleteResponse,
  model: Models.Model,
  modelListResponse: Models.ListResponse,
  modelCountResponse: Models.CountResponse,
  modelResponse: Models.Response,
  modelEndpoint: ModelEndpoints.Endpoint,
  modelEndpointsResponse: ModelEndpoints.Response,
  videoModel: VideoModels.VideoModel,
  videoModelListResponse: VideoModels.ListResponse,
  provider: Providers.Provider,
  providerListResponse: Providers.ListResponse,
  workspace: Workspaces.Workspace,
  workspaceCreateRequest: Workspaces.CreateRequest,
  workspaceUpdateRequest: Workspaces.UpdateRequest,
  credits: Credits.Credits,
  creditsResponse: Credits.Response,
  creditLedgerEntry: Credits.LedgerEntry,
  creditLedgerResponse: Credits.LedgerResponse,
  byokTestResponse: Byok.TestResponse,
  destinationTestResponse: Destinations.TestResponse,
  instance: System.Instance,
  instancesResponse: System.InstancesResponse,
  settingsResponse: System.SettingsResponse,
  consoleSessionListResponse: ConsoleSessions.ListResponse,
  consoleSessionEndResponse: ConsoleSessions.EndResponse,
  reservation: Reservations.Reservation,
  reservationListResponse: Reservations.ListResponse,
  addCreditsRequest: Workspaces.AddCreditsRequest,
  workspaceResponse: Workspaces.Response,
  workspaceListResponse: Workspaces.ListResponse,
  workspaceDeleteResponse: Workspaces.DeleteResponse,
  webhookRotateRequest: Webhooks.RotateRequest,
  webhookRotateResponse: Webhooks.RotateResponse,
  webhookDelivery: Webhooks.Delivery,
  webhookDeliveryResponse: Webhooks.DeliveryResponse,
  webhookDeliveryListResponse: Webhooks.DeliveryListResponse,
  byokKeyId: Identifiers.ByokKeyId,
  byokKey: Byok.ByokKey,
  byokCreateRequest: Byok.CreateRequest,
  byokUpdateRequest: Byok.UpdateRequest,
  byokResponse: Byok.Response,
  byokListResponse: Byok.ListResponse,
  byokDeleteResponse: Byok.DeleteResponse,
  destinationId: Schema.String.check(Schema.isUUID()),
  alert: Alerts.Alert,
  alertCreateRequest: Alerts.CreateRequest,
  alertUpdateRequest: Alerts.UpdateRequest,
  alertResponse: Alerts.Response,
  alertListResponse: Alerts.ListResponse,
  alertDeleteResponse: Alerts.DeleteResponse,
  alertTestResponse: Alerts.TestResponse,
  alertFiring: Alerts.Firing,
  alertFiringListResponse: Alerts.FiringListResponse,
  destination: Destinations.Destination,
  destinationCreateRequest: Destinations.CreateRequest,
  destinationUpdateRequest: Destinations.UpdateRequest,
  destinationCreateResponse: Destinations.CreateResponse,
  destinationResponse: Destinations.Response,
  destinationListResponse: Destinations.ListResponse,
  destinationDeleteResponse: Destinations.DeleteResponse,
  generationId: Schema.String,
  generation: Generations.Generation,
  generationResponse: Generations.Response,
  generationEntry: Generations.Entry,
  generationListResponse: Generations.ListResponse,
  auditEntry: AuditLog.AuditEntry,
  auditListResponse: AuditLog.ListResponse,
  rejectedRequest: RejectedRequests.RejectedRequest,
  rejectedRequestListResponse: RejectedRequests.ListResponse,
  providerHealth: ProviderHealth.Endpoint,
  providerHealthResponse: ProviderHealth.Response,
  activityItem: Activity.Item,
  activityResponse: Activity.Response
} satisfies { readonly [name: string]: Schema.Codec<unknown, unknown> }

const { deletions, errors, transcriptionUpload, upload, videoJobs, wav, wavFile, ...samples } = Samples

describe("Samples", () => {
  it("has every wire type except trivial ones", () => {
    const named = new Set([...Object.keys(samples), "idempotencyKey", "videoJob", "deletion"])
    expect(named).toEqual(new Set(Object.keys(schemas)))
  })

  for (const [name, sample] of Object.entries<unknown>(samples)) {
    it(`${name} decodes to itself, without unknown fields`, () => {
      const schema: Schema.Codec<unknown, unknown> =
        Object.entries(schemas).find(([key]) => key === name)?.[1] ?? Schema.Never
      const decoded = Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(
        JSON.parse(JSON.stringify(sample))
      )
      expect(decoded).toEqual(sample)
    })
  }

  it("has a video job in each state and a deletion in each shape", () => {
    for (const [status, job] of Object.entries(videoJobs)) {
      expect(Schema.decodeUnknownSync(Video.Job, { onExcessProperty: "error" })(job)).toEqual(job)
      expect(job.status).toBe(status)
    }
    expect(Object.keys(videoJobs)).toEqual(Video.Status.literals)
    for (const [shape, deletion] of Object.entries(deletions)) {
      expect(Schema.decodeUnknownSync(Files.Deletion, { onExcessProperty: "error" })(deletion)).toEqual(deletion)
      expect(deletion._shape).toBe(shape)
    }
    expect(Object.keys(deletions)).toEqual(Files.DeletionShape.literals)
  })

  it("has an error for each status of the specification", () => {
    const statuses = [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529]
    expect(Object.keys(errors)).toEqual(statuses.map(String))
    for (const [status, error] of Object.entries(errors)) {
      expect(error).toBeInstanceOf(GatewayError.EnvelopeError)
      expect([error.status, error.isRetryable]).toEqual([
        Number(status),
        GatewayError.retryableStatuses.some((retryable) => retryable === Number(status))
      ])
    }
  })

  it("the audio is a WAV whose length matches its header", async () => {
    const view = new DataView(wav.buffer)
    const text = new TextDecoder("latin1").decode(wav.subarray(0, 40))
    expect([text.slice(0, 4), text.slice(8, 16), text.slice(36, 40)]).toEqual(["RIFF", "WAVEfmt ", "data"])
    expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([wav.length - 8, wav.length - 44])
    expect(await wavFile.bytes()).toEqual(wav)
    expect(transcriptionUpload.file).toBe(wavFile)
    expect(upload.file).toBe(wavFile)
    expect(Buffer.from(samples.transcriptionRequest.input_audio.data, "base64")).toEqual(Buffer.from(wav))
  })
})

describe("Arbitraries", () => {
  it.effect("each generates values that survive JSON and satisfy their schema", () =>
    Effect.gen(function* () {
      expect(Object.keys(Arbitraries).length).toBeGreaterThanOrEqual(40)
      for (const [name, arbitrary] of Object.entries<Arbitrary.Arbitrary<unknown>>(Arbitraries)) {
        const schema: Schema.Codec<unknown, unknown> =
          Object.entries(schemas).find(([key]) => key === name)?.[1] ?? Schema.Never
        const values = yield* Arbitrary.sampleEffect(arbitrary, { count: 20, seed: name })
        for (const value of values) {
          const encoded = Schema.encodeSync(schema)(value)
          const wire: unknown = JSON.parse(JSON.stringify(encoded))
          const decoded = Schema.decodeUnknownSync(schema)(wire)
          expect(decoded).toEqual(value)
          // A redacted value looks like any other.
          expect(Schema.encodeSync(schema)(decoded)).toEqual(encoded)
        }
      }
    })
  )
})
