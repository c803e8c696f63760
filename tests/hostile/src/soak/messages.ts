/** The messages between the processes of the soak. */

/**
 * The limits of the client's policy, in milliseconds. They are short, so that they are met often.
 */
export interface Limits {
  readonly attempt: number
  readonly deadline: number
  readonly stall: number
  readonly maxRetryAfter: number
}

/** The first message of the server. */
export interface ServerListening {
  readonly port: number
}

export interface ServerOptions {
  readonly seed: number
  /** Faults last longer than these. */
  readonly limits: Limits
  /** Milliseconds between two restarts, on average. */
  readonly uptime: number
}

export interface ClientOptions {
  readonly origin: string
  readonly seed: number
  readonly limits: Limits
  readonly milliseconds: number
  /** Calls at once. */
  readonly workers: number
  /** The longest pause of a worker between two calls, in milliseconds. */
  readonly maxPauseMillis: number
}

/** One call of the client has ended. */
export interface CallReport {
  readonly type: "call"
  /** Sent with the request and contained in its answer. */
  readonly id: string
  readonly name: string
  /** `success`, `cancelled`, or the tag of the error. */
  readonly outcome: string
  /** The identifier of the charge, as the answer of a paid call contains it. */
  readonly answer: string | undefined
  readonly milliseconds: number
  /** The time in milliseconds that the call may take, without the time in which an upload moved. */
  readonly limit: number
  /** How long the event loop was late while the call ran, in milliseconds. */
  readonly late: number
  /** Whether the caller repeated it with the idempotency key of its error. */
  readonly isRepeat: boolean
  readonly problem: string | undefined
}

/** The state of the client while no call runs, after garbage collection. */
export interface SampleReport {
  readonly type: "sample"
  /** Bytes. */
  readonly heap: number
  /** Bytes outside of the heap. */
  readonly external: number
  readonly calls: number
  readonly sockets: number
  /** Requests that a pool runs or holds. */
  readonly requests: number
}

/** The client's layer is closed. */
export interface EndReport {
  readonly type: "end"
  readonly attempts: number
  readonly retries: number
  /** Tokens that replaced a rejected one. */
  readonly renewals: number
  /** What still keeps the process alive, besides the channel to its parent. */
  readonly resources: ReadonlyArray<string>
}

export type ClientMessage = CallReport | SampleReport | EndReport

export interface Charge {
  /** The identifier of the call. */
  readonly call: string
  readonly key: string
  readonly answer: string
}

/** What the server counted. */
export interface ServerReport {
  readonly requests: number
  readonly charges: ReadonlyArray<Charge>
  /** Answers to a repeated key that were stored. */
  readonly replays: number
  /** Milliseconds in which the uploads of a call moved. */
  readonly uploads: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  /** Requests for the rest of a download. */
  readonly resumes: number
  readonly restarts: number
  /** Open now. */
  readonly sockets: number
  readonly problems: ReadonlyArray<string>
}
