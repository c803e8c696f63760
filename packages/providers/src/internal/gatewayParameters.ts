/** The `parameters` of models of a gateway: what the upstream's model accepts. */
import { AudioFormat } from "@model-gateway/core/Transcription"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
import { Effect, Schema } from "effect"

const optional = <S extends Schema.Top>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefaultKey(Effect.succeed(value))(schema)

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))

const Credits = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))

/**
 * The `parameters` of a rerank model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RerankParameters = Schema.Struct({
  /** Default: false. */
  image_documents: optional(Schema.Boolean, false)
})

/**
 * The `parameters` of a transcription model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TranscriptionParameters = Schema.Struct({
  /** Default: all. */
  audio_formats: optional(Schema.Array(AudioFormat), AudioFormat.literals),
  /** Whether it supports `verbose_json`. Default: true. */
  verbose: optional(Schema.Boolean, true),
  /** Default: true. */
  word_timestamps: optional(Schema.Boolean, true),
  /**
   * The maximum number of input tokens of a second of audio, for the quote of a price per token.
   * Default: 50, more than any model reads.
   */
  tokens_per_second: optional(Positive, 50),
  /**
   * The maximum number of output tokens of a second of audio. Default: 20, as fast speech is 5
   * words a second.
   */
  output_tokens_per_second: optional(Positive, 20)
})

const Seconds = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/**
 * The `parameters` of a video model. What they allow and the upstream does not fails the job with
 * the upstream's reason.
 *
 * @category schemas
 * @since 0.1.0
 */
export const VideoParameters = Schema.Struct({
  /** Default: all. */
  resolutions: optional(Schema.Array(Resolution), Resolution.literals),
  /** Default: all. */
  aspect_ratios: optional(Schema.Array(AspectRatio), AspectRatio.literals),
  /** Seconds if the request has none. Default: 5. */
  default_duration: optional(Seconds, 5),
  /** Default: 60. */
  max_duration: optional(Seconds, 60),
  /** Default: false. */
  prompt_optional: optional(Schema.Boolean, false),
  /** Default: true. */
  frame_images: optional(Schema.Boolean, true),
  /** Whether it takes a last frame too. Default: true. */
  last_frame: optional(Schema.Boolean, true),
  /** Whether it generates audio if the request does not say. Default: false. */
  generate_audio: optional(Schema.Boolean, false),
  /** Default: false. */
  upscale: optional(Schema.Boolean, false),
  /** Whether it takes a `seed`. Default: true. */
  seed: optional(Schema.Boolean, true),
  /** The kinds of `input_references` that it takes. Default: all are passed on. */
  references: Schema.optionalKey(Schema.Array(Schema.Literals(["image", "audio", "video"]))),
  /** What each image of a request costs beside the video, in credits. Default: 0. */
  credits_per_image: optional(Credits, 0),
  /** The least that a video costs, in credits. Default: 0. */
  minimum_credits: optional(Credits, 0)
})
