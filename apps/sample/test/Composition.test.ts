// The program's third composition, besides the terminal and the page. Its requests are checked
// against the contract.
import { assert, it } from "@effect/vitest"
import { Gateway } from "@model-gateway/core"
import { GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Context, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Inputs from "../src/Inputs.ts"
import { ManagementGateway, program, succeeded, VideoStore } from "../src/Program.ts"

class ManagementRecorder extends Context.Service<ManagementRecorder, Recorder.Recorder["Service"]>()(
  "test/ManagementRecorder"
) {}

const ordinary = GatewayTest.layer({
  uploadFile: Samples.file,
  deleteFile: Samples.deletions.native,
  currentKey: Samples.currentKeyResponse,
  rerank: Samples.rerankResponse,
  transcribe: Samples.transcriptionVerboseResponse,
  submitVideo: Samples.videoJobs.pending,
  getVideo: [Samples.videoJobs.in_progress, Samples.videoJobs.completed],
  videoContent: new Uint8Array(1000)
})

const management = GatewayTest.layer({
  createGuardrail: Samples.guardrailResponse,
  createKey: Samples.keyCreateResponse,
  assignKeys: { assigned_count: 2 },
  deleteKey: Samples.keyDeleteResponse,
  deleteGuardrail: Samples.guardrailDeleteResponse
})

const composition = Layer.mergeAll(
  ordinary,
  Layer.effect(ManagementGateway, Gateway.Gateway).pipe(
    Layer.merge(Layer.effect(ManagementRecorder, Recorder.Recorder)),
    Layer.provide(management)
  ),
  Layer.succeed(
    VideoStore,
    VideoStore.of({ save: (bytes) => Effect.as(Stream.runDrain(bytes), { location: "nowhere", bytes: 0 }) })
  )
)

it.effect("the program runs over GatewayTest, and sends nothing that the contract does not allow [spec V7]", () =>
  Effect.gen(function* () {
    const running = yield* Effect.forkChild(program(Inputs.make(Inputs.sandboxModels), () => Effect.void))
    yield* TestClock.adjust("1 minute")
    assert.isTrue(succeeded(yield* Fiber.join(running)))

    const managed = yield* (yield* ManagementRecorder).requests
    const sent = [...(yield* Recorder.requests), ...managed]
    assert.deepStrictEqual(
      sent.flatMap(({ issues, operation }) => issues.map(({ message }) => `${operation}: ${message}`)),
      []
    )
    assert.deepStrictEqual(
      sent.map(({ operation }) => operation),
      [
        "uploadFile",
        "deleteFile",
        "currentKey",
        "rerank",
        "transcribe",
        "submitVideo",
        "getVideo",
        "getVideo",
        "videoContent",
        "createGuardrail",
        "createKey",
        "createKey",
        "assignKeys",
        "deleteKey",
        "deleteKey",
        "deleteGuardrail"
      ]
    )
  }).pipe(Effect.provide(composition))
)
