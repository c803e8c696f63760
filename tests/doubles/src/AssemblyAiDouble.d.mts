import type { Double, StartOptions } from "./Double.mjs"

export interface AssemblyAiDouble extends Double {
  /** The uploaded audio by its URL. A deleted transcript takes its audio along. */
  readonly uploads: ReadonlyMap<string, string>
  /** The transcripts by id that were not deleted. */
  readonly transcripts: ReadonlyMap<string, unknown>
  /** The next transcripts end with these errors, in turn. */
  readonly fail: (...errors: ReadonlyArray<string>) => void
}

export declare const startAssemblyAiDouble: (options: StartOptions) => Promise<AssemblyAiDouble>

/** Bodies of errors as the OpenAPI file has them. */
export declare const documentedErrors: Readonly<
  Record<
    | "invalidKey"
    | "noCredit"
    | "noModel"
    | "invalid"
    | "foreignUpload"
    | "rateLimit"
    | "server"
    | "unavailable"
    | "timeout",
    { readonly status: number; readonly body: unknown }
  >
>

/** Errors of transcripts that end with one. */
export declare const failedTranscripts: Readonly<Record<"noAudio" | "noLanguage" | "server", string>>
