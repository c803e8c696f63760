import type { Double, StartOptions } from "./Double.mjs"

export declare const startMistralDouble: (options: StartOptions) => Promise<Double>

/** Bodies of errors in the form of the documentation. */
export declare const documentedErrors: Readonly<
  Record<
    | "invalidKey"
    | "noPermission"
    | "noModel"
    | "tooLong"
    | "noAudio"
    | "validation"
    | "rateLimit"
    | "server"
    | "overloaded"
    | "timeout",
    { readonly status: number; readonly body: unknown }
  >
>
