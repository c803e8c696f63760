/** The declaration of every double in this folder: nothing is known of it but how it starts. */
import type { Double, StartOptions } from "../Double.mjs"

export declare const start: (options: StartOptions) => Promise<Double>
