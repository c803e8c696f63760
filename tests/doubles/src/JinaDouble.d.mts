import type { Double, StartOptions } from "./Double.mjs"

export declare const startJinaDouble: (options: StartOptions) => Promise<Double>
