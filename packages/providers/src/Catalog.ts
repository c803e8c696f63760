/**
 * The built-in models of the adapters, with their published prices.
 *
 * This is data. Each entry names the vendor's public page for its price, what was read if not that
 * page, and the day. A settings file overrides any of it.
 *
 * @since 0.1.0
 */
import { AspectRatio, type Resolution } from "@model-gateway/core/Video"
import type { Model } from "@model-gateway/offers/Model"
import type { DataPolicy } from "@model-gateway/offers/Offer"

/**
 * Where a price is from. Pages were read as public archives keep them, so one may have changed
 * since: compare a price with your contract before you rely on it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  /** The vendor's public page for the price. */
  readonly page: string
  /** What was read in place of the page, if the page itself could not be read. */
  readonly readFrom?: string
  /** The day on which it was read: `2026-11-22`. */
  readonly readOn: string
}

/**
 * A built-in model.
 *
 * @category models
 * @since 0.1.0
 */
export type BuiltIn = Model & {
  /** The name of the adapter. */
  readonly adapter: string
  readonly source: Source
}

/** The sizes of a resolution by aspect ratio, as rows of a model's table of pixels. */
const sizesOf = (resolution: Resolution, sizes: { readonly [Ratio in AspectRatio]?: string }) =>
  AspectRatio.literals.flatMap((aspect_ratio) => {
    const size = sizes[aspect_ratio]
    return size === undefined ? [] : [{ size, resolution, aspect_ratio }]
  })

/** The sizes of television. */
const television = {
  "720p": sizesOf("720p", { "16:9": "1280x720", "9:16": "720x1280" }),
  "1080p": sizesOf("1080p", { "16:9": "1920x1080", "9:16": "1080x1920" }),
  "2K": sizesOf("2K", { "16:9": "2560x1440", "9:16": "1440x2560" }),
  "4K": sizesOf("4K", { "16:9": "3840x2160", "9:16": "2160x3840" })
}

/**
 * The sizes of Seedance 1.0, as https://302ai-en.apifox.cn/305958132e0 copies them from BytePlus
 * (read on 2026-11-23). It has no row for 9:21.
 */
const seedance = [
  ...sizesOf("480p", {
    "16:9": "864x480",
    "4:3": "736x544",
    "1:1": "640x640",
    "3:4": "544x736",
    "9:16": "480x864",
    "21:9": "960x416"
  }),
  ...sizesOf("720p", {
    "16:9": "1248x704",
    "4:3": "1120x832",
    "1:1": "960x960",
    "3:4": "832x1120",
    "9:16": "704x1248",
    "21:9": "1504x640"
  }),
  ...sizesOf("1080p", {
    "16:9": "1920x1088",
    "4:3": "1664x1248",
    "1:1": "1440x1440",
    "3:4": "1248x1664",
    "9:16": "1088x1920",
    "21:9": "2176x928"
  })
]

/**
 * Every built-in model.
 *
 * @category constants
 * @since 0.1.0
 */
