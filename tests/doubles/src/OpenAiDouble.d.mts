import type { Double, Recorded, Scripted, StartOptions } from "./Double.mjs"

/** A field of a form, in the order in which it was sent. */
export interface Field {
  readonly name: string
  readonly filename: string | undefined
  readonly value: string
}

/** The fields of a form. Undefined if it is not one. */
export declare const fieldsOf: (request: {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Uint8Array
}) => ReadonlyArray<Field> | undefined

export interface OpenAiOptions extends StartOptions {
  /** Default: `/v1/audio/transcriptions`. Groq: `/openai/v1/audio/transcriptions`. */
  readonly path?: string
  /** The models, each with how it differs. Default: OpenAI's. */
  readonly models?: Readonly<
    Record<
      string,
      {
        readonly verbose: boolean
        readonly tokens?: boolean
        readonly maxSeconds?: number
        /** Whether it takes `languages` and `keywords`, and no `language` and `temperature`. */
        readonly hints?: boolean
      }
    >
  >
}

/** The answer to a request with one of these keys at this path. */
export declare const answerTo: (
  request: Recorded,
  options: {
    readonly keys: ReadonlySet<string>
    readonly models: NonNullable<OpenAiOptions["models"]>
    readonly path: string
  }
) => Scripted

export declare const startOpenAiDouble: (options: OpenAiOptions) => Promise<Double>

/** Bodies of errors as the documentation quotes them, with what OpenAI's own messages carry. */
export declare const documentedErrors: Readonly<
  Record<
    | "invalidKey"
    | "noRegion"
    | "noModel"
    | "rateLimit"
    | "quota"
    | "server"
    | "overloaded"
    | "tooLong"
    | "tooShort"
    | "verbose",
    { readonly status: number; readonly body: unknown }
  >
>
