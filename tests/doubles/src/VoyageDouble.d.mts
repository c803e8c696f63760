import type { Double, StartOptions } from "./Double.mjs"

export declare const startVoyageDouble: (options: StartOptions) => Promise<Double>
