import type { Double, Scripted, StartOptions } from "./Double.mjs"

/** Refusals as Azure words them. */
export declare const documentedErrors: Readonly<
  Record<"invalidKey" | "noDeployment" | "noResource" | "rateLimit", Scripted>
>

export declare const startAzureDouble: (options: StartOptions) => Promise<Double>
