import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import type { Adapter } from "@model-gateway/offers/Adapter"
import type { RerankModel, TranscriptionModel } from "@model-gateway/offers/Model"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import type { Double } from "@model-gateway/test-doubles/Double"
import { startVllmDouble, type VllmOptions } from "@model-gateway/test-doubles/VllmDouble"
import * as Vllm from "../src/Vllm.ts"
import {
  failureOf,
  offered,
  quoteEnough,
  reasonText,
  request,
  rerankSuite,
  type Subject,
  texts,
  undici
} from "./support/rerankSuite.ts"
import { offersOf, services, speaking, started, told } from "./support/transcription.ts"

const model: RerankModel = {
  kind: "rerank",
  publicId: "acme/bge",
  upstreamId: "BAAI/bge-reranker-v2-m3",
  name: "BGE",
  pricing: { unit: "token", inputMicroCredits: 1_000_000, outputMicroCredits: 0 },
  // What `rerankSuite` knows of the other adapters: their scores are probabilities.
  parameters: { scores: "probability" }
}

/** Ranking needs no random numbers, of which the forms of transcriptions are made. */
const adapter: Adapter = {
  ...Vllm.adapter,
  models: [model],
  offers: (upstream, models) => Effect.provide(Vllm.adapter.offers(upstream, models), SecureRandom.layerWebCrypto)
}

const subjectOf = (server: VllmOptions["server"], path = "/v1"): Subject => ({
  adapter,
  start: (options) => startVllmDouble({ ...options, ...(server === undefined ? {} : { server }) }),
  path,
  bodyOf: (results) => ({ id: "rerank-0", model: "m", usage: { total_tokens: 9 }, results }),
  scorePath: "results.0.relevance_score"
})

const servers = {
  vllm: subjectOf("vllm"),
  infinity: subjectOf("infinity", ""),
  localai: subjectOf("localai"),
  llamacpp: subjectOf("llamacpp")
}

const named = Object.entries(servers)

/** A model whose scores may be of either kind. */
const unknown: RerankModel = { ...model, parameters: {} }

const indexes = (results: ReadonlyArray<{ readonly index: number }>) => results.map(({ index }) => index)

