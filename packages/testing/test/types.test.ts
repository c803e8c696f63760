import type { CurrentKey, Files, GatewayError, Rerank, Transcription, Video } from "@model-gateway/core"
import { type Contract, Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Effect, type Stream } from "effect"
import { describe, expectTypeOf, it } from "vitest"

describe("an operation's types", () => {
  it("are those of the contract", () => {
    expectTypeOf<Contract.Failure<"currentKey">>().toEqualTypeOf<
      GatewayError.Unauthorized | GatewayError.InternalServerError
    >()
    expectTypeOf<Contract.Status<"currentKey">>().toEqualTypeOf<401 | 500>()
    expectTypeOf<Contract.Status<"submitVideo">>().toEqualTypeOf<400 | 401 | 402 | 403 | 404 | 413 | 429 | 500>()
    expectTypeOf<Contract.Success<"currentKey">>().toEqualTypeOf<CurrentKey.Response>()
    expectTypeOf<Contract.Success<"fileContent">>().toEqualTypeOf<Uint8Array | Stream.Stream<Uint8Array>>()
    expectTypeOf<Contract.Request<"deleteFile">["query"]>().toEqualTypeOf<{
      readonly workspace_id?: string
      readonly provider?: Files.FileProvider
    }>()
    expectTypeOf<Contract.Request<"rerank">["payload"]>().toEqualTypeOf<typeof Rerank.Request.Type>()
    expectTypeOf<Contract.Request<"listKeys">["query"]["limit"]>().toEqualTypeOf<number | undefined>()
    expectTypeOf<Contract.Request<"currentKey">>().not.toHaveProperty("payload")
    expectTypeOf<Contract.Request<"uploadFile">["payload"]>().toEqualTypeOf<{
      readonly file: File
      readonly purpose?: string
    }>()
    expectTypeOf<Extract<Contract.Request<"transcribe">["payload"], { readonly input_audio: unknown }>>().toEqualTypeOf<
      typeof Transcription.Request.Type
    >()
  })

  it("are never any, unknown or never", () => {
    expectTypeOf<
      { [Op in Contract.OperationName]: IsVague<Contract.Failure<Op>> }[Contract.OperationName]
    >().toEqualTypeOf<false>()
    expectTypeOf<
      { [Op in Contract.OperationName]: IsVague<Contract.Success<Op>> }[Contract.OperationName]
    >().toEqualTypeOf<false>()
    expectTypeOf<
      { [Op in Contract.OperationName]: IsVague<Contract.Request<Op>> }[Contract.OperationName]
    >().toEqualTypeOf<false>()
  })
})

type IsVague<A> = [unknown] extends [A] ? true : [A] extends [never] ? true : false

describe("a handler", () => {
  it("can fail only with its operation's statuses", () => {
    GatewayTest.layer({ rerank: Samples.errors[503], currentKey: Samples.errors[401] })
    GatewayTest.layer({ rerank: Effect.fail(Samples.errors[529]), currentKey: Faults.status(500) })
    // @ts-expect-error GET /key has no 503
    GatewayTest.layer({ currentKey: Samples.errors[503] })
    // @ts-expect-error nor from an Effect
    GatewayTest.layer({ currentKey: Effect.fail(Samples.errors[503]) })
    // @ts-expect-error nor from a function
    GatewayTest.layer({ currentKey: () => Samples.errors[503] })
    // @ts-expect-error nor in a list
    GatewayTest.layer({ currentKey: [Samples.currentKeyResponse, Samples.errors[503]] })
    // @ts-expect-error nor as a fault
    GatewayTest.layer({ currentKey: Faults.status(503) })
    // @ts-expect-error POST /videos has no 502
    GatewayTest.layer({ submitVideo: Effect.fail(Samples.errors[502]) })
    // @ts-expect-error nor in a plan
    GatewayTest.layer({}, { faults: { submitVideo: Faults.first(1, Faults.status(502)) } })
    // @ts-expect-error an error without a status
    GatewayTest.layer({ rerank: Effect.fail("broken") })
    // @ts-expect-error a handler asks for no services
    GatewayTest.layer({ rerank: Effect.map(Recorder.requests, () => Samples.rerankResponse) })
    expectTypeOf<GatewayTest.Handlers["currentKey"]>().not.toBeAny()
  })

  it("returns only its operation's response", () => {
    // @ts-expect-error the wire has it under data
    GatewayTest.layer({ currentKey: Samples.keyRecord })
    // @ts-expect-error a ranking is not a transcript
    GatewayTest.layer({ transcribe: Samples.rerankResponse })
    // @ts-expect-error no such operation
    GatewayTest.layer({ rank: Samples.rerankResponse })
    expectTypeOf<GatewayTest.Handlers["transcribe"]>().not.toBeAny()
  })

  it("receives its operation's request", () => {
    GatewayTest.layer({
      submitVideo: ({ call, headers, operation, payload }) => {
        expectTypeOf(operation).toEqualTypeOf<"submitVideo">()
        expectTypeOf(call).toEqualTypeOf<number>()
        expectTypeOf(payload).toEqualTypeOf<typeof Video.Request.Type>()
        expectTypeOf(headers["idempotency-key"]).toEqualTypeOf<string | undefined>()
        return Samples.videoJobs.pending
      }
    })
  })
})
