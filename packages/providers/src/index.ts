/**
 * The upstream adapters, and the models that they offer.
 *
 * @since 0.1.0
 */
export * as Adapters from "./Adapters.ts"
export * as AnthropicFiles from "./AnthropicFiles.ts"
export * as Catalogue from "./Catalogue.ts"
export * as Cohere from "./Cohere.ts"
export * as Command from "./Command.ts"
export * as Deepgram from "./Deepgram.ts"
export * as Fal from "./Fal.ts"
export * as Gateway from "./Gateway.ts"
export * as Google from "./Google.ts"
export * as Groq from "./Groq.ts"
export * as Jina from "./Jina.ts"
export * as OpenAi from "./OpenAi.ts"
export * as OpenAiFiles from "./OpenAiFiles.ts"
export * as Replicate from "./Replicate.ts"
export * as Runway from "./Runway.ts"
export * as Tei from "./Tei.ts"
export * as Voyage from "./Voyage.ts"
