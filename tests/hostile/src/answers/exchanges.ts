/**
 * What the gateway is asked so that it calls each upstream, and what the upstream would rightly
 * answer. The number of a request travels with it as `fuzz-<number>`, so that its answers can be
 * reproduced.
 */
import { silence } from "@model-gateway/test-services/Wav"
import { form } from "../audio.ts"
import type { Question } from "../client.ts"
import type { Call } from "../doubles.ts"
import type { Random } from "../fuzz/random.ts"

/** A request for one upstream. */
export interface Exchange {
  /** The upstream, as the settings file and the table name it. */
  readonly upstream: string
  readonly operation: "rerank" | "transcribe" | "submitVideo"
  readonly question: (number: number) => Omit<Question, "key">
}

/** A right answer: JSON, text, or the bytes of a video. */
export type Right = { readonly json: unknown } | { readonly bytes: Buffer }

const key = "not-a-real-key"

/** The settings file: every upstream is the double at this URL, below a path of its own. */
export const file = (url: string): object => ({
  upstreams: {
    ...Object.fromEntries(
      [
        "cohere",
        "jina",
        "voyage",
        "bedrock",
        "openai",
        "groq",
        "deepgram",
        "elevenlabs",
        "assemblyai",
        "mistral",
        "replicate",
        "fal",
        "runway",
        "google"
      ].map((name) => [name, { apiKey: key, baseUrl: `${url}/${name}` }])
    ),
    tei: { baseUrl: `${url}/tei` },
    behind: { adapter: "gateway", apiKey: key, baseUrl: `${url}/behind` }
  },
  models: {
    // It would wait a second for each poll.
    "assemblyai/hurried": {
      offers: [
        {
          upstream: "assemblyai",
          model: "universal-2",
          price: { second: 0.0001 },
          parameters: { pollMilliseconds: 5, addOns: { speaker_labels: 1 } }
        }
      ]
    },
    "tei/priced": { offers: [{ upstream: "tei", model: "priced", price: { input_tokens: 1 } }] },
    "behind/rank": { kind: "rerank", offers: [{ upstream: "behind", model: "rank", price: { search_unit: 0.001 } }] },
    "behind/hear": {
      kind: "transcription",
      offers: [{ upstream: "behind", model: "hear", price: { second: 0.0001 } }]
    },
    "behind/film": { kind: "video", offers: [{ upstream: "behind", model: "film", price: { second: 0.01 } }] }
  }
})

const documents = ["a cup of green tea", "milk", "coffee"]

const rerank = (upstream: string, model: string): Exchange => ({
  upstream,
  operation: "rerank",
  question: (number) => ({
    method: "POST",
    path: "/api/v1/rerank",
    body: { model, query: `fuzz-${number}`, documents, top_n: 3 }
  })
})

const audio = silence({ size: 8000 })

const transcribe = (upstream: string, model: string, options: (mark: string) => object): Exchange => ({
  upstream,
  operation: "transcribe",
  question: (number) => {
    const provider = JSON.stringify({ options: { [upstream]: options(`fuzz-${number}`) } })
    // These models have no other format than `json`.
    const verbose = /gpt-/.test(model) ? {} : { response_format: "verbose_json", "timestamp_granularities[]": "word" }
    const fields = { model, provider, ...verbose }
    return { method: "POST", path: "/api/v1/audio/transcriptions", ...form(fields, { name: "a.wav", bytes: audio }) }
  }
})

const video = (upstream: string, model: string): Exchange => ({
  upstream,
  operation: "submitVideo",
  question: (number) => ({ method: "POST", path: "/api/v1/videos", body: { model, prompt: `fuzz-${number}` } })
})

const rerankers = [
  rerank("cohere", "cohere/rerank-v3.5"),
  rerank("jina", "jina/jina-reranker-v3"),
  rerank("voyage", "voyage/rerank-2.5"),
  rerank("tei", "tei/priced"),
  rerank("bedrock", "bedrock/amazon.rerank-v1:0"),
  rerank("behind", "behind/rank")
] as const

const transcribers = [
  transcribe("openai", "openai/whisper-1", (mark) => ({ prompt: mark })),
  transcribe("openai", "openai/gpt-4o-transcribe", (mark) => ({ prompt: mark })),
  transcribe("groq", "groq/whisper-large-v3", (mark) => ({ prompt: mark })),
  transcribe("deepgram", "deepgram/nova-3", (mark) => ({ tag: mark })),
  transcribe("openai", "openai/gpt-transcribe", (mark) => ({ prompt: mark })),
  transcribe("elevenlabs", "elevenlabs/scribe_v2", (mark) => ({ keyterms: [mark], diarize: true })),
  transcribe("assemblyai", "assemblyai/hurried", (mark) => ({ custom_spelling: mark, speaker_labels: true })),
  transcribe("mistral", "mistral/voxtral-mini-transcribe-3-0", (mark) => ({ context_bias: [mark], diarize: true })),
  transcribe("behind", "behind/hear", (mark) => ({ order: [mark] }))
] as const

const videos = [
  video("replicate", "replicate/bytedance/seedance-1-lite"),
  video("fal", "fal/fal-ai/veo3.1"),
  video("runway", "runway/gen4.5"),
  video("google", "google/gemini-omni-1.1-flash"),
  video("behind", "behind/film")
] as const

/** The exchange of a request. A video is asked for several times, so few are requested. */
export const pick = (random: Random): Exchange =>
  random.pick(random.chance(0.1) ? videos : random.chance(0.5) ? rerankers : transcribers)

