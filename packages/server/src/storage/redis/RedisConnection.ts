/**
 * A connection to Redis that never makes a request wait for long.
 *
 * A command fails at once while there is no connection, and after {@link Options.timeLimit} if
 * Redis does not answer. The first failure ends the connection. In the background a new one is
 * tried every {@link Options.retryInterval}, and it is used once Redis accepts a write: a replica
 * and a Redis that is out of memory answer, but cannot count.
 *
 * The connections of `@effect/platform-node/NodeRedis` wait without limit for a server that has
 * stopped answering, also when they close.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { createClient } from "@redis/client"
import { Context, Deferred, Duration, Effect, Layer, type Redacted, Schedule, type Scope } from "effect"
import * as Redis from "effect/persistence/Redis"
import { isIP } from "node:net"
import * as RedisUrl from "./RedisUrl.ts"
import * as Readiness from "../../observability/Readiness.ts"
import * as LogEvent from "../../log/LogEvent.ts"

/** The state of the connection. */
export class RedisConnection extends Context.Service<
  RedisConnection,
  {
    /** Host and port. */
    readonly address: string
    /** The prefix of all keys. */
    readonly prefix: string
    /** Why there is no connection. Undefined if there is one. */
    readonly problem: Effect.Effect<string | undefined>
  }
>()("@model-gateway/server/storage/redis/RedisConnection") {}

/** Options of the connection. */
export interface Options {
  readonly url: Redacted.Redacted
  /** The prefix of all keys, so that several services can use one Redis. */
  readonly prefix: string
  /**
   * How long a command may take before the connection counts as lost, and up to a half more. More
   * than a lost packet takes to be sent again. Default: 500 milliseconds.
   */
  readonly timeLimit?: Duration.Input | undefined
  /** Time between attempts to connect. Default: 1 second. */
  readonly retryInterval?: Duration.Input | undefined
}

/** How long connecting to the server may take, and authenticating then. */
const connectLimit = Duration.seconds(1)

const clientOf = (url: RedisUrl.RedisUrl) =>
  createClient({
    socket: {
      host: url.host,
      port: url.port,
      // Shorter than the limit of the attempt, so that no socket opens after it.
      connectTimeout: Duration.toMillis(connectLimit),
      reconnectStrategy: false,
      // Servers with several names ask for it. An address is not allowed.
      ...(url.tls ? { tls: true, servername: isIP(url.host) === 0 ? url.host : "" } : {})
    },
    ...(url.username === undefined ? {} : { username: url.username }),
    ...(url.password === undefined ? {} : { password: url.password }),
    database: url.database,
    disableOfflineQueue: true
  })

/** One connection, from the first command to the failure. */
interface Session {
  readonly client: ReturnType<typeof clientOf>
  /** Completed with the first failure. */
  readonly lost: Deferred.Deferred<never, Redis.RedisError>
  sent: number
  settled: number
}

const failure = (message: string) => new Redis.RedisError({ cause: new Error(message) })

/** An error's message never has the user or the password, but its other fields may. */
const reasonOf = ({ cause }: Redis.RedisError): string => {
  if (!(cause instanceof Error)) return String(cause)
  // The error of a host with several addresses has no message.
  return cause.message === "" ? (ErrorCode.of(cause) ?? "") : cause.message
}

const notConnected = failure("not connected")

