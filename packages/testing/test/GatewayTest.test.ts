import { describe, expect, it } from "@effect/vitest"
import {
  Activity,
  Byok,
  CohereRerank,
  type ClientError,
  Destinations,
  Gateway,
  type GatewayClient,
  GatewayError,
  Generations,
  Guardrails,
  ModelEndpoints,
  Models,
  Providers,
  RetryPolicy,
  Video,
  VideoModels,
  Webhooks
} from "@model-gateway/core"
import { Contract, Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Cause, Clock, Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"

type Client = Gateway.Gateway["Service"]

/** A call by a function of the operation's module instead of the client's method. */
const using =
  <A, E>(call: Effect.Effect<A, E, GatewayClient.GatewayClient>) =>
  () =>
    call

/** For every operation: the client's call, the wire response, and the client's result. */
const operations: {
  readonly [Op in Contract.OperationName]: {
    readonly call: (
      gateway: Client
    ) => Effect.Effect<unknown, GatewayError.GatewayError | ClientError.ClientError, GatewayClient.GatewayClient>
    readonly answer: GatewayTest.Handler<Op>
    readonly result: unknown
  }
} = {
  deleteFile: {
    call: (gateway) =>
      gateway.deleteFile(Samples.fileId, { workspace_id: Samples.workspaceId, provider: "provider_a" }),
    answer: Samples.deletions.compat_a,
    result: Samples.deletions.compat_a
  },
  currentKey: {
    call: (gateway) => gateway.currentKey,
    answer: Samples.currentKeyResponse,
    result: Samples.keyRecord
  },
  rerank: {
    call: (gateway) => gateway.rerank(Samples.rerankRequest),
    answer: Samples.rerankResponse,
    result: Samples.rerankResponse
  },
  transcribe: {
    call: (gateway) => gateway.transcribe(Samples.transcriptionRequest),
    answer: Samples.transcriptionVerboseResponse,
    result: Samples.transcriptionVerboseResponse
  },
  submitVideo: {
    call: (gateway) => gateway.submitVideo(Samples.videoRequest),
    answer: Samples.videoJobs.pending,
    result: Samples.videoJobs.pending
  },
  assignKeys: {
    call: (gateway) => gateway.assignKeys(Samples.guardrailId, Samples.assignRequest),
    answer: Samples.assignResponse,
    result: Samples.assignResponse
  },
  uploadFile: { call: (gateway) => gateway.uploadFile(Samples.upload), answer: Samples.file, result: Samples.file },
  listFiles: {
    call: (gateway) => gateway.listFiles({ limit: 3, after: "x" }),
    answer: Samples.fileList,
    result: Samples.fileList
  },
  getFile: { call: (gateway) => gateway.getFile(Samples.fileId), answer: Samples.file, result: Samples.file },
  fileContent: {
    call: (gateway) => Stream.mkUint8Array(gateway.fileContent(Samples.fileId)),
    answer: Samples.wav,
    result: Samples.wav
  },
  listVideos: {
    call: using(Video.listVideos({ status: "completed" })),
    answer: Samples.videoJobList,
    result: Samples.videoJobList
  },
  getVideo: {
    call: (gateway) => gateway.getVideo(Samples.videoId, { wait: "2500 millis" }),
    answer: Samples.videoJobs.in_progress,
    result: Samples.videoJobs.in_progress
  },
  videoContent: {
    call: (gateway) => Stream.mkUint8Array(gateway.videoContent(Samples.videoId, { index: 1 })),
    answer: Stream.make(Samples.wav.subarray(0, 400), Samples.wav.subarray(400)),
    result: Samples.wav
  },
  cancelVideo: {
    call: (gateway) => gateway.cancelVideo(Samples.videoId),
    answer: Samples.videoJobs.cancelled,
    result: Samples.videoJobs.cancelled
  },
  listModels: {
    call: (gateway) => gateway.listModels({ output_modalities: "video" }),
    answer: Samples.modelListResponse,
    result: Samples.modelListResponse
  },
  countModels: { call: using(Models.countModels()), answer: Samples.modelCountResponse, result: 1 },
  getModel: { call: using(Models.getModel("a/b/c:free")), answer: Samples.modelResponse, result: Samples.model },
  listModelEndpoints: {
    call: using(ModelEndpoints.listModelEndpoints("sandbox/title-card")),
    answer: Samples.modelEndpointsResponse,
    result: Samples.modelEndpointsResponse.data
  },
  listVideoModels: {
    call: using(VideoModels.listVideoModels),
    answer: Samples.videoModelListResponse,
    result: Samples.videoModelListResponse
  },
  listProviders: {
    call: using(Providers.listProviders),
    answer: Samples.providerListResponse,
    result: Samples.providerListResponse
  },
  createEphemeralKey: {
    call: (gateway) => gateway.createEphemeralKey(Samples.ephemeralKeyRequest),
    answer: Samples.ephemeralKeyResponse,
    result: Samples.ephemeralKeyResponse
  },
  createKey: {
    call: (gateway) => gateway.createKey(Samples.keyCreateRequest),
    answer: Samples.keyCreateResponse,
    result: Samples.keyCreateResponse
  },
  listKeys: {
    call: (gateway) => gateway.listKeys({ workspace_id: Samples.workspaceId }),
    answer: Samples.keyListResponse,
    result: Samples.keyListResponse
  },
  getKey: { call: (gateway) => gateway.getKey(Samples.keyHash), answer: Samples.keyResponse, result: Samples.key },
  updateKey: {
    call: (gateway) => gateway.updateKey(Samples.keyHash, Samples.keyUpdateRequest),
    answer: Samples.keyResponse,
    result: Samples.key
  },
  deleteKey: {
    call: (gateway) => gateway.deleteKey(Samples.keyHash),
    answer: Samples.keyDeleteResponse,
    result: undefined
  },
  createGuardrail: {
    call: (gateway) => gateway.createGuardrail(Samples.guardrailCreateRequest),
    answer: Samples.guardrailResponse,
    result: Samples.guardrail
  },
  listGuardrails: {
    call: (gateway) => gateway.listGuardrails({ limit: 1 }),
    answer: Samples.guardrailListResponse,
    result: Samples.guardrailListResponse
  },
  getGuardrail: {
    call: (gateway) => gateway.getGuardrail(Samples.guardrailId),
    answer: Samples.guardrailResponse,
    result: Samples.guardrail
  },
  updateGuardrail: {
    call: (gateway) => gateway.updateGuardrail(Samples.guardrailId, Samples.guardrailUpdateRequest),
    answer: Samples.guardrailResponse,
    result: Samples.guardrail
  },
  deleteGuardrail: {
    call: (gateway) => gateway.deleteGuardrail(Samples.guardrailId),
    answer: Samples.guardrailDeleteResponse,
    result: undefined
  },
  unassignKeys: {
    call: (gateway) => gateway.unassignKeys(Samples.guardrailId, Samples.assignRequest),
    answer: Samples.unassignResponse,
    result: Samples.unassignResponse
  },
  listAllAssignments: {
    call: using(Guardrails.listAllAssignments({ offset: 1 })),
    answer: Samples.assignmentList,
    result: Samples.assignmentList
  },
  listAssignments: {
    call: (gateway) => gateway.listAssignments(Samples.guardrailId),
    answer: Samples.assignmentList,
    result: Samples.assignmentList
  },
  createWorkspace: {
    call: (gateway) => gateway.createWorkspace(Samples.workspaceCreateRequest),
    answer: Samples.workspaceResponse,
    result: Samples.workspace
  },
  listWorkspaces: {
    call: (gateway) => gateway.listWorkspaces({ offset: 0, limit: 10 }),
    answer: Samples.workspaceListResponse,
    result: Samples.workspaceListResponse
  },
  deleteWorkspace: {
    call: (gateway) => gateway.deleteWorkspace(Samples.workspaceId),
    answer: Samples.workspaceDeleteResponse,
    result: undefined
  },
  getWorkspace: {
    call: (gateway) => gateway.getWorkspace(Samples.workspaceId),
    answer: Samples.workspaceResponse,
    result: Samples.workspace
  },
  updateWorkspace: {
    call: (gateway) => gateway.updateWorkspace(Samples.workspaceId, Samples.workspaceUpdateRequest),
    answer: Samples.workspaceResponse,
    result: Samples.workspace
  },
  getCredits: {
    call: (gateway) => gateway.getCredits(),
    answer: Samples.creditsResponse,
    result: Samples.credits
  },
  addCredits: {
    call: (gateway) => gateway.addCredits(Samples.workspaceId, Samples.addCreditsRequest),
    answer: Samples.workspaceResponse,
    result: Samples.workspace
  },
  rotateWebhookSecret: {
    call: using(Webhooks.rotateWebhookSecret(Samples.workspaceId, Samples.webhookRotateRequest)),
    answer: Samples.webhookRotateResponse,
    result: Samples.webhookRotateResponse.data
  },
  listWebhookDeliveries: {
    call: using(Webhooks.listWebhookDeliveries({ status: "delivered" })),
    answer: Samples.webhookDeliveryListResponse,
    result: Samples.webhookDeliveryListResponse
  },
  getWebhookDelivery: {
    call: using(Webhooks.getWebhookDelivery(Samples.webhookDelivery.id)),
    answer: Samples.webhookDeliveryResponse,
    result: Samples.webhookDelivery
  },
  redeliverWebhook: {
    call: using(Webhooks.redeliverWebhook(Samples.webhookDelivery.id)),
    answer: Samples.webhookDeliveryResponse,
    result: Samples.webhookDelivery
  },
  createByokKey: {
    call: using(Byok.createByokKey(Samples.byokCreateRequest)),
    answer: Samples.byokResponse,
    result: Samples.byokKey
  },
  listByokKeys: {
    call: using(Byok.listByokKeys({ limit: 1 })),
    answer: Samples.byokListResponse,
    result: Samples.byokListResponse
  },
  getByokKey: {
    call: using(Byok.getByokKey(Samples.byokKeyId)),
    answer: Samples.byokResponse,
    result: Samples.byokKey
  },
  updateByokKey: {
    call: using(Byok.updateByokKey(Samples.byokKeyId, Samples.byokUpdateRequest)),
    answer: Samples.byokResponse,
    result: Samples.byokKey
  },
  deleteByokKey: {
    call: using(Byok.deleteByokKey(Samples.byokKeyId)),
    answer: Samples.byokDeleteResponse,
    result: undefined
  },
  createDestination: {
    call: using(Destinations.createDestination(Samples.destinationCreateRequest)),
    answer: Samples.destinationCreateResponse,
    result: Samples.destinationCreateResponse
  },
  listDestinations: {
    call: using(Destinations.listDestinations({ limit: 1 })),
    answer: Samples.destinationListResponse,
    result: Samples.destinationListResponse
  },
  getDestination: {
    call: using(Destinations.getDestination(Samples.destinationId)),
    answer: Samples.destinationResponse,
    result: Samples.destination
  },
  cohereRerank: {
    call: using(CohereRerank.cohereRerank(Samples.cohereRerankRequest)),
    answer: Samples.cohereRerankResponse,
    result: Samples.cohereRerankResponse
  },
  cohereRerankV1: {
    call: using(CohereRerank.cohereRerankV1(Samples.cohereRerankV1Request)),
    answer: Samples.cohereRerankV1Response,
    result: Samples.cohereRerankV1Response
  },
  updateDestination: {
    call: using(Destinations.updateDestination(Samples.destinationId, Samples.destinationUpdateRequest)),
    answer: Samples.destinationResponse,
    result: Samples.destination
  },
  deleteDestination: {
    call: using(Destinations.deleteDestination(Samples.destinationId)),
    answer: Samples.destinationDeleteResponse,
    result: undefined
  },
  getGeneration: {
    call: using(Generations.getGeneration(Samples.generationId)),
    answer: Samples.generationResponse,
    result: Samples.generation
  },
  listActivity: {
    call: using(Activity.listAllActivity({ date: "2026-11-21" })),
    answer: Samples.activityResponse,
    result: Samples.activityResponse.data
  },
  listGenerations: {
    call: using(Generations.listGenerations({ status: "completed" })),
    answer: Samples.generationListResponse,
    result: Samples.generationListResponse
  }
}

const run = (handlers: GatewayTest.Handlers, options?: GatewayTest.Options) =>
  Effect.provide([GatewayTest.layer(handlers, options), GatewayTest.layerNoWaits])

const gateway = Gateway.Gateway

/** The defect of a test with a wrong script. */
const defectOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    const defect: unknown = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    expect(defect).toBeInstanceOf(GatewayTest.ScriptError)
    return defect instanceof GatewayTest.ScriptError ? defect.message : ""
  })

