/** What the double answers in place of its own answer. */
export interface Scripted {
  /** Default: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent as it is, anything else as JSON. Default: `{}`. */
  readonly body?: unknown
  readonly fault?: "hang" | "cut" | "cutBody" | "hangBody" | "endless" | "notHttp"
}

export interface CohereDouble {
  readonly url: string
  readonly state: {
    readonly requests: Array<{
      readonly method: string
      readonly url: string
      readonly headers: Readonly<Record<string, string | undefined>>
      readonly text: string
      /** Whether its connection was closed since. */
      readonly isClosed: () => boolean
    }>
    /** Connections so far. */
    readonly connections: number
    /** Bytes of endless bodies. */
    readonly bytesSent: number
  }
  /** Sets the answers to the next requests. */
  readonly next: (...answers: ReadonlyArray<Scripted>) => void
  /** Sets the answer to all requests, or `undefined` for the double's own. */
  readonly always: (answer: Scripted | undefined) => void
  readonly close: () => Promise<void>
}

export declare const documentedMessages: Readonly<
  Record<400 | 401 | 402 | 403 | 404 | 422 | 429 | 498 | 499 | 500 | 501 | 503 | 504, string>
>

export declare const startCohereDouble: (options: {
  readonly keys: ReadonlyArray<string>
  /** Default: any free port. */
  readonly port?: number
}) => Promise<CohereDouble>
