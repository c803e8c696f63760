import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, type Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as AssemblyAi from "../src/AssemblyAi.ts"
import { recorded, until } from "@model-gateway/test-doubles/recorded"
import {
  type AssemblyAiDouble,
  documentedErrors,
  failedTranscripts,
  startAssemblyAiDouble
} from "@model-gateway/test-doubles/AssemblyAiDouble"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { offersOf, services, speaking, started, told } from "./support/transcription.ts"

const key = "assembly-secret-0123456789"

const { provide } = Effect

/** The built-in offers, polling a double without long waits. */
const assemblyAi = (upstream: Partial<Upstream> = {}, parameters: Schema.JsonObject = {}) =>
  Effect.gen(function* () {
    const double = yield* started(() => startAssemblyAiDouble({ keys: [key] }))
    const models = AssemblyAi.adapter.models.map((model) => ({
      ...model,
      parameters: Object.assign({}, model.parameters, { pollMilliseconds: 5 }, parameters)
    }))
    const [pro = assert.fail("no offer"), universal = assert.fail("no offer")] = yield* offersOf(
      AssemblyAi.adapter,
      { baseUrl: double.url, ...upstream },
      key,
      models
    )
    return { double, pro, universal }
  })

const asked = ({ state }: AssemblyAiDouble) =>
  state.requests.map(({ method, url }) => `${method} ${url.replace(/[\w-]{36}/, "ID")}`)

/** The JSON that created the latest transcript. */
const createdWith = ({ state }: AssemblyAiDouble): unknown =>
  JSON.parse(state.requests.findLast(({ method, url }) => `${method} ${url}` === "POST /v2/transcript")?.text ?? "null")

const whole = ["POST /v2/upload", "POST /v2/transcript", "GET /v2/transcript/ID", "GET /v2/transcript/ID"]