/** Successes other than 200. */
const statuses: { readonly [Op in Contract.OperationName]?: number } = {
  submitVideo: 202,
  createGuardrail: 201,
  createKey: 201,
  createEphemeralKey: 201,
  createWorkspace: 201,
  createByokKey: 201,
  createDestination: 201
}

describe("every operation of the contract", () => {
  it("is tested here", () => {
    expect(new Set(Object.keys(operations))).toEqual(new Set(Contract.operationNames))
  })

  for (const operation of Contract.operationNames) {
    const { answer, call, result } = operations[operation]

    it.effect(`${operation} returns the scripted response and is recorded`, () =>
      Effect.gen(function* () {
        expect(yield* call(yield* gateway)).toEqual(result)
        const [sent, ...others] = yield* Recorder.requests
        expect(others).toEqual([])
        expect(sent).toMatchObject({ operation, attempt: 1, issues: [], request: { operation } })
        expect(sent?.outcome).toBe(statuses[operation] ?? 200)
      }).pipe(run({ [operation]: answer }))
    )

    it.effect(`${operation} without a handler fails the test, even if the program catches all errors`, () =>
      Effect.gen(function* () {
        const program = Effect.flatMap(gateway, (client) => Effect.ignore(call(client)))
        const message = yield* defectOf(program.pipe(run({})))
        expect(message).toContain(`called "${operation}" (`)
        expect(message).toContain(`GatewayTest.layer({ ${operation}: … })`)
      })
    )
  }
})

