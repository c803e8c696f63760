/**
 * What an offer of a model is, and what the adapters of upstreams share.
 *
 * @since 0.1.0
 */
export * as Adapter from "./Adapter.ts"
export * as AudioDuration from "./AudioDuration.ts"
export * as AudioSource from "./AudioSource.ts"
export * as BoundedBody from "./BoundedBody.ts"
export * as CallProcesses from "./CallProcesses.ts"
export * as FairShare from "./FairShare.ts"
export * as FileApi from "./FileApi.ts"
export * as FormBody from "./FormBody.ts"
export * as JsonScanner from "./JsonScanner.ts"
export * as LanguageCode from "./LanguageCode.ts"
export * as MicroCredits from "./MicroCredits.ts"
export * as Model from "./Model.ts"
export * as Offer from "./Offer.ts"
export * as Passthrough from "./Passthrough.ts"
export * as Pricing from "./Pricing.ts"
export * as ProviderError from "./ProviderError.ts"
export * as Ranking from "./Ranking.ts"
export * as Rerank from "./Rerank.ts"
export * as ResponseMemory from "./ResponseMemory.ts"
export * as SafeMessage from "./SafeMessage.ts"
export * as Transcription from "./Transcription.ts"
export * as UpstreamHttp from "./UpstreamHttp.ts"
export * as Video from "./Video.ts"
export * as VideoDuration from "./VideoDuration.ts"
