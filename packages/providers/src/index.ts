/**
 * Upstream adapters of the model gateway, and the sandbox that needs none.
 *
 * @since 0.1.0
 */
export * as AudioDuration from "./AudioDuration.ts"
export * as AudioSource from "./AudioSource.ts"
export * as MicroCredits from "./MicroCredits.ts"
export * as Model from "./Model.ts"
export * as Offer from "./Offer.ts"
export * as Pricing from "./Pricing.ts"
export * as Provider from "./Provider.ts"
export * as ProviderError from "./ProviderError.ts"
export * as Bm25 from "./sandbox/Bm25.ts"
export * as DtmfTone from "./sandbox/DtmfTone.ts"
export * as Sandbox from "./sandbox/Sandbox.ts"
export * as SandboxStatus from "./sandbox/SandboxStatus.ts"
export * as TitleCard from "./sandbox/TitleCard.ts"
export * as TitleCardVideo from "./sandbox/TitleCardVideo.ts"
export * as Tones from "./sandbox/Tones.ts"
export * as Wav from "./sandbox/Wav.ts"
