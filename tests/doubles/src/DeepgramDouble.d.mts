import type { Double, StartOptions } from "./Double.mjs"

export declare const startDeepgramDouble: (options: StartOptions) => Promise<Double>

/** Bodies of errors as the documentation quotes them. */
export declare const documentedErrors: Readonly<
  Record<
    | "corrupt"
    | "noModel"
    | "invalidKey"
    | "noCredit"
    | "noPermission"
    | "slowUpload"
    | "tooLarge"
    | "rateLimit"
    | "server"
    | "timeout",
    { readonly status: number; readonly body: unknown }
  >
>
