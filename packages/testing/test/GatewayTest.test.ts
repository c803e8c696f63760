import { describe, expect, it } from "@effect/vitest"
import {
  type ClientError,
  Gateway,
  GatewayApi,
  GatewayClient,
  GatewayError,
  Operation,
  RetryPolicy
} from "@model-gateway/core"
import { Contract, Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Cause, Clock, Effect, Exit, Fiber, Redacted, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const gateway = Gateway.Gateway

/** The calls that download: their operations return bytes, of which the contract has no example. */
const downloads = new Map<string, (gateway: Gateway.Gateway["Service"]) => Stream.Stream<Uint8Array, unknown>>([
  ["fileContent", (gateway) => gateway.fileContent(Samples.fileId)],
  ["videoContent", (gateway) => gateway.videoContent(Samples.videoId, { index: 1 })]
])

const formOf = ({ file, ...fields }: { readonly file: string; readonly [field: string]: string }): FormData => {
  const form = new FormData()
  form.append("file", new Blob([Samples.wav]), file)
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

interface Exchange {
  readonly call: Effect.Effect<unknown, unknown, Gateway.Gateway | GatewayClient.GatewayClient>
  /** The success that the handler returns and the call receives. */
  readonly answer: unknown
  readonly status: number
}

/** For every operation: the call, the response and the status of its example in the contract. */
const exchanges = new Map<string, Exchange>()
HttpApi.reflect(GatewayApi.GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint, successes }) => {
    const operation = Operation.of(endpoint)
    const example = Operation.referenceOf(endpoint)?.example
    if (operation === undefined || example === undefined) return
    const [status = 200] = successes.keys()
    const download = downloads.get(operation.identifier)
    if (download !== undefined) {
      const call = Effect.flatMap(gateway, (client) => Stream.mkUint8Array(download(client)))
      exchanges.set(operation.identifier, { call, answer: Samples.wav, status: 200 })
      return
    }
    const { form, params, query, request: json } = example
    const body = json === undefined && form !== undefined ? { form: formOf(form) } : { json }
    exchanges.set(operation.identifier, {
      call: Effect.flatMap(GatewayClient.GatewayClient, ({ call }) => call(operation, { params, query, ...body })),
      answer: Schema.decodeUnknownSync(operation.success)(example.response),
      status
    })
  }
})

const run = (handlers: GatewayTest.Handlers, options?: GatewayTest.Options) =>
  Effect.provide([GatewayTest.layer(handlers, options), GatewayTest.layerNoWaits])

/** The defect of a test with a wrong script. */
const defectOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    const defect: unknown = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    expect(defect).toBeInstanceOf(GatewayTest.ScriptError)
    return defect instanceof GatewayTest.ScriptError ? defect.message : ""
  })

describe("every operation of the contract", () => {
  it("has an example in the contract", () => {
    expect(new Set(exchanges.keys())).toEqual(new Set(Contract.operationNames))
  })

  for (const [operation, { answer, call, status }] of exchanges) {
    it.effect(`${operation} returns the scripted response and is recorded`, () =>
      Effect.gen(function* () {
        expect(yield* call).toEqual(answer)
        const [sent, ...others] = yield* Recorder.requests
        expect(others).toEqual([])
        expect(sent).toMatchObject({ operation, attempt: 1, issues: [], request: { operation } })
        expect(sent?.outcome).toBe(status)
      }).pipe(run({ [operation]: answer }))
    )

    it.effect(`${operation} without a handler fails the test, even if the program catches all errors`, () =>
      Effect.gen(function* () {
        const message = yield* defectOf(Effect.ignore(call).pipe(run({})))
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
