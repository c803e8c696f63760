import { assert, describe, it } from "@effect/vitest"
import { ClientError } from "@model-gateway/core"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { explain, type Advice } from "../src/Explanation.ts"
import * as Inputs from "../src/Inputs.ts"
import { type Event, type Outcome, program, type Step, succeeded } from "../src/Program.ts"
import * as Fake from "./FakeGateway.ts"

const inputs = Inputs.make(Inputs.sandboxModels)

const advice: Advice = {
  baseUrl: Fake.baseUrl,
  unreachable: "start it",
  key: "give a key",
  managementKey: "give a management key",
  model: { rerank: "name a model", transcription: "name a model", video: "name a model" },
  credits: "add credits",
  save: "name another place"
}

/** Runs the program against a scripted gateway. Time advances automatically. */
const run = (overrides: Fake.Script) =>
  Effect.gen(function* () {
    const fake = Fake.make({ ...Fake.wellBehaved, ...overrides })
    const events: Array<Event> = []
    const running = yield* program(inputs, (event) => Effect.sync(() => void events.push(event))).pipe(
      Effect.provide(fake.layer),
      Effect.forkChild
    )
    yield* TestClock.adjust("1 minute")
    return { outcomes: yield* Fiber.join(running), events, arrived: fake.arrived }
  })

const tags = (outcomes: ReadonlyArray<Outcome>) => outcomes.map(({ _tag, step }) => `${step} ${_tag}`)

const explanationOf = (outcomes: ReadonlyArray<Outcome>, step: Step) => {
  const outcome = outcomes.find((each) => each.step === step)
  return outcome?._tag === "Failed" ? explain(step, outcome.error, advice) : undefined
}

describe("the six steps", () => {
  it.effect("all work, in order, each with its result", () =>
    Effect.gen(function* () {
      const { arrived, outcomes } = yield* run({})
      assert.deepStrictEqual(tags(outcomes), [
        "file Done",
        "key Done",
        "rerank Done",
        "transcription Done",
        "video Done",
        "guardrail Done"
      ])
      assert.isTrue(succeeded(outcomes))
      const results = outcomes.map((outcome) => (outcome._tag === "Done" ? outcome : undefined))
      const [file, key, rerank, transcription, video, guardrail] = results
      assert.strictEqual(file?.step === "file" ? file.result.deletion._shape : "", "native")
      assert.strictEqual(key?.step === "key" ? key.result.usage : 0, 0.0135)
      assert.strictEqual(rerank?.step === "rerank" ? rerank.result.response.results[0]?.index : -1, 1)
      assert.strictEqual(transcription?.step === "transcription" ? transcription.result.text : "", "555 0199")
      assert.deepStrictEqual(video?.step === "video" ? video.result.saved : undefined, { location: "memory", bytes: 8 })
      assert.strictEqual(guardrail?.step === "guardrail" ? guardrail.result.response.assigned_count : 0, 2)

      const managed = arrived.filter(({ bearer }) => bearer === "Bearer management").map(({ call }) => call)
      assert.isTrue(managed.every((call) => /\/(guardrails|keys)/.test(call)))
      assert.strictEqual(arrived.length - managed.length, 10)
    })
  )

  it.effect("report each change of the video job", () =>
    Effect.gen(function* () {
      const { events } = yield* run({})
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "VideoChanged" ? [[event.job.status, event.job.progress]] : [])),
        [
          // The response of the submission, then those of the polls.
          ["pending", undefined],
          ["pending", 0],
          ["in_progress", 0.5],
          ["completed", 1]
        ]
      )
    })
  )

  it.effect("leave no keys and no guardrail behind", () =>
    Effect.gen(function* () {
      const { arrived } = yield* run({})
      const made = arrived.filter(({ call }) => call === "POST /keys" || call === "POST /guardrails")
      const deleted = arrived.filter(({ call }) => /^DELETE \/(keys|guardrails)\//.test(call))
      assert.strictEqual(made.length, 3)
      assert.strictEqual(deleted.length, 3)
    })
  )
})