describe("Vllm", () => {
  rerankSuite(servers.vllm)

  it.live("sends the texts and the model, and top_n only if it knows what the scores are", () =>
    Effect.gen(function* () {
      const body = {
        model: "BAAI/bge-reranker-v2-m3",
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"],
        return_documents: false
      }
      const known = yield* offered(servers.vllm)
      yield* known.run({ ...request, top_n: 2, options: { truncate_prompt_tokens: -1 } })
      assert.deepStrictEqual(JSON.parse(known.double.state.requests[0]?.text ?? ""), {
        ...body,
        top_n: 2,
        truncate_prompt_tokens: -1
      })
      const { double, run } = yield* offered(servers.vllm, {}, unknown)
      yield* run({ ...request, top_n: 2 })
      assert.deepStrictEqual(JSON.parse(double.state.requests[0]?.text ?? ""), body)
    }).pipe(undici)
  )

  it.live("ranks at each of the four servers, whether it sorts, cuts, and returns probabilities or not", () =>
    Effect.gen(function* () {
      for (const [server, subject] of named) {
        const { run } = yield* offered(subject, {}, unknown)
        const { answer, charge } = yield* run(request)
        assert.deepStrictEqual(indexes(answer.results), [1, 2, 0], server)
        assert.isTrue(
          answer.results.every(({ relevance_score }) => relevance_score >= 0 && relevance_score <= 1),
          server
        )
        // 1 and 3 and 2 tokens, and 2 of the query for each.
        assert.deepStrictEqual<unknown>(charge, { cost: 12, usage: { total_tokens: 12 } }, server)
        const first = yield* run({ ...request, top_n: 1 })
        assert.deepStrictEqual(first.answer.results, answer.results.slice(0, 1), server)
      }
    }).pipe(undici)
  )

  it.live("maps the logits that options ask for, at a server that returns probabilities otherwise", () =>
    Effect.gen(function* () {
      const fields = [
        [servers.infinity, { raw_scores: true }],
        [servers.vllm, { use_activation: false }]
      ] as const
      for (const [subject, options] of fields) {
        const { double, run } = yield* offered(subject)
        const { answer } = yield* run({ ...request, options })
        assert.deepStrictEqual(indexes(answer.results), [1, 2, 0])
        // Also if all of them lie in 0…1.
        double.next({ body: subject.bodyOf([{ index: 0, relevance_score: 0 }]) })
        const zero = yield* run({ ...request, options })
        assert.deepStrictEqual(zero.answer.results, [{ index: 0, relevance_score: 0.5 }])
      }
    }).pipe(undici)
  )

  it.live("calls a server that needs no key", () =>
    Effect.gen(function* () {
      const open = { ...servers.vllm, start: () => startVllmDouble({ keys: [] }) }
      const { double, run } = yield* offered(open, { credential: gatewayCredential() })
      yield* run(request)
      assert.isUndefined(double.state.requests[0]?.headers["authorization"])
    }).pipe(undici)
  )

  it.live("reads results under another name and tokens at another place, and estimates tokens that are not told", () =>
    Effect.gen(function* () {
      const { double, offer, run } = yield* offered(servers.vllm)
      const results = [{ index: 1, relevance_score: 0.5 }]
      const told: ReadonlyArray<readonly [unknown, number | undefined]> = [
        [{ object: "list", data: results, usage: { prompt_tokens: 7, total_tokens: 7 } }, 7],
        [{ results, usage: null, tokens: { input_tokens: 8, output_tokens: 0 } }, 8],
        [{ results, meta: { tokens: { input_tokens: 9, output_tokens: 1 } } }, 10],
        [{ results, usage: { total_tokens: 0 } }, undefined],
        [{ results, usage: null }, undefined],
        [{ results }, undefined]
      ]
      for (const [body, total_tokens] of told) {
        double.next({ body })
        const { answer, charge } = yield* run(request)
        assert.deepStrictEqual(answer.results, results)
        assert.deepStrictEqual<unknown>(
          charge,
          total_tokens === undefined
            ? { cost: Math.ceil(offer.quote(request) / 4), usage: {} }
            : { cost: total_tokens, usage: { total_tokens } }
        )
      }
      double.next({ body: { object: "list", usage: { total_tokens: 9 } } })
      const { reason } = yield* Effect.flip(run(request))
      assert.strictEqual(reasonText(reason), "BadResponse: JSON of another form at its root")
      yield* quoteEnough(yield* offered(servers.infinity))
    }).pipe(undici)
  )

  it.live("reports what each of the four takes for too large as such, so that the next upstream is tried", () =>
    Effect.gen(function* () {
      const long = { ...request, documents: texts(2, "tea ".repeat(600)) }
      const many = { ...request, documents: texts(2049, "tea") }
      const wide = { ...unknown, parameters: { documentsPerCall: 5000 } }
      const longest = { ...request, documents: texts(1, "x".repeat(122_881)) }
      const cases = [
        [servers.vllm, long, "InputTooLarge: This model's maximum context length is 512 tokens."],
        [servers.localai, long, "InputTooLarge: rpc error: code = Internal desc = input (602 tokens) is too large"],
        [servers.llamacpp, long, "InputTooLarge: input (602 tokens) is too large to process."],
        [servers.infinity, many, "InputTooLarge: documents: List should have at most 2048 items"],
        [servers.infinity, longest, "InputTooLarge: documents: String should have at most 122880 characters"]
      ] as const
      for (const [subject, request, message] of cases) {
        const { run } = yield* offered(subject, {}, wide)
        const { canFallBack, reason } = yield* Effect.flip(run(request))
        assert.include(reasonText(reason), message)
        assert.isTrue(canFallBack)
      }
      // Split into calls that Infinity takes.
      const { double, run } = yield* offered(servers.infinity, {}, unknown)
      yield* run(many)
      assert.lengthOf(double.state.requests, 2)
      // vLLM takes it cut off.
      const vllm = yield* offered(servers.vllm)
      yield* vllm.run({ ...long, options: { truncate_prompt_tokens: -1 } })
    }).pipe(undici)
  )

  it.live("maps the ways in which the servers fail", () =>
    Effect.gen(function* () {
      const error = (message: string, type?: string) => ({ error: { message, type, code: 400 } })
      const cases: ReadonlyArray<readonly [number, unknown, string]> = [
        [400, error("the request exceeds the available context size"), "InputTooLarge: the request exceeds"],
        [500, error("input is larger than the max context size. skipping"), "InputTooLarge: input is larger"],
        [
          400,
          error("The decoder prompt (length 900) is longer than the maximum model length of 512."),
          "InputTooLarge: The decoder prompt"
        ],
        [400, error("Maximum file size exceeded"), "InputTooLarge: Maximum file size exceeded"],
        [400, error("The model does not support Rerank (Score) API"), "UnknownModel"],
        [400, error("Invalid model: abc"), "UnknownModel"],
        [400, error("ModelNotDeployedError: model=`abc` does not support `rerank`."), "UnknownModel"],
        [
          501,
          error("This server does not support reranking. Start it with `--reranking`", "not_supported_error"),
          "UnknownModel"
        ],
        [400, error("Bad Request"), "InvalidRequest: Bad Request"],
        [500, error("the engine is dead"), "BadResponse: status 500"],
        [503, error("Loading model", "unavailable_error"), "Overloaded"]
      ]
      for (const [status, body, expected] of cases) {
        const { reason } = yield* failureOf(servers.vllm, { status, body })
        assert.include(reasonText(reason), expected)
      }
      for (const [server, subject] of named) {
        const other = { ...model, upstreamId: "another" }
        const { run } = yield* offered(subject, {}, other)
        // llama.cpp has one model, and takes any name.
        const tried = yield* Effect.result(run(request))
        assert.strictEqual(
          tried._tag === "Failure" ? tried.failure.reason._tag : "none",
          server === "llamacpp" ? "none" : "UnknownModel",
          server
        )
        const wrong = yield* offered(subject)
        const { reason } = yield* Effect.flip(wrong.run(request, { id: "none" }))
        assert.strictEqual(reason._tag, "Unauthorized", server)
      }
    }).pipe(undici)
  )
})