describe("a handler", () => {
  it.effect("that is an error fails with it, completed like in the service", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* gateway).rerank(Samples.rerankRequest))
      expect(error).toBeInstanceOf(GatewayError.PaymentRequired)
      const { message } = Samples.errors[402].error
      expect(error).toMatchObject({ status: 402, attempts: 1, requestId: "req_test_1", error: { message } })
      expect(error.message).toBe(`rerank: 402 ${message} (request req_test_1, 1 attempt)`)
    }).pipe(run({ rerank: Samples.errors[402] }))
  )

  it.effect("keeps its own request id", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* gateway).currentKey)
      expect(error).toMatchObject({ _tag: "InternalServerError", requestId: "req_mine" })
    }).pipe(
      run({
        currentKey: new GatewayError.InternalServerError({
          error: { message: "internal server error" },
          service_metadata: { request_id: "req_mine" }
        })
      })
    )
  )

  it.effect("with any error of the operation arrives as that error", () =>
    Effect.gen(function* () {
      const { transcribe } = yield* gateway
      const failures = yield* Effect.forEach(Object.values(Samples.errors), () =>
        Effect.flip(transcribe(Samples.transcriptionRequest)).pipe(
          Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)
        )
      )
      expect(failures.map((failure) => [failure._tag, "error" in failure && failure.error.message])).toEqual(
        Object.values(Samples.errors).map(({ _tag, error }) => [_tag, error.message])
      )
    }).pipe(run({ transcribe: Object.values(Samples.errors) }))
  )

  it.effect("with retry_after sets the header that delays the client's retry", () =>
    Effect.gen(function* () {
      const call = yield* Effect.forkChild((yield* gateway).rerank(Samples.rerankRequest))
      yield* TestClock.adjust("6999 millis")
      expect(yield* Recorder.of("rerank")).toHaveLength(1)
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(call)).toEqual(Samples.rerankResponse)
    }).pipe(
      Effect.provide(
        GatewayTest.layer({
          rerank: [
            new GatewayError.ServiceUnavailable({ error: { message: "later", metadata: { retry_after: 7 } } }),
            Samples.rerankResponse
          ]
        })
      )
    )
  )

  it.effect("that is an Effect runs for each request", () => {
    let runs = 0
    return Effect.gen(function* () {
      const { currentKey } = yield* gateway
      yield* currentKey
      yield* currentKey
      expect(runs).toBe(2)
    }).pipe(
      run({
        currentKey: Effect.sync(() => {
          runs++
          return Samples.currentKeyResponse
        })
      })
    )
  })

  it.effect("that is a function receives the decoded request and its number", () =>
    Effect.gen(function* () {
      const { getVideo } = yield* gateway
      expect((yield* getVideo("v-1", { wait: "1500 millis" })).id).toBe("v-1 waits 1.5")
      expect((yield* getVideo("v-2")).id).toBe("v-2 waits undefined")
      expect((yield* getVideo("v-3")).status).toBe("completed")
    }).pipe(
      run({
        getVideo: ({ call, params, query }) =>
          call === 3
            ? Samples.videoJobs.completed
            : { ...Samples.videoJobs.pending, id: `${params.id} waits ${query.wait}` }
      })
    )
  )

  it.effect("that is a list responds in order, including retries, then fails the test", () =>
    Effect.gen(function* () {
      const { rerank } = yield* gateway
      expect(yield* rerank(Samples.rerankRequest)).toEqual(Samples.rerankResponse)
      expect((yield* Effect.flip(rerank(Samples.rerankRequest)))._tag).toBe("NotFound")
      return yield* rerank(Samples.rerankRequest)
    }).pipe(
      run({ rerank: [Faults.cut, () => Samples.rerankResponse, Samples.errors[404]] }),
      defectOf,
      Effect.map((message) =>
        expect(message).toContain("4 times (including retries), and the list has only 3 responses")
      )
    )
  )

  it.effect("receives an upload as a file with its name, type and bytes", () =>
    Effect.gen(function* () {
      const { transcribe, uploadFile } = yield* gateway
      expect((yield* transcribe(Samples.transcriptionUpload)).text).toBe("silence.wav audio/wav 844 word true")
      expect((yield* uploadFile({ file: new Uint8Array([1, 2, 3]), purpose: "p" })).filename).toBe("file 3")
    }).pipe(
      run({
        transcribe: ({ payload }) =>
          "file" in payload
            ? {
                text: [
                  payload.file.name,
                  payload.file.type,
                  payload.file.size,
                  payload["timestamp_granularities[]"]?.[1],
                  payload.provider?.allow_fallbacks
                ].join(" ")
              }
            : Samples.errors[400],
        uploadFile: ({ payload }) =>
          Effect.map(
            Effect.promise(() => payload.file.bytes()),
            (bytes) => ({ ...Samples.file, filename: `${payload.file.name} ${bytes.length}` })
          )
      })
    )
  )

  it.effect("with bytes returns the requested range", () =>
    Effect.gen(function* () {
      const { fileContent } = yield* gateway
      const bytes = (range: { readonly start: number; readonly end?: number }) =>
        Stream.mkUint8Array(fileContent(Samples.fileId, { range }))
      expect(yield* bytes({ start: 0, end: 3 })).toEqual(Samples.wav.slice(0, 4))
      expect(yield* bytes({ start: 840 })).toEqual(Samples.wav.slice(840))
      // Like the service, it ignores a range that no byte is in.
      expect(yield* bytes({ start: 5, end: 2 })).toEqual(Samples.wav)
      expect((yield* Recorder.requests).map(({ headers, outcome }) => [headers["range"], outcome])).toEqual([
        ["bytes=0-3", 206],
        ["bytes=840-", 206],
        ["bytes=5-2", 200]
      ])
    }).pipe(run({ fileContent: Samples.wav }))
  )

  it.effect("with a Stream of bytes takes the time of the TestClock", () =>
    Effect.gen(function* () {
      const { fileContent } = yield* gateway
      const bytes = Stream.mkUint8Array(fileContent(Samples.fileId))
      expect(yield* GatewayTest.fastForward(bytes, { within: "5 minutes" })).toEqual(Samples.wav)
      expect(yield* Clock.currentTimeMillis).toBeGreaterThanOrEqual(60_000)
    }).pipe(
      run({
        fileContent: Stream.make(Samples.wav.subarray(0, 400), Samples.wav.subarray(400)).pipe(
          Stream.tap(() => Effect.sleep("30 seconds"))
        )
      })
    )
  )

  it.effect("with bytes lets a download continue after a fault, unless the bytes have changed", () => {
    const faults = { fileContent: [Faults.cutBody({ after: 100 })] }
    const bytes = Effect.flatMap(gateway, ({ fileContent }) => Stream.mkUint8Array(fileContent(Samples.fileId)))
    return Effect.gen(function* () {
      expect(yield* bytes.pipe(run({ fileContent: Samples.wav }, { faults }))).toEqual(Samples.wav)
      const error = yield* bytes.pipe(
        run(
          { fileContent: ({ call }) => (call === 1 ? Samples.wav : Samples.wav.map((byte) => byte + 1)) },
          { faults }
        ),
        Effect.flip
      )
      expect(error).toMatchObject({ _tag: "InvalidResponse", attempts: 2 })
    })
  })

  it.effect("can throw an assertion error of the test", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.flatMap(gateway, ({ rerank }) =>
        Effect.ignoreCause(rerank(Samples.rerankRequest))
      ).pipe(
        run({
          rerank: ({ payload }) => {
            expect(payload.model).toBe("another")
            return Samples.rerankResponse
          }
        }),
        Effect.exit
      )
      expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({ name: "AssertionError" })
    })
  )

  const ranks = Effect.flatMap(gateway, ({ rerank }) => rerank(Samples.rerankRequest))

  it.effect("with an invalid response fails the test", () =>
    Effect.gen(function* () {
      const invalid = {
        ...Samples.rerankResponse,
        results: [{ index: 0, relevance_score: Number.NaN, document: {} }]
      }
      expect(yield* defectOf(ranks.pipe(run({ rerank: invalid })))).toMatch(
        /the handler of "rerank" returned an invalid response: .*relevance_score/
      )
      const reads = Effect.flatMap(gateway, (client) => Stream.runDrain(client.fileContent(Samples.fileId)))
      // @ts-expect-error not bytes
      expect(yield* defectOf(reads.pipe(run({ fileContent: "text" })))).toContain("Expected a Uint8Array or a Stream")
    })
  )

  it.effect("that fails with an error of another operation fails the test", () =>
    Effect.gen(function* () {
      const reads = Effect.flatMap(gateway, ({ currentKey }) => currentKey)
      // @ts-expect-error GET /key has no 503
      expect(yield* defectOf(reads.pipe(run({ currentKey: Samples.errors[503] })))).toContain(
        'the handler of "currentKey" failed with an error of another operation: Expected an error of the statuses 401, 500'
      )
    })
  )

  it.effect.each([
    ["catches all defects", Effect.ignoreCause(ranks)],
    ["calls from a detached fiber", Effect.flatMap(Effect.forkDetach(ranks), Fiber.await)]
  ] as const)("that is missing fails the test, even if the program %s", ([, program]) =>
    Effect.gen(function* () {
      expect(yield* defectOf(program.pipe(Effect.asVoid, run({})))).toContain('called "rerank"')
    })
  )

  it.effect("that is missing is reported once if the program fails with it", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(ranks.pipe(run({})))
      expect(Exit.isFailure(exit) && exit.cause.reasons).toHaveLength(1)
    })
  )
})