export const models: ReadonlyArray<BuiltIn> = [
  {
    adapter: "cohere",
    kind: "rerank",
    publicId: "cohere/rerank-v3.5",
    upstreamId: "rerank-v3.5",
    name: "Cohere Rerank 3.5",
    // 2.00 USD for 1,000 search units.
    pricing: { unit: "search_unit", microCredits: 2000 },
    source: {
      page: "https://cohere.com/pricing",
      readFrom: "https://docs.memberjunction.org/api/classes/_memberjunction_search-engine.CohereReRanker.html",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "jina",
    kind: "rerank",
    publicId: "jina/jina-reranker-v2-base-multilingual",
    upstreamId: "jina-reranker-v2-base-multilingual",
    name: "Jina Reranker v2 Base Multilingual",
    // 0.05 USD for a million tokens.
    pricing: { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 },
    source: { page: "https://jina.ai/reranker", readFrom: "the price tables of public programs", readOn: "2026-11-22" }
  },
  {
    adapter: "jina",
    kind: "rerank",
    publicId: "jina/jina-reranker-v3",
    upstreamId: "jina-reranker-v3",
    name: "Jina Reranker v3",
    pricing: { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 },
    // It reads the documents of a call together.
    parameters: { independentScores: false },
    source: { page: "https://jina.ai/reranker", readFrom: "the price tables of public programs", readOn: "2026-11-22" }
  },
  {
    adapter: "jina",
    kind: "rerank",
    publicId: "jina/jina-reranker-m0",
    upstreamId: "jina-reranker-m0",
    name: "Jina Reranker m0",
    pricing: { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 },
    // The most that it reads of a document with its query:
    // https://jina.ai/news/jina-reranker-m0-multilingual-multimodal-document-reranker.
    parameters: { imageTokens: 10_240 },
    source: { page: "https://jina.ai/reranker", readFrom: "the price tables of public programs", readOn: "2026-11-23" }
  },
  {
    adapter: "voyage",
    kind: "rerank",
    publicId: "voyage/rerank-2.5",
    upstreamId: "rerank-2.5",
    name: "Voyage Rerank 2.5",
    // 0.05 USD for a million tokens.
    pricing: { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 },
    source: {
      page: "https://docs.voyageai.com/docs/pricing",
      readFrom: "https://usagepricing.com/blueprint/voyage-ai",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "voyage",
    kind: "rerank",
    publicId: "voyage/rerank-2.5-lite",
    upstreamId: "rerank-2.5-lite",
    name: "Voyage Rerank 2.5 Lite",
    // 0.02 USD for a million tokens.
    pricing: { unit: "token", inputMicroCredits: 20_000, outputMicroCredits: 0 },
    source: {
      page: "https://docs.voyageai.com/docs/pricing",
      readFrom: "https://usagepricing.com/blueprint/voyage-ai",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "tei",
    kind: "rerank",
    publicId: "tei/*",
    upstreamId: "*",
    name: "The model of a Text Embeddings Inference server",
    // The operator's own server.
    pricing: { unit: "token", inputMicroCredits: 0, outputMicroCredits: 0 },
    source: { page: "https://huggingface.co/docs/text-embeddings-inference", readOn: "2026-11-22" }
  },
  {
    adapter: "replicate",
    kind: "video",
    publicId: "replicate/google/veo-3.1-fast",
    upstreamId: "google/veo-3.1-fast",
    name: "Veo 3.1 Fast on Replicate",
    // 0.15 USD a second with audio, 0.10 USD without.
    pricing: {
      unit: "second",
      prices: [
        { audio: true, microCredits: 150_000 },
        { audio: false, microCredits: 100_000 }
      ]
    },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        aspect_ratio: "aspect_ratio",
        seed: "seed",
        generate_audio: "generate_audio",
        first_frame: "image",
        last_frame: "last_frame"
      },
      durations: [4, 6, 8],
      default_duration: 8,
      resolutions: ["720p", "1080p"],
      default_resolution: "1080p",
      aspect_ratios: ["16:9", "9:16"],
      sizes: [...television["720p"], ...television["1080p"]],
      audio: true,
      options: ["negative_prompt"]
    },
    source: {
      page: "https://replicate.com/google/veo-3.1-fast",
      readFrom: "https://github.com/keremk/renku/blob/main/catalog/models/replicate/replicate.yaml",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "replicate",
    kind: "video",
    publicId: "replicate/bytedance/seedance-1-lite",
    upstreamId: "bytedance/seedance-1-lite",
    name: "Seedance 1 Lite on Replicate",
    // 0.018, 0.036 and 0.072 USD a second.
    pricing: {
      unit: "second",
      prices: [
        { resolution: "480p", microCredits: 18_000 },
        { resolution: "720p", microCredits: 36_000 },
        { resolution: "1080p", microCredits: 72_000 }
      ]
    },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        aspect_ratio: "aspect_ratio",
        seed: "seed",
        first_frame: "image",
        last_frame: "last_frame_image",
        reference_images: "reference_images"
      },
      durations: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      default_duration: 5,
      resolutions: ["480p", "720p", "1080p"],
      default_resolution: "720p",
      aspect_ratios: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "9:21"],
      sizes: seedance,
      max_reference_images: 4,
      options: ["camera_fixed"]
    },
    source: {
      page: "https://replicate.com/bytedance/seedance-1-lite",
      readFrom: "https://github.com/keremk/renku/blob/main/catalog/models/replicate/replicate.yaml",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "replicate",
    kind: "video",
    publicId: "replicate/bytedance/seedance-1-pro-fast",
    upstreamId: "bytedance/seedance-1-pro-fast",
    name: "Seedance 1 Pro Fast on Replicate",
    // 0.015, 0.025 and 0.06 USD a second.
    pricing: {
      unit: "second",
      prices: [
        { resolution: "480p", microCredits: 15_000 },
        { resolution: "720p", microCredits: 25_000 },
        { resolution: "1080p", microCredits: 60_000 }
      ]
    },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        aspect_ratio: "aspect_ratio",
        seed: "seed",
        first_frame: "image"
      },
      durations: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      default_duration: 5,
      resolutions: ["480p", "720p", "1080p"],
      default_resolution: "1080p",
      aspect_ratios: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "9:21"],
      sizes: seedance,
      options: ["camera_fixed"]
    },
    source: {
      page: "https://replicate.com/bytedance/seedance-1-pro-fast",
      readFrom: "https://github.com/keremk/renku/blob/main/catalog/models/replicate/replicate.yaml",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/fal-ai/veo3.1",
    upstreamId: "fal-ai/veo3.1",
    name: "Veo 3.1 on fal",
    // 720p and 1080p: 0.40 USD a second with audio, 0.20 without. 4K: 0.60 and 0.40.
    pricing: {
      unit: "second",
      prices: [
        { resolution: "4K", audio: true, microCredits: 600_000 },
        { resolution: "4K", audio: false, microCredits: 400_000 },
        { audio: true, microCredits: 400_000 },
        { audio: false, microCredits: 200_000 }
      ]
    },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        aspect_ratio: "aspect_ratio",
        seed: "seed",
        generate_audio: "generate_audio"
      },
      durations: [4, 6, 8],
      default_duration: 8,
      duration_form: "string_s",
      resolutions: ["720p", "1080p", "4K"],
      resolution_names: { "4K": "4k" },
      aspect_ratios: ["16:9", "9:16"],
      sizes: [...television["720p"], ...television["1080p"], ...television["4K"]],
      audio: true,
      options: ["negative_prompt", "auto_fix", "safety_tolerance"]
    },
    source: { page: "https://fal.ai/models/fal-ai/veo3.1/llms.txt", readOn: "2026-11-22" }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/fal-ai/kling-video/v3/turbo/pro/text-to-video",
    upstreamId: "fal-ai/kling-video/v3/turbo/pro/text-to-video",
    name: "Kling 3 Turbo Pro on fal",
    // 0.14 USD a second.
    pricing: { unit: "second", microCredits: 140_000 },
    parameters: {
      fields: { duration: "duration", aspect_ratio: "aspect_ratio" },
      durations: [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
      default_duration: 5,
      duration_form: "string",
      resolutions: ["1080p"],
      aspect_ratios: ["16:9", "9:16", "1:1"],
      sizes: television["1080p"]
    },
    source: {
      page: "https://fal.ai/models/fal-ai/kling-video/v3/turbo/pro/text-to-video/llms.txt",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/fal-ai/kling-video/v2.5-turbo/pro/image-to-video",
    upstreamId: "fal-ai/kling-video/v2.5-turbo/pro/image-to-video",
    name: "Kling 2.5 Turbo Pro, image to video, on fal",
    // 0.35 USD for 5 seconds, 0.07 USD for each additional second.
    pricing: { unit: "second", microCredits: 70_000 },
    parameters: {
      fields: { duration: "duration", first_frame: "image_url", last_frame: "tail_image_url" },
      durations: [5, 10],
      duration_form: "string",
      // fal does not say.
      resolutions: [],
      aspect_ratios: [],
      image_required: true,
      options: ["negative_prompt", "cfg_scale"]
    },
    source: {
      page: "https://fal.ai/models/fal-ai/kling-video/v2.5-turbo/pro/image-to-video/llms.txt",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/fal-ai/minimax/hailuo-02/standard/image-to-video",
    upstreamId: "fal-ai/minimax/hailuo-02/standard/image-to-video",
    name: "MiniMax Hailuo 02 Standard, image to video, on fal",
    // 0.045 USD a second at 768p.
    pricing: { unit: "second", microCredits: 45_000 },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        first_frame: "image_url",
        last_frame: "end_image_url"
      },
      durations: [6, 10],
      duration_form: "string",
      resolutions: ["768p"],
      resolution_names: { "768p": "768P" },
      aspect_ratios: [],
      image_required: true,
      options: ["prompt_optimizer"]
    },
    source: {
      page: "https://fal.ai/models/fal-ai/minimax/hailuo-02/standard/image-to-video/llms.txt",
      readOn: "2026-11-23"
    }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/fal-ai/ltx-2.3/text-to-video",
    upstreamId: "fal-ai/ltx-2.3/text-to-video",
    name: "LTX 2.3 Pro on fal",
    // 0.08 USD a second at 1080p, 0.16 at 1440p, 0.32 at 2160p.
    pricing: {
      unit: "second",
      prices: [
        { resolution: "1080p", microCredits: 80_000 },
        { resolution: "2K", microCredits: 160_000 },
        { resolution: "4K", microCredits: 320_000 }
      ]
    },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        aspect_ratio: "aspect_ratio",
        generate_audio: "generate_audio"
      },
      durations: [6, 8, 10],
      resolutions: ["1080p", "2K", "4K"],
      resolution_names: { "2K": "1440p", "4K": "2160p" },
      aspect_ratios: ["16:9", "9:16"],
      sizes: [...television["1080p"], ...television["2K"], ...television["4K"]],
      audio: true
    },
    source: { page: "https://fal.ai/models/fal-ai/ltx-2.3/text-to-video/llms.txt", readOn: "2026-11-23" }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/bytedance/seedance-2.0/reference-to-video",
    upstreamId: "bytedance/seedance-2.0/reference-to-video",
    name: "Seedance 2.0, references to video, on fal",
    // 0.3024 USD a second of 921,600 pixels. A video as input is billed by its length, which is not
    // known here, so references to videos are ignored.
    pricing: { unit: "second", microCredits: 302_400 },
    parameters: {
      fields: {
        duration: "duration",
        resolution: "resolution",
        aspect_ratio: "aspect_ratio",
        seed: "seed",
        generate_audio: "generate_audio",
        reference_images: "image_urls",
        reference_audios: "audio_urls"
      },
      durations: [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
      default_duration: 5,
      duration_form: "string",
      resolutions: ["720p"],
      // Those with 921,600 pixels, so that the price is exact.
      aspect_ratios: ["16:9", "9:16", "1:1"],
      default_aspect_ratio: "16:9",
      sizes: sizesOf("720p", { "16:9": "1280x720", "9:16": "720x1280", "1:1": "960x960" }),
      max_reference_images: 9,
      audio_needs_image: true,
      audio: true
    },
    source: {
      page: "https://fal.ai/models/bytedance/seedance-2.0/reference-to-video/llms.txt",
      readOn: "2026-11-23"
    }
  },
  {
    adapter: "fal",
    kind: "video",
    publicId: "fal/topaz/upscale/video/creative",
    upstreamId: "topaz/upscale/video/creative",
    name: "Topaz Astra 2, creative upscaling, on fal",
    // 10 seconds at 30 frames a second: 3.00 USD up to 1080p, 5.00 USD at 4K, and twice as much at
    // 60. The model chooses the resolution, typically 4K, and fal does not report it.
    pricing: { unit: "second", microCredits: 500_000 },
    parameters: {
      upscale: {
        fields: {
          video: "video_url",
          upscale_factor: "upscale_factor",
          creativity: "creativity",
          prompt: "prompt"
        },
        factors: { min: 1, max: 4, default: 2 },
        max_seconds: 300,
        // https://developer.topazlabs.com/video-models/astra/astra-2, read on 2026-11-23.
        max_frames: 9000,
        max_frames_with_prompt: 450,
        fixed: { target_fps: 30 }
      },
      options: ["realism", "sharp", "H264_output"]
    },
    source: {
      page: "https://fal.ai/models/topaz/upscale/video/creative/llms.txt",
      readFrom:
        "https://github.com/bthurlow/artificer-mcp/blob/main/src/catalog/fal-specs/topaz-video-upscale-creative/llms.md",
      readOn: "2026-11-23"
    }
  },
  {
    adapter: "openai",
    kind: "transcription",
    publicId: "openai/whisper-1",
    upstreamId: "whisper-1",
    name: "OpenAI Whisper",
    // 0.006 USD per minute.
    pricing: { unit: "second", microCredits: 100 },
    source: { page: "https://developers.openai.com/api/docs/models/whisper-1", readOn: "2026-11-22" }
  },
  {
    adapter: "openai",
    kind: "transcription",
    publicId: "openai/gpt-4o-transcribe",
    upstreamId: "gpt-4o-transcribe",
    name: "GPT-4o Transcribe",
    // 2.50 USD per million tokens of audio, 10.00 USD per million tokens of text.
    pricing: { unit: "token", inputMicroCredits: 2_500_000, outputMicroCredits: 10_000_000 },
    parameters: { verbose: false, maxSeconds: 1400, tokensPerSecond: 10, maxOutputTokens: 2000 },
    source: { page: "https://developers.openai.com/api/docs/models/gpt-4o-transcribe", readOn: "2026-11-22" }
  },
  {
    adapter: "openai",
    kind: "transcription",
    publicId: "openai/gpt-4o-mini-transcribe",
    upstreamId: "gpt-4o-mini-transcribe",
    name: "GPT-4o mini Transcribe",
    // 1.25 USD per million tokens of audio, 5.00 USD per million tokens of text.
    pricing: { unit: "token", inputMicroCredits: 1_250_000, outputMicroCredits: 5_000_000 },
    parameters: { verbose: false, maxSeconds: 1400, tokensPerSecond: 10, maxOutputTokens: 2000 },
    source: { page: "https://developers.openai.com/api/docs/models/gpt-4o-mini-transcribe", readOn: "2026-11-22" }
  },
  {
    adapter: "groq",
    kind: "transcription",
    publicId: "groq/whisper-large-v3-turbo",
    upstreamId: "whisper-large-v3-turbo",
    name: "Whisper Large v3 Turbo",
    // 0.04 USD per hour, at least 10 seconds per request.
    pricing: { unit: "second", microCredits: 40_000 / 3600 },
    parameters: { minSeconds: 10 },
    source: { page: "https://console.groq.com/docs/speech-to-text", readOn: "2026-11-22" }
  },
  {
    adapter: "groq",
    kind: "transcription",
    publicId: "groq/whisper-large-v3",
    upstreamId: "whisper-large-v3",
    name: "Whisper Large v3",
    // 0.111 USD per hour, at least 10 seconds per request.
    pricing: { unit: "second", microCredits: 111_000 / 3600 },
    parameters: { minSeconds: 10 },
    source: { page: "https://console.groq.com/docs/speech-to-text", readOn: "2026-11-22" }
  },
  {
    adapter: "deepgram",
    kind: "transcription",
    publicId: "deepgram/nova-3",
    upstreamId: "nova-3",
    name: "Deepgram Nova-3",
    // 0.0043 USD per minute of recorded audio in one language, 0.0052 with language=multi;
    // diarization costs 0.0020 more.
    pricing: { unit: "second", microCredits: 4300 / 60 },
    parameters: { addOns: { diarize: 2000 / 60, diarize_model: 2000 / 60, "language=multi": 900 / 60 } },
    source: {
      page: "https://deepgram.com/pricing",
      readFrom: "https://github.com/hail-hq/hail/blob/main/costs/stt.json",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "runway",
    kind: "video",
    publicId: "runway/gen4.5",
    upstreamId: "gen4.5",
    name: "Runway Gen-4.5",
    // 12 of Runway's credits a second. A credit is 0.01 USD.
    pricing: { unit: "second", microCredits: 120_000 },
    parameters: {
      ratios: [
        { ratio: "1280:720", resolution: "720p", aspect_ratio: "16:9" },
        { ratio: "720:1280", resolution: "720p", aspect_ratio: "9:16" },
        { ratio: "1104:832", resolution: "720p", aspect_ratio: "4:3", image_only: true },
        { ratio: "832:1104", resolution: "720p", aspect_ratio: "3:4", image_only: true },
        { ratio: "960:960", resolution: "720p", aspect_ratio: "1:1", image_only: true },
        { ratio: "1584:672", resolution: "720p", aspect_ratio: "21:9", image_only: true }
      ],
      durations: [2, 3, 4, 5, 6, 7, 8, 9, 10],
      default_duration: 5,
      options: ["contentModeration"]
    },
    source: {
      page: "https://docs.dev.runwayml.com/guides/pricing/",
      readFrom: "https://github.com/runwayml/skills/blob/main/skills/rw-api-reference/SKILL.md",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "runway",
    kind: "video",
    publicId: "runway/gen4_turbo",
    upstreamId: "gen4_turbo",
    name: "Runway Gen-4 Turbo",
    // 5 of Runway's credits a second.
    pricing: { unit: "second", microCredits: 50_000 },
    parameters: {
      ratios: [
        { ratio: "1280:720", resolution: "720p", aspect_ratio: "16:9" },
        { ratio: "720:1280", resolution: "720p", aspect_ratio: "9:16" },
        { ratio: "1104:832", resolution: "720p", aspect_ratio: "4:3" },
        { ratio: "832:1104", resolution: "720p", aspect_ratio: "3:4" },
        { ratio: "960:960", resolution: "720p", aspect_ratio: "1:1" },
        { ratio: "1584:672", resolution: "720p", aspect_ratio: "21:9" }
      ],
      durations: [2, 3, 4, 5, 6, 7, 8, 9, 10],
      default_duration: 5,
      image_required: true,
      prompt_optional: true,
      options: ["contentModeration"]
    },
    source: {
      page: "https://docs.dev.runwayml.com/guides/pricing/",
      readFrom: "https://github.com/runwayml/skills/blob/main/skills/rw-api-reference/SKILL.md",
      readOn: "2026-11-22"
    }
  },
  {
    adapter: "google",
    kind: "video",
    publicId: "google/gemini-omni-1.1-flash",
    upstreamId: "gemini-omni-1.1-flash",
    name: "Gemini Omni 1.1 Flash",
    // 17.50 USD for a million tokens of video. A second has 5,792 of them at 720p, and costs 1.5
    // times as much at 1080p, and 3 times as much at 4K.
    pricing: {
      unit: "second",
      prices: [
        { resolution: "720p", microCredits: 101_360 },
        { resolution: "1080p", microCredits: 152_040 },
        { resolution: "4K", microCredits: 304_080 }
      ]
    },
    parameters: {
      durations: [3, 4, 5, 6, 7, 8, 9, 10],
      default_duration: 5,
      resolutions: ["720p", "1080p", "4K"],
      aspect_ratios: ["16:9", "9:16"],
      sizes: [...television["720p"], ...television["1080p"], ...television["4K"]],
      // https://docs.oxen.ai/inference-api/reference/models/gemini-omni-1-1-flash, read on
      // 2026-11-23.
      max_reference_images: 3
    },
    source: {
      page: "https://ai.google.dev/gemini-api/docs/pricing",
      readFrom:
        "https://runware.ai/docs/models/google-gemini-omni-flash.md and https://wavespeed.ai/blog/ai-models/gemini-omni-1-1-flash-api/",
      readOn: "2026-11-22"
    }
  }
]

/**
 * What the services of the adapters document of the data in requests, for an account whose owner
 * changed nothing, by the name of the adapter. A service without an entry documents nothing that
 * could be read. A contract or a setting of an account can differ: the settings file then declares
 * another policy.
 *
 * @category constants
 * @since 0.1.0
 */
export const dataPolicies: Readonly<Record<string, DataPolicy & { readonly source: Source }>> = {
  // It trains unless the account's owner opts out.
  cohere: {
    training: true,
    retainsPrompts: true,
    promptRetentionDays: 30,
    source: { page: "https://cohere.com/enterprise-data-commitments", readOn: "2026-11-23" }
  },
  // It keeps logs against abuse.
  openai: {
    training: false,
    retainsPrompts: true,
    promptRetentionDays: 30,
    source: {
      page: "https://developers.openai.com/api/docs/guides/your-data",
      readFrom: "https://archive.fo/xXsg7",
      readOn: "2026-11-23"
    }
  },
  // It keeps requests where it looks for abuse or failures. The page does not speak of training.
  groq: {
    retainsPrompts: true,
    promptRetentionDays: 30,
    source: { page: "https://console.groq.com/docs/your-data", readOn: "2026-11-23" }
  },
  // Its program for better models has every request that does not opt out.
  deepgram: {
    training: true,
    retainsPrompts: true,
    source: { page: "https://developers.deepgram.com/trust-security/your-data", readOn: "2026-11-23" }
  },
  // It deletes after an hour. The page does not speak of training.
  replicate: {
    retainsPrompts: true,
    promptRetentionDays: 1,
    source: { page: "https://replicate.com/docs/topics/predictions/data-retention", readOn: "2026-11-23" }
  },
  // 30 days for requests. Files have no limit by default. The page does not speak of training.
  fal: {
    retainsPrompts: true,
    source: { page: "https://docs.fal.ai/documentation/model-apis/media-expiration", readOn: "2026-11-23" }
  },
  runway: {
    training: true,
    source: {
      page: "https://runwayml.com/terms-of-use",
      readFrom:
        "https://conductatlas.com/platform/runway/runway-terms-of-service/ai-training-license-over-inputs-and-outputs/",
      readOn: "2026-11-23"
    }
  },
  // Whether it trains depends on whether the project is billed.
  google: {
    retainsPrompts: true,
    promptRetentionDays: 55,
    source: { page: "https://ai.google.dev/gemini-api/docs/usage-policies", readOn: "2026-11-23" }
  }
}

/**
 * What is known of an adapter: its built-in models, and what its public service documents of the
 * data in requests.
 *
 * @category getters
 * @since 0.1.0
 */
export const of = (
  adapter: string
): { readonly models: ReadonlyArray<BuiltIn>; readonly dataPolicy: DataPolicy | undefined } => {
  const { source: _, ...dataPolicy } = dataPolicies[adapter] ?? { source: undefined }
  return {
    models: models.filter((model) => model.adapter === adapter),
    dataPolicy: Object.keys(dataPolicy).length === 0 ? undefined : dataPolicy
  }
}
