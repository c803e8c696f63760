/** What a double answers in place of its own answer. */
export interface Scripted {
  /** Default: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string or bytes are sent as they are, anything else as JSON. Default: `{}`. */
  readonly body?: unknown
  readonly fault?: "hang" | "cut" | "reset" | "cutBody" | "hangBody" | "endless" | "notHttp"
}

/** A request that a double received. */
export interface Recorded {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Uint8Array
  /** The bytes as UTF-8. */
  readonly text: string
  /** Whether its connection was closed since. */
  readonly isClosed: () => boolean
}

/** A double of an upstream. */
export interface Double {
  readonly url: string
  readonly state: {
    readonly requests: Array<Recorded>
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

/** How the double of one upstream is started. */
export interface StartOptions {
  /** The keys that it accepts. */
  readonly keys: ReadonlyArray<string>
  /** Default: any free port. */
  readonly port?: number
}

export declare const startDouble: (options: {
  readonly answerTo: (request: Recorded) => Scripted
  /** Default: any free port. */
  readonly port?: number
}) => Promise<Double>

/** Starts a double by hand if `url` is the module that Node was started with. */
export declare const startByHand: (url: string, start: (options: StartOptions) => Promise<Double>) => Promise<void>
