/**
 * The upstream adapters, and the models that they offer. Each adapter is also a subpath of the
 * package, such as `@model-gateway/providers/Cohere`.
 *
 * @since 0.1.0
 */
export * as Adapters from "./Adapters.ts"
export * as AnthropicFiles from "./AnthropicFiles.ts"
export * as Catalog from "./Catalog.ts"
export * as OpenAiFiles from "./OpenAiFiles.ts"