describe("an invalid request", () => {
  it.effect("is a 400 with every issue, and never reaches the handler", () =>
    Effect.gen(function* () {
      const client = yield* gateway
      const error = yield* Effect.flip(
        client.rerank({
          ...Samples.rerankRequest,
          top_n: 0,
          user: "u".repeat(257),
          documents: ["fine", {}]
        })
      )
      expect(error).toBeInstanceOf(GatewayError.BadRequest)
      expect("issues" in error ? error.issues.map(({ path }) => path) : []).toEqual(["documents.1", "top_n", "user"])
      expect(error.message).toMatch(
        /^rerank: 400 invalid request parameters: documents\.1: .* \(and 2 more\) \(request req_test_1, 1 attempt\)$/
      )
      const [sent] = yield* Recorder.of("rerank")
      expect(sent).toMatchObject({ request: undefined, outcome: 400 })
      expect(sent?.issues.map(({ path }) => path)).toEqual(["documents.1", "top_n", "user"])
    }).pipe(run({}))
  )

  it.effect("is a 404 if the operation has no 400", () =>
    Effect.gen(function* () {
      const client = yield* gateway
      for (const id of ["a b", "", "..", "a/../b", "x".repeat(257)]) {
        const error = yield* Effect.flip(client.deleteFile(id))
        expect([id, error._tag]).toEqual([id, "NotFound"])
        expect(error.message).toContain("file_id: Expected 1 to 256 letters")
      }
      const error = yield* Effect.flip(client.deleteFile("ok", { workspace_id: "none" }))
      expect(error.message).toContain("workspace_id: ")
    }).pipe(run({}))
  )

  it.effect("is detected in every part: path, query, header, form", () =>
    Effect.gen(function* () {
      const client = yield* gateway
      const paths = (effect: Effect.Effect<unknown, GatewayError.GatewayError | ClientError.ClientError>) =>
        Effect.map(Effect.flip(effect), (error) => ("issues" in error ? error.issues.map(({ path }) => path) : error))
      expect(yield* paths(client.getGuardrail("no-uuid"))).toEqual(["id"])
      expect(yield* paths(client.listFiles({ limit: 1001 }))).toEqual(["limit"])
      expect(yield* paths(client.getVideo("v", { wait: "61 seconds" }))).toEqual(["wait"])
      expect(yield* paths(client.rerank(Samples.rerankRequest, { idempotencyKey: "x".repeat(256) }))).toEqual([
        "idempotency-key"
      ])
      expect(yield* paths(client.uploadFile({ ...Samples.upload, purpose: "" }))).toEqual(["purpose"])
      expect(
        yield* paths(client.transcribe({ ...Samples.transcriptionUpload, temperature: 2, language: "eng" }))
      ).toEqual(["language", "temperature"])
    }).pipe(run({}))
  )
})

