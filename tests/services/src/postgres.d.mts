export interface Options {
  /** How clients prove who they are. Default: "trust", which accepts any password. */
  readonly auth?: "trust" | "scram-sha-256"
  /** Turns fsync on, to measure. Default: false. */
  readonly durable?: boolean
  /** Settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface Postgres {
  /**
   * The URL of the database `postgres`, with a password. It stays the same when the server starts
   * again.
   */
  readonly url: string
  /** Starts it after `stop` or `kill`. */
  readonly start: () => Promise<void>
  /** A fast shutdown. */
  readonly stop: () => Promise<void>
  /** SIGKILL to all its processes. */
  readonly kill: () => Promise<void>
  /** SIGSTOP to all its processes. */
  readonly pause: () => void
  /** SIGCONT to all its processes. */
  readonly resume: () => void
  /** Ends it and deletes its folder. */
  readonly remove: () => Promise<void>
}

/** Whether the server is installed for this platform. */
export const hasPostgres: () => boolean
/** Starts a server and waits until it accepts connections. */
export const startPostgres: (options?: Options) => Promise<Postgres>
