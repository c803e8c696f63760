/**
 * Models that need no upstream and no key: keyword and image ranking, keypad tones, title cards,
 * and failures for tests.
 *
 * @since 0.1.0
 */
export * as Bm25 from "./Bm25.ts"
export * as Colors from "./Colors.ts"
export * as DtmfTone from "./DtmfTone.ts"
export * as Sandbox from "./Sandbox.ts"
export * as SandboxStatus from "./SandboxStatus.ts"
export * as TitleCard from "./TitleCard.ts"
export * as TitleCardUpscaler from "./TitleCardUpscaler.ts"
export * as TitleCardVideo from "./TitleCardVideo.ts"
export * as Tones from "./Tones.ts"
export * as Wav from "./Wav.ts"
export * as WavEncoder from "./WavEncoder.ts"
