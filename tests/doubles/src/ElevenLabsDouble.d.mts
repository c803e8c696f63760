import type { Double, StartOptions } from "./Double.mjs"

export declare const startElevenLabsDouble: (options: StartOptions) => Promise<Double>

/** Bodies of errors in the form of the documentation. */
export declare const documentedErrors: Readonly<
  Record<
    | "invalidKey"
    | "noCredit"
    | "noPermission"
    | "noModel"
    | "noAudio"
    | "tooLarge"
    | "validation"
    | "concurrency"
    | "busy"
    | "server",
    { readonly status: number; readonly body: unknown }
  >
>