const results = documents.map((_, index) => ({ index, relevance_score: 0.9 - index / 10 }))

const words = [
  { word: "green", start: 0, end: 0.2 },
  { word: "tea", start: 0.2, end: 0.5 }
]

const segments = [{ id: 0, seek: 0, start: 0, end: 0.5, text: "green tea", tokens: [1, 2], temperature: 0 }]

const transcript = {
  text: "green tea",
  language: "english",
  duration: 0.5,
  segments,
  words,
  usage: { seconds: 1, input_tokens: 14, output_tokens: 45 }
}

const deepgramTranscript = {
  metadata: { duration: 0.5 },
  results: {
    channels: [{ alternatives: [{ transcript: "green tea", words, languages: ["en"] }], detected_language: "en" }],
    utterances: [{ transcript: "green tea", start: 0, end: 0.5, speaker: 0 }]
  }
}

const scribeTranscript = {
  text: "green tea",
  language_code: "eng",
  words: words.map(({ end, start, word }, at) => ({
    text: word,
    start,
    end,
    type: "word",
    speaker_id: `speaker_${at}`
  })),
  audio_duration_secs: 0.5
}

const voxtralTranscript = {
  model: "voxtral",
  text: " green tea",
  language: "en",
  segments: [{ text: " green tea", start: 0, end: 0.5, speaker_id: "speaker_1", type: "transcription_segment" }],
  usage: { prompt_audio_seconds: 1, prompt_tokens: 4, total_tokens: 9, completion_tokens: 5 }
}

/** What AssemblyAI answers to an upload, a creation, a poll and a deletion. */
const assemblyAi = (method: string, path: string, job: string): unknown => {
  if (path.endsWith("/upload")) return { upload_url: "https://cdn.assemblyai.com/upload/1" }
  if (method === "POST") return { id: job, status: "queued" }
  const spoken = words.map(({ end, start, word }) => ({
    text: word,
    start: start * 1000,
    end: end * 1000,
    speaker: "A"
  }))
  return { id: job, status: "completed", text: "green tea", words: spoken, utterances: spoken, audio_duration: 1 }
}

const film = Buffer.from("\u0000\u0000\u0000\u0018ftypmp42".repeat(20))

/** What the gateway of a gateway answers. */
const behind = (method: string, path: string, job: string): Right => {
  if (path.endsWith("/rerank")) {
    const ranked = results.map((result) => ({ ...result, document: { text: "tea" } }))
    const usage = { search_units: 1, total_tokens: 9, cost: 0.001 }
    return { json: { id: "gen_1", model: "rank", provider: "double", results: ranked, usage } }
  }
  if (path.endsWith("/transcriptions")) return { json: { ...transcript, usage: { seconds: 1, cost: 0.001 } } }
  if (path.includes("/content")) return { bytes: film }
  const polling_url = `/api/v1/videos/${job}`
  if (method === "POST") return { json: { id: job, polling_url, status: "pending" } }
  const unsigned_urls = [`${polling_url}/content?index=0`]
  return { json: { id: job, polling_url, status: "completed", unsigned_urls, usage: { cost: 0.05, is_byok: false } } }
}

/** The right answer to a call of the upstream at this URL. */
export const rightAnswer = (url: string, { method, path }: Call, number: number): Right => {
  const [, upstream = ""] = path.split("/")
  const job = `fuzz-${number}`
  const link = `${url}/${upstream}/files/${job}.mp4`
  if (path.includes("/files/")) return { bytes: film }
  switch (upstream) {
    case "cohere":
      return { json: { id: "a", results, meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 9 } } } }
    case "jina":
      return { json: { model: "rank", results, usage: { total_tokens: 9 } } }
    case "voyage":
      return { json: { object: "list", data: results, usage: { total_tokens: 9 } } }
    case "bedrock":
      return { json: { results } }
    case "tei":
      return { json: results.map(({ index, relevance_score }) => ({ index, score: relevance_score })) }
    case "openai":
    case "groq":
      return { json: transcript }
    case "deepgram":
      return { json: deepgramTranscript }
    case "elevenlabs":
      return { json: scribeTranscript }
    case "assemblyai":
      return { json: assemblyAi(method, path, job) }
    case "mistral":
      return { json: voxtralTranscript }
    case "behind":
      return behind(method, path, job)
    case "replicate":
      return { json: method === "POST" ? { id: job, status: "starting" } : { status: "succeeded", output: link } }
    case "runway":
      return { json: method === "POST" ? { id: job } : { id: job, status: "SUCCEEDED", progress: 1, output: [link] } }
    case "fal": {
      const own = `${url}/fal/jobs/${job}`
      if (method === "POST") {
        return {
          json: { request_id: job, status_url: `${own}/status`, response_url: own, cancel_url: `${own}/cancel` }
        }
      }
      return { json: path.endsWith("/status") ? { status: "COMPLETED" } : { video: { url: link } } }
    }
    default: {
      const steps = [{ type: "model_output", content: [{ type: "video", uri: link }] }]
      const usage = { total_input_tokens: 9, total_output_tokens: 5000 }
      return { json: method === "POST" ? { id: job } : { id: job, status: "completed", steps, usage } }
    }
  }
}

/** The number of the request that a call is for. */
export const numberOf = ({ body, path }: Call): number | undefined => {
  const match = /fuzz-(\d+)/.exec(path) ?? /fuzz-(\d+)/.exec(body.toString("latin1"))
  return match === null ? undefined : Number(match[1])
}
