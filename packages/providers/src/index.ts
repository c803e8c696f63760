/**
 * The interface between the service and its upstreams, and the upstream adapters.
 *
 * @since 0.1.0
 */
export * as Adapter from "./Adapter.ts"
export * as Adapters from "./Adapters.ts"
export * as AudioDuration from "./AudioDuration.ts"
export * as AudioSource from "./AudioSource.ts"
export * as Catalogue from "./Catalogue.ts"
export * as Cohere from "./Cohere.ts"
export * as Command from "./Command.ts"
export * as Deepgram from "./Deepgram.ts"
export * as Fal from "./Fal.ts"
export * as Gateway from "./Gateway.ts"
export * as Groq from "./Groq.ts"
export * as LanguageCode from "./LanguageCode.ts"
export * as MicroCredits from "./MicroCredits.ts"
export * as Model from "./Model.ts"
export * as Offer from "./Offer.ts"
export * as OpenAi from "./OpenAi.ts"
export * as Pricing from "./Pricing.ts"
export * as ProviderError from "./ProviderError.ts"
export * as Replicate from "./Replicate.ts"
export * as Rerank from "./Rerank.ts"
export * as SafeMessage from "./SafeMessage.ts"
export * as Transcription from "./Transcription.ts"
export * as UpstreamHttp from "./UpstreamHttp.ts"
export * as Video from "./Video.ts"