const key = "vllm-secret-0123456789"

const whisper: TranscriptionModel = {
  kind: "transcription",
  publicId: "acme/whisper",
  upstreamId: "openai/whisper-large-v3",
  name: "Whisper",
  pricing: { unit: "second", microCredits: 10 }
}

const transcribing = Effect.fnUntraced(function* (
  server: VllmOptions["server"] & string,
  parameters: TranscriptionModel["parameters"] = {}
) {
  const double: Double = yield* started(() => startVllmDouble({ keys: [key], server }))
  const upstream = { baseUrl: `${double.url}/v1` }
  const [offered] = yield* offersOf(Vllm.adapter, upstream, key, [{ ...whisper, parameters }])
  return { double, ...(offered ?? assert.fail("no offer")) }
})

const provide = Effect.provide(services)

describe("Vllm, transcribing", () => {
  it.live("returns the text of each of three servers, and charges the seconds", () =>
    Effect.gen(function* () {
      for (const server of ["vllm", "localai", "llamacpp"] as const) {
        const { run } = yield* transcribing(server)
        const { answer, charge } = yield* run(speaking("green tea"))
        assert.strictEqual(answer.text, "green tea", server)
        assert.strictEqual<number>(charge.cost, 20, server)
      }
    }).pipe(provide)
  )

  it.live("returns segments, and asks for no times of words", () =>
    Effect.gen(function* () {
      for (const server of ["vllm", "localai"] as const) {
        const { double, offer, run } = yield* transcribing(server)
        assert.isFalse(offer.capabilities.word_timestamps)
        for (const timestamp_granularities of [["segment"], ["word", "segment"], ["word"]] as const) {
          const { answer } = yield* run(speaking("green tea", { timestamp_granularities }))
          assert.deepStrictEqual(
            answer.segments.map(({ end, start, text }) => [start, end, text]),
            [
              [0, 1, "green"],
              [1, 2, "tea"]
            ],
            server
          )
          assert.isUndefined(answer.words)
          assert.notMatch(double.state.requests.at(-1)?.text ?? "", /\r\nword\r\n/)
        }
      }
    }).pipe(provide)
  )

  it.live("sends json alone to a model that has no segments", () =>
    Effect.gen(function* () {
      const { run } = yield* transcribing("llamacpp", { verbose: false })
      const { answer } = yield* run(speaking("green tea", { timestamp_granularities: ["segment"] }))
      assert.deepStrictEqual([answer.text, answer.segments], ["green tea", []])
      const verbose = yield* transcribing("llamacpp")
      const { reason } = yield* Effect.flip(verbose.run(speaking("tea", { timestamp_granularities: ["segment"] })))
      assert.strictEqual(told(reason), "InvalidRequest: Only 'json' response_format is supported for transcription")
    }).pipe(provide)
  )

  it.live("offers rerank and transcription models of one server, in their order", () =>
    Effect.gen(function* () {
      const upstream = { name: "gpu", baseUrl: "http://gpu:8000/v1", credential: gatewayCredential() }
      const offers = yield* Vllm.adapter.offers(upstream, [whisper, model, { ...whisper, publicId: "acme/other" }])
      assert.deepStrictEqual(
        offers.map(({ kind, provider, publicId }) => [kind, provider, publicId]),
        [
          ["transcription", "gpu", "acme/whisper"],
          ["rerank", "gpu", "acme/bge"],
          ["transcription", "gpu", "acme/other"]
        ]
      )
      const video = { ...whisper, kind: "video" as const, pricing: { unit: "second" as const, microCredits: 1 } }
      const error = yield* Effect.flip(Vllm.adapter.offers(upstream, [video]))
      assert.strictEqual(error.message, "must be a rerank or transcription model")
    }).pipe(provide)
  )
})