describe("layerHttpClient", () => {
  const execute = (request: HttpClientRequest.HttpClientRequest) =>
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const response = yield* client.execute(HttpClientRequest.prependUrl(request, "http://any.host/some/api/v1"))
      return { status: response.status, headers: response.headers, body: yield* response.json }
    }).pipe(
      Effect.provide(
        GatewayTest.layerHttpClient({
          rerank: Samples.rerankResponse,
          createEphemeralKey: ({ payload }) => (payload === null ? Samples.ephemeralKeyResponse : Samples.errors[500])
        })
      )
    )

  const bearer = HttpClientRequest.bearerToken("test")

  it.effect("responds like the service to unknown paths, methods and credentials", () =>
    Effect.gen(function* () {
      const unknown = yield* execute(HttpClientRequest.get("/nothing").pipe(bearer))
      expect(unknown).toMatchObject({ status: 404, body: { error: { code: 404 } } })

      const method = yield* execute(HttpClientRequest.put("/files/abc").pipe(bearer))
      expect(method).toMatchObject({
        status: 405,
        headers: { allow: "DELETE, GET" },
        body: { error: { code: 405, message: "method not allowed: this path supports DELETE, GET" } }
      })

      const anonymous = yield* execute(HttpClientRequest.post("/rerank"))
      expect(anonymous).toMatchObject({ status: 401, body: { error: { message: "missing authentication header" } } })

      const broken = yield* execute(
        HttpClientRequest.post("/rerank").pipe(bearer, HttpClientRequest.bodyText("{", "application/json"))
      )
      expect(broken).toMatchObject({
        status: 400,
        body: { error: { metadata: { issues: [{ path: "", message: "Expected a valid JSON body" }] } } }
      })

      const none = yield* execute(HttpClientRequest.post("/rerank").pipe(bearer))
      expect(none).toMatchObject({ status: 400, body: { error: { metadata: { issues: [{ path: "" }] } } } })

      const optional = yield* execute(HttpClientRequest.post("/keys/ephemeral").pipe(bearer))
      const { expires_at, key } = Samples.ephemeralKeyResponse
      expect(optional).toMatchObject({ status: 201, body: { expires_at, key: Redacted.value(key) } })

      const text = yield* execute(HttpClientRequest.post("/rerank").pipe(bearer, HttpClientRequest.bodyText("hello")))
      expect(text).toMatchObject({ status: 400 })

      const fine = yield* execute(
        HttpClientRequest.post("/rerank").pipe(bearer, HttpClientRequest.bodyJsonUnsafe(Samples.rerankRequest))
      )
      expect(fine).toMatchObject({
        status: 200,
        headers: { "x-request-id": "req_test_1" },
        body: Samples.rerankResponse
      })
    })
  )
})

it.effect("the README quotes the message of a test without a handler", () =>
  Effect.gen(function* () {
    const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8")
    const program = Effect.flatMap(gateway, (client) => client.listModels())
    expect(readme).toContain(`> ScriptError: ${yield* defectOf(program.pipe(run({})))}\n`)
  })
)

it.effect("two layers share nothing", () =>
  Effect.gen(function* () {
    const program = Effect.gen(function* () {
      yield* (yield* gateway).currentKey
      return (yield* Recorder.requests).length
    })
    const layer = () => GatewayTest.layer({ currentKey: [Samples.currentKeyResponse] })
    expect(yield* Effect.provide(program, layer())).toBe(1)
    expect(yield* Effect.provide(program, layer())).toBe(1)
  })
)

it.effect("uses the client's configuration: nothing is sent if the credential fails", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip((yield* gateway).currentKey)
    expect(error).toMatchObject({ _tag: "TransportError", reason: "credential", attempts: 0 })
    expect(yield* Recorder.requests).toEqual([])
  }).pipe(run({ currentKey: Samples.currentKeyResponse }, { credential: Effect.fail("signed out") }))
)