describe("a step that fails", () => {
  const cases: ReadonlyArray<{ step: Step; script: Fake.Script; tag: string; says: ReadonlyArray<string> }> = [
    {
      step: "file",
      script: { "POST /files": Fake.failure(413, "request payload too large") },
      tag: "PayloadTooLarge",
      says: ["request is too large", "send less"]
    },
    {
      step: "file",
      script: { "DELETE /files/file_1": Fake.failure(404, "resource not found") },
      tag: "NotFound",
      says: ["Not found", "resource not found"]
    },
    {
      step: "key",
      script: { "GET /key": Fake.failure(500, "internal server error") },
      tag: "InternalServerError",
      says: ["failed", "request id"]
    },
    {
      step: "rerank",
      script: { "POST /rerank": Fake.failure(402, "insufficient credits") },
      tag: "PaymentRequired",
      says: ["insufficient credits", "add credits"]
    },
    {
      step: "rerank",
      script: { "POST /rerank": Fake.failure(429, "rate limit exceeded", { retry_after: 7 }) },
      tag: "TooManyRequests",
      says: ["try again in 7 seconds"]
    },
    {
      step: "rerank",
      script: { "POST /rerank": Fake.failure(429, "rate limit exceeded: free models", { retry_after: 24_615 }) },
      tag: "TooManyRequests",
      says: ["free models", "try again in 7 hours"]
    },
    {
      step: "transcription",
      script: {
        "POST /audio/transcriptions": Fake.failure(400, "invalid request parameters", {
          issues: [{ path: "temperature", message: "Expected a number from 0 to 1" }]
        })
      },
      tag: "BadRequest",
      says: ["temperature: Expected a number from 0 to 1"]
    },
    {
      step: "transcription",
      script: { "POST /audio/transcriptions": Fake.failure(504, "the operation was aborted due to timeout") },
      tag: "GatewayTimeout",
      says: ["took too long"]
    },
    {
      step: "video",
      script: { "POST /videos": Fake.failure(404, "resource not found: no such model") },
      tag: "NotFound",
      says: ["no such model", "name a model"]
    },
    {
      step: "video",
      script: { "GET /videos/video_1": Fake.job("failed", { error: "the upstream is on fire" }) },
      tag: "VideoNotCompleted",
      says: ["the upstream is on fire"]
    },
    {
      step: "video",
      script: { "GET /videos/video_1": Fake.job("expired") },
      tag: "VideoNotCompleted",
      says: ["its job expired"]
    },
    {
      step: "guardrail",
      script: { "POST /guardrails": Fake.failure(403, "only management keys can perform this operation") },
      tag: "Forbidden",
      says: ["only management keys", "give a management key"]
    },
    {
      step: "guardrail",
      script: { "POST /guardrails": Fake.failure(401, "invalid key") },
      tag: "Unauthorized",
      says: ["rejected the management key", "give a management key"]
    },
    {
      step: "key",
      script: { "GET /key": { status: 418, body: "teapot" } },
      tag: "InvalidResponse",
      says: ["not from a model gateway", "418", "/api/v1"]
    }
  ]

  it.effect.each(cases)(
    "$step: $tag is explained in one sentence, and the other five steps run",
    ({ says, script, step, tag }) =>
      Effect.gen(function* () {
        const { outcomes } = yield* run(script)
        const explained = explanationOf(outcomes, step)
        assert.strictEqual(explained?.tag, tag)
        for (const words of says) assert.include(explained?.message, words)
        assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Done").length, 5)
        assert.isFalse(succeeded(outcomes))
      })
  )

  it.effect("has the request id", () =>
    Effect.gen(function* () {
      const { outcomes } = yield* run({ "POST /rerank": Fake.failure(503, "service temporarily unavailable") })
      assert.strictEqual(explanationOf(outcomes, "rerank")?.requestId, "req_503")
    })
  )

  it.effect("without a connection skips the steps after it, and names the address", () =>
    Effect.gen(function* () {
      const { arrived, outcomes } = yield* run({ "POST /files": "refused" })
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Failed", "Skipped", "Skipped", "Skipped", "Skipped", "Skipped"]
      )
      assert.strictEqual(
        explanationOf(outcomes, "file")?.message,
        `Cannot connect to the gateway at ${Fake.baseUrl} (ECONNREFUSED): start it.`
      )
      assert.strictEqual(arrived.length, 1)
    })
  )

  it.effect("with a rejected key skips the steps that use the same key", () =>
    Effect.gen(function* () {
      const { outcomes } = yield* run({ "GET /key": Fake.failure(401, "this key has expired") })
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Done", "Failed", "Skipped", "Skipped", "Skipped", "Done"]
      )
      assert.include(explanationOf(outcomes, "key")?.message, "this key has expired")
    })
  )
})

