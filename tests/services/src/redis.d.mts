// For the tests with Redis; tests/services/src/redis.mjs itself runs before anything is built.

/** The paths of the programs. */
export interface RedisPrograms {
  readonly server: string
  readonly cli: string
}

export const redisPrograms: () => RedisPrograms | undefined

/** A server of a test. It keeps nothing on disk. */
export interface RedisServer {
  readonly port: number
  /** Without user and password. */
  readonly url: string
  /** Starts it again on the same port, after `stop` or `kill`. It is empty then. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly kill: () => Promise<void>
  /** Stops the process without ending it: connections stay open, and nothing is answered. */
  readonly pause: () => void
  readonly resume: () => void
  /**
   * Runs a command with redis-cli and returns its output. Arguments of redis-cli may come first.
   */
  readonly run: (...command: ReadonlyArray<string>) => Promise<string>
  /** Ends it for good. */
  readonly dispose: () => Promise<void>
}

/** `args` are further arguments of redis-server, such as `["--requirepass", "secret"]`. */
export const startRedis: (options?: { readonly args?: ReadonlyArray<string> }) => Promise<RedisServer>