describe("AssemblyAi", () => {
  it.live("uploads the audio, creates a transcript, waits for it, and deletes it with the audio", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      const { answer, charge } = yield* pro.run(
        speaking("hello world", { language: "de", temperature: 0.25, options: { punctuate: false } })
      )
      assert.deepStrictEqual(answer, { text: "hello world", language: "de", duration: 2, segments: [] })
      // 0.21 USD an hour.
      assert.deepStrictEqual<unknown>(charge, { cost: 117, usage: { seconds: 2 } })
      assert.deepStrictEqual(asked(double), [...whole, "DELETE /v2/transcript/ID"])
      const [upload = assert.fail("no request")] = double.state.requests
      assert.deepStrictEqual(
        [
          upload.text,
          upload.headers["content-type"],
          upload.headers["content-length"],
          upload.headers["authorization"]
        ],
        ["speech: hello world", "application/octet-stream", "19", key]
      )
      assert.deepInclude(createdWith(double), {
        language_code: "de",
        temperature: 0.25,
        punctuate: false,
        speech_models: ["universal-3-5-pro"]
      })
      assert.deepStrictEqual([double.transcripts.size, double.uploads.size], [0, 0])
    }).pipe(provide(services))
  )

  it.live("lets AssemblyAI detect the language, and sends no temperature to a model that takes none", () =>
    Effect.gen(function* () {
      const { double, universal } = yield* assemblyAi()
      assert.isFalse(universal.offer.capabilities.temperature)
      yield* universal.run(speaking("hello", { temperature: 0.5 }))
      assert.hasAllKeys(createdWith(double), ["audio_url", "language_detection", "speech_models"])
      yield* universal.run(speaking("hello", { language: "de", options: { language_code: "fr" } }))
      assert.deepInclude(createdWith(double), { language_code: "fr" })
    }).pipe(provide(services))
  )

  it.live("maps words, sentences or utterances, and speakers, which are numbered from 0", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      const request = speaking("Hello there. Bye", { timestamp_granularities: ["word", "segment"] })
      const plain = (yield* pro.run(request)).answer
      assert.deepStrictEqual(plain.segments, [
        { id: 0, start: 0, end: 1.5, text: "Hello there." },
        { id: 1, start: 2, end: 2.5, text: "Bye" }
      ])
      assert.deepStrictEqual(plain.words?.[1], { word: "there.", start: 1, end: 1.5 })
      const { answer, charge } = yield* pro.run({ ...request, options: { speaker_labels: true } })
      assert.deepStrictEqual(answer.segments, [
        { id: 0, text: "Hello", start: 0, end: 0.5, speaker: 0 },
        { id: 1, text: "there.", start: 1, end: 1.5, speaker: 1 },
        { id: 2, text: "Bye", start: 2, end: 2.5, speaker: 0 }
      ])
      assert.deepStrictEqual(
        answer.words?.map(({ speaker }) => speaker),
        [0, 1, 0]
      )
      // 0.21 and 0.02 USD an hour.
      assert.deepStrictEqual<unknown>(charge, { cost: 192, usage: { seconds: 3 } })
      const word = { text: "hi", start: 0, end: 900, speaker: null }
      double.next(
        { body: { upload_url: "https://cdn.assemblyai.com/upload/1" } },
        { body: { id: "a", status: "queued" } },
        { body: { status: "completed", text: "hi", words: [{ ...word, start: null }, 1, word], audio_duration: 4 } }
      )
      const odd = yield* pro.run(request)
      assert.deepStrictEqual(odd.answer.words, [{ word: "hi", start: 0, end: 0.9 }])
      assert.deepStrictEqual<unknown>(odd.charge.usage, { seconds: 3, billed_seconds: 4 })
    }).pipe(provide(services))
  )

  it.live("never quotes less than it charges, and refuses options whose price is not known", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      for (const options of [{}, { speaker_labels: true }, { speaker_labels: false, redact_pii: false }]) {
        const request = speaking("one two three", { options })
        const { charge } = yield* pro.run(request)
        assert.isAtLeast(pro.offer.quote(request), charge.cost)
      }
      const sent = double.state.requests.length
      const refused = yield* Effect.forEach(
        [
          { summarization: true },
          { keyterms_prompt: ["tea"] },
          { multichannel: true },
          { audio_end_at: 5 },
          { speech_models: ["universal-2"] },
          { webhook_url: "https://example.com" }
        ],
        (options) => Effect.map(Effect.flip(pro.run(speaking("hello", { options }))), ({ reason }) => told(reason))
      )
      assert.deepStrictEqual(refused, [
        "InvalidRequest: provider.options.assemblyai.summarization: it is billed apart and has no price here",
        "InvalidRequest: provider.options.assemblyai.keyterms_prompt: it is billed apart and has no price here",
        "InvalidRequest: provider.options.assemblyai.multichannel: changes the price, so it cannot be passed on",
        "InvalidRequest: provider.options.assemblyai.audio_end_at: repeats what a field of the request says, so it cannot be passed on",
        "InvalidRequest: provider.options.assemblyai.speech_models: chooses another model, so it cannot be passed on",
        "InvalidRequest: provider.options.assemblyai.webhook_url: says where results are sent, so it cannot be passed on"
      ])
      assert.lengthOf(double.state.requests, sent)
    }).pipe(provide(services))
  )

  it.live("reports a failed transcript, which is free, and deletes it", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      double.fail(failedTranscripts.noAudio, failedTranscripts.noLanguage, failedTranscripts.server)
      const ends: Array<unknown> = []
      for (let at = 0; at < 3; at++) {
        const error = yield* Effect.flip(pro.run(speaking("hello")))
        // A reason that the router counts as not billed.
        ends.push([told(error.reason), error.canFallBack])
      }
      assert.deepStrictEqual(ends, [
        [`InvalidRequest: ${failedTranscripts.noAudio}`, false],
        [`InvalidRequest: ${failedTranscripts.noLanguage}`, true],
        ["Unavailable: the provider is not available", true]
      ])
      assert.deepStrictEqual([double.transcripts.size, double.uploads.size], [0, 0])
    }).pipe(provide(services))
  )

  it.live("polls on after failures that may pass, and gives up after several", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      const begun: ReadonlyArray<Scripted> = [
        { body: { upload_url: "https://cdn.assemblyai.com/upload/1" } },
        { body: { id: "a", status: "queued" } }
      ]
      const done = { body: { status: "completed", text: "hi", audio_duration: 1 } }
      const passing: ReadonlyArray<Scripted> = [
        documentedErrors.server,
        { ...documentedErrors.rateLimit, headers: { "retry-after": "0" } },
        { fault: "cut" },
        { body: { status: "processing" } },
        documentedErrors.unavailable
      ]
      double.next(...begun, ...passing, done)
      assert.strictEqual((yield* pro.run(speaking("hi"))).answer.text, "hi")
      double.next(...begun, ...Array.from({ length: 6 }, () => documentedErrors.server), { body: {} })
      assert.strictEqual(told((yield* Effect.flip(pro.run(speaking("hi")))).reason), "BadResponse: status 500")
      const lost = { status: 404, body: { error: "Not found" } }
      double.next(...begun, { body: { status: "processing" } }, lost, { body: {} })
      assert.strictEqual(
        told((yield* Effect.flip(pro.run(speaking("hi")))).reason),
        "BadResponse: the transcript is gone"
      )
      double.next(...begun, { body: { status: "paused" } }, { body: {} })
      assert.strictEqual(
        told((yield* Effect.flip(pro.run(speaking("hi")))).reason),
        "BadResponse: a transcript of an unknown status"
      )
      assert.strictEqual(asked(double).filter((each) => each.startsWith("DELETE")).length, 4)
    }).pipe(provide(services))
  )

  it.effect("polls on after a poll that hangs", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      double.next(
        { body: { upload_url: "https://cdn.assemblyai.com/upload/1" } },
        { body: { id: "a", status: "queued" } },
        { fault: "hang" },
        { body: { status: "completed", text: "hi", audio_duration: 1 } },
        { body: {} }
      )
      const call = yield* Effect.forkScoped(pro.run(speaking("hi")))
      const polls = () => asked(double).filter((each) => each === "GET /v2/transcript/a").length
      /** Lets time pass in steps, so that the double can answer in between. */
      const pass = Effect.fnUntraced(function* (step: Duration.Input, isDone: () => boolean) {
        while (!isDone()) {
          yield* TestClock.adjust(step)
          let looked = false
          yield* until(() => looked || !(looked = true))
        }
      })
      yield* pass("10 millis", () => polls() === 1)
      yield* pass("10 seconds", () => polls() === 2)
      assert.strictEqual((yield* Fiber.join(call)).answer.text, "hi")
    }).pipe(Effect.scoped, provide(services))
  )

  it.live("deletes the transcript when the caller goes away while it polls, or the time is over", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi({}, { pollMilliseconds: 60_000 })
      const call = yield* Effect.forkScoped(pro.run(speaking("hello")))
      yield* until(() => double.transcripts.size === 1)
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual([double.transcripts.size, double.uploads.size], [0, 0])
      assert.deepStrictEqual(asked(double), [...whole.slice(0, 2), "DELETE /v2/transcript/ID"])

      const hurried = yield* assemblyAi({ timeLimit: Duration.millis(300) }, { pollMilliseconds: 60_000 })
      const { reason } = yield* Effect.flip(hurried.pro.run(speaking("hello")))
      assert.strictEqual(told(reason), "Timeout: the provider did not answer in time")
      assert.strictEqual(hurried.double.transcripts.size, 0)
    }).pipe(Effect.scoped, provide(services))
  )

  it.live("answers although the deletion fails, and keeps what the operator wants to keep", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi()
      double.next(
        { body: { upload_url: "https://cdn.assemblyai.com/upload/1" } },
        { body: { id: "a", status: "queued" } },
        { body: { status: "completed", text: "hi" } },
        documentedErrors.server
      )
      assert.strictEqual((yield* pro.run(speaking("hi"))).answer.text, "hi")
      const keeping = yield* assemblyAi({}, { keep: true })
      yield* keeping.pro.run(speaking("hi"))
      assert.deepStrictEqual(asked(keeping.double), whole)
    }).pipe(provide(services))
  )

  it.live("maps every documented failure, of the upload and of the creation", () =>
    Effect.gen(function* () {
      const expected: Readonly<Record<keyof typeof documentedErrors, string>> = {
        invalidKey: "Unauthorized: the provider rejected its credentials",
        noCredit: "OutOfCredit: the account at the provider is out of credit",
        noModel: "UnknownModel: unknown model universal-3-5-pro",
        invalid: "InvalidRequest: language_code: value is not a supported language",
        foreignUpload: "Unauthorized: the provider rejected its credentials",
        rateLimit: "RateLimited: the provider's rate limit is exceeded",
        server: "BadResponse: status 500",
        unavailable: "Overloaded: the provider is overloaded",
        timeout: "Timeout: the provider did not answer in time"
      }
      const { double, pro } = yield* assemblyAi()
      for (const before of [[], [{ body: { upload_url: "https://cdn.assemblyai.com/upload/1" } }]]) {
        const actual = yield* Effect.forEach(Object.entries(documentedErrors), ([name, scripted]) => {
          double.next(...before, scripted)
          return Effect.map(Effect.flip(pro.run(speaking("hello"))), ({ reason }) => [name, told(reason)] as const)
        })
        assert.deepStrictEqual<unknown>(Object.fromEntries(actual), expected)
      }
      double.next({ ...documentedErrors.rateLimit, headers: { "retry-after": "3" } })
      const { reason } = yield* Effect.flip(pro.run(speaking("hello")))
      assert.deepStrictEqual(reason._tag === "RateLimited" && reason.retryAfter, Duration.seconds(3))
    }).pipe(provide(services))
  )

  it.live("reports broken answers and connections", () =>
    Effect.gen(function* () {
      const { double, pro } = yield* assemblyAi({ timeLimit: Duration.millis(500) })
      const failures: Array<string> = []
      for (const scripted of [
        { fault: "cut" },
        { fault: "cutBody" },
        { fault: "hang" },
        { headers: { "content-type": "text/html" }, body: "<html>busy</html>" },
        { body: { url: "x" } }
      ] satisfies ReadonlyArray<Scripted>) {
        double.next(scripted)
        failures.push(told((yield* Effect.flip(pro.run(speaking("hello")))).reason))
      }
      // Its id becomes a part of a path.
      double.next({ body: { upload_url: "https://cdn.assemblyai.com/upload/1" } }, { body: { id: "../key" } })
      failures.push(told((yield* Effect.flip(pro.run(speaking("hello")))).reason))
      assert.deepStrictEqual(failures, [
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "Timeout: the provider did not answer in time",
        "BadResponse: not JSON but text/html",
        "BadResponse: JSON of another form at upload_url",
        "BadResponse: JSON of another form at id"
      ])
    }).pipe(provide(services))
  )

  it.live("tells nobody the key", () =>
    Effect.gen(function* () {
      const text = yield* recorded(
        Effect.gen(function* () {
          const { double, pro } = yield* assemblyAi()
          yield* pro.run(speaking("hello"))
          for (const scripted of [...Object.values(documentedErrors), { status: 400, body: { error: `bad ${key}` } }]) {
            double.next(scripted)
            yield* Effect.logError("failed", yield* Effect.flip(pro.run(speaking("hello"))))
          }
          // In the answer of a transcript that failed, too.
          double.fail(`bad ${key}`)
          yield* Effect.logError("failed", yield* Effect.flip(pro.run(speaking("hello"))))
        })
      )
      assert.notInclude(text, key)
    }).pipe(provide(services))
  )
})
