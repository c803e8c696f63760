import type { Double, StartOptions } from "./Double.mjs"

export declare const startTeiDouble: (options: StartOptions) => Promise<Double>
