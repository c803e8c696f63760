import type { Double, StartOptions } from "./Double.mjs"

export declare const startOpenAiFilesDouble: (options: StartOptions) => Promise<Double>

export declare const startAnthropicFilesDouble: (
  options: StartOptions & { readonly hasBeta?: boolean }
) => Promise<Double>