describe("explain", () => {
  const call = { operation: "uploadFile", attempts: 1 }

  it.each([
    [
      new ClientError.TimeoutError({ ...call, limit: "stall", milliseconds: 60_000 }),
      "No data was sent or received for 60 s: check the network, then try again."
    ],
    [
      new ClientError.TimeoutError({ ...call, limit: "attempt", milliseconds: 90_000 }),
      `The gateway at ${Fake.baseUrl} did not answer within 90 s: try again, or check the load of the gateway.`
    ],
    [
      new ClientError.TransportError({ ...call, attempts: 0, reason: "request", underlying: new Error("no such URL") }),
      "uploadFile: nothing was sent, because the request is invalid: no such URL."
    ]
  ])("%s", (error, message) => {
    assert.strictEqual(explain("file", error, advice).message, message)
  })
})

describe("interrupted", () => {
  const interruptAt = (script: Fake.Script, reached: (event: Event) => boolean, unasked = false) =>
    Effect.gen(function* () {
      const fake = Fake.make({ ...Fake.wellBehaved, ...script })
      const events: Array<Event> = []
      const there = Latch.makeUnsafe()
      const running = yield* program(inputs, (event) =>
        Effect.sync(() => {
          events.push(event)
          if (reached(event)) there.openUnsafe()
        })
      ).pipe(Effect.provide(fake.layer), Effect.forkChild)
      yield* there.await
      if (unasked) yield* Effect.yieldNow
      yield* Fiber.interrupt(running)
      return { events, arrived: fake.arrived }
    })

  it.effect("while a video is rendered: the job is canceled, and this is reported", () =>
    Effect.gen(function* () {
      const { arrived, events } = yield* interruptAt(
        { "GET /videos/video_1": [Fake.job("in_progress"), "never"] },
        (event) => event._tag === "VideoChanged"
      )
      assert.strictEqual(arrived.at(-1)?.call, "POST /videos/video_1/cancel")
      const last = events.at(-1)
      assert.strictEqual(last?._tag === "VideoChanged" ? last.job.status : "", "cancelled")
    })
  )

  it.effect("while the job is submitted: it is found by its idempotency key, and canceled", () =>
    Effect.gen(function* () {
      const { arrived } = yield* interruptAt(
        { "POST /videos": ["never", Fake.job("pending")] },
        (event) => event._tag === "Started" && event.step === "video",
        true
      )
      const submitted = arrived.filter(({ call }) => call === "POST /videos")
      assert.strictEqual(submitted.length, 2)
      assert.isString(submitted[0]?.idempotencyKey)
      assert.strictEqual(submitted[0]?.idempotencyKey, submitted[1]?.idempotencyKey)
      assert.strictEqual(arrived.at(-1)?.call, "POST /videos/video_1/cancel")
    })
  )

  it.effect("between two keys: what was created is deleted", () =>
    Effect.gen(function* () {
      const { arrived } = yield* interruptAt(
        { "POST /keys": "never" },
        (event) => event._tag === "Started" && event.step === "guardrail",
        true
      )
      assert.match(arrived.at(-1)?.call ?? "", /^DELETE \/guardrails\//)
    })
  )
})