/** Makes the connection. Waits for the first attempt to connect, for at most 2 seconds. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const url = RedisUrl.fromSecret(options.url)
  const address = RedisUrl.addressOf(url)
  const { prefix } = options
  const half = Duration.divideUnsafe(Duration.fromInputUnsafe(options.timeLimit ?? "500 millis"), 2)
  const attempted = yield* Deferred.make<void>()
  let current: Session | undefined
  let problem: string | undefined = "not connected yet"

  const fail = (session: Session, error: Redis.RedisError): void => {
    if (current === session) current = undefined
    Deferred.doneUnsafe(session.lost, Effect.fail(error))
  }

  const open = Effect.acquireRelease(
    Effect.sync((): Session => {
      const client = clientOf(url)
      const session: Session = { client, lost: Deferred.makeUnsafe(), sent: 0, settled: 0 }
      client.on("error", (cause) => fail(session, new Redis.RedisError({ cause })))
      return session
    }),
    // Commands in flight fail. `close` would wait for their replies.
    ({ client }) => Effect.sync(() => client.destroy())
  )

  const sendWith = <A>(session: Session, command: string, args: ReadonlyArray<string>) =>
    Effect.callback<A, Redis.RedisError>((resume) => {
      session.sent++
      session.client.sendCommand<A>([command, ...args]).then(
        (reply) => {
          session.settled++
          resume(Effect.succeed(reply))
        },
        (cause: unknown) => {
          session.settled++
          const error = new Redis.RedisError({ cause })
          // Effect's scripts handle this one: they are loaded again.
          if (!reasonOf(error).startsWith("NOSCRIPT")) fail(session, error)
          resume(Effect.fail(error))
        }
      )
    })

  /**
   * Fails when a command has no reply at the second of two looks after it was sent. After a pause
   * of this process there is time between the looks to read the replies that have arrived.
   */
  const watch = Effect.fnUntraced(function* (session: Session) {
    let older = 0
    let newer = 0
    while (session.settled >= older) {
      older = newer
      newer = session.sent
      yield* Effect.sleep(half)
    }
    return yield* Effect.fail(failure(`no reply within ${Duration.format(Duration.times(half, 2))}`))
  })

  const connected = Effect.suspend(() => {
    problem = undefined
    return LogEvent.log(
      "redis_available",
      `Redis at ${address} is available. It counts rate limits and circuits for all processes.`
    )
  })

  const disconnected = (error: Redis.RedisError) =>
    Effect.suspend(() => {
      const isNew = problem === undefined || !Deferred.isDoneUnsafe(attempted)
      problem = reasonOf(error)
      return isNew
        ? LogEvent.log(
            "redis_unavailable",
            `Redis at ${address} is not available (${problem}). Until it is, this process counts rate limits and circuits by itself.`
          )
        : Effect.void
    })

  /** One connection, which ends with an error. */
  const session: Effect.Effect<never, Redis.RedisError, Scope.Scope> = Effect.gen(function* () {
    const session = yield* open
    yield* Effect.tryPromise({
      try: () => session.client.connect(),
      catch: (cause) => new Redis.RedisError({ cause })
    }).pipe(
      Effect.andThen(sendWith(session, "SET", [`${prefix}probe`, "1", "PX", "1000"])),
      Effect.timeoutOrElse({
        duration: Duration.times(connectLimit, 2),
        orElse: () => Effect.fail(failure("no reply while connecting"))
      })
    )
    yield* Effect.forkScoped(Effect.catch(watch(session), (error) => Effect.sync(() => fail(session, error))))
    current = session
    yield* connected
    yield* Deferred.succeed(attempted, undefined)
    return yield* Deferred.await(session.lost)
  })

  yield* Effect.scoped(session).pipe(
    Effect.catch(disconnected),
    Effect.andThen(Deferred.succeed(attempted, undefined)),
    Effect.repeat(Schedule.spaced(options.retryInterval ?? "1 second")),
    Effect.forkScoped
  )
  yield* Deferred.await(attempted)

  const send = <A = unknown>(command: string, ...args: ReadonlyArray<string>) =>
    Effect.suspend(() => (current === undefined ? Effect.fail(notConnected) : sendWith<A>(current, command, args)))
  const unsupported = Effect.fail(failure("not supported"))
  const redis = yield* Redis.make({ send, connect: unsupported, subscribe: () => unsupported })

  return Context.make(Redis.Redis, redis).pipe(
    Context.add(RedisConnection, { address, prefix, problem: Effect.sync(() => problem) })
  )
})

/** Commands and scripts over a connection that is made again whenever it fails. */
export const layer = (options: Options): Layer.Layer<Redis.Redis | RedisConnection> =>
  Layer.effectContext(make(options))

/** Registers the connection in the context. Requests are served without it. */
export const layerReadiness: Layer.Layer<never, never, Readiness.Readiness | RedisConnection> = Readiness.layerPart(
  Effect.map(RedisConnection, ({ problem }) => ({
    name: "rate_limits",
    check: Effect.flatMap(problem, (reason) =>
      reason === undefined
        ? Effect.void
        : Effect.fail({ message: "Redis is not available. Rate limits and circuits are counted per process." })
    ),
    isRequired: false
  }))
)
