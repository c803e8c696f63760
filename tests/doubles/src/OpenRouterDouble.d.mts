import type { StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

export declare const documentedMessages: Readonly<Record<401 | 402 | 404, string>>

export declare const startOpenRouterDouble: (options: StartOptions & { readonly polls?: number }) => Promise<JobDouble>
