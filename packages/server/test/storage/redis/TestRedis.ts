/** A real Redis for one test, and processes that count with it. */
import { Context, type Duration, Effect, Layer, Logger, Metric, Redacted } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { type RedisServer, redisPrograms, startRedis } from "@model-gateway/test-services/Redis"
import * as Readiness from "../../../src/observability/Readiness.ts"
import { RedisConnection } from "../../../src/storage/redis/RedisConnection.ts"
import * as SharedCounters from "../../../src/storage/redis/SharedCounters.ts"

const prefix = "model-gateway:"

/** Whether there is no redis-server. */
export const isMissing = redisPrograms() === undefined

/** A server that ends with the scope. */
export const server = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.promise(() => startRedis({ args })),
    (redis) => Effect.promise(redis.dispose)
  )

/** Runs a command with redis-cli. */
export const run = (redis: RedisServer, ...command: ReadonlyArray<string>) =>
  Effect.promise(() => redis.run(...command))

/**
 * A process that counts with a Redis. It ends with the scope. By default it waits a minute for a
 * reply, because a busy machine may let a Redis wait that is fine.
 */
export const process = Effect.fnUntraced(function* (url: string, timeLimit: Duration.Input = "1 minute") {
  const logs: Array<string> = []
  const registry: Context.Service.Shape<typeof Metric.MetricRegistry> = new Map()
  const context = yield* Layer.build(
    RateLimiter.layer.pipe(
      Layer.provideMerge(
        SharedCounters.layer({ url: Redacted.make(url), prefix, timeLimit, retryInterval: "20 millis" })
      ),
      Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, registry)),
      Layer.provideMerge(Readiness.layer),
      Layer.provide(Logger.layer([Logger.make(({ message }) => void logs.push(String(message)))]))
    )
  )
  const connection = Context.get(context, RedisConnection)
  const limiter = Context.get(context, RateLimiter.RateLimiter)
  const { report } = Context.get(context, Readiness.Readiness)
  const store = Context.get(context, CircuitBreaker.CircuitBreakerStore)
  const counted = Effect.provideService(Metric.MetricRegistry, registry)
  const circuits = CircuitBreaker.CircuitBreakerStore.of({
    admit: (key) => counted(store.admit(key)),
    record: (options) => counted(store.record(options)),
    state: (key) => counted(store.state(key))
  })

  /** Takes one of so many requests an hour. Whether there was one left. */
  const take = (key: string, limit: number) =>
    limiter.consume({ algorithm: "token-bucket", key, limit, window: "1 hour" }).pipe(
      Effect.as(true),
      Effect.catchReason("RateLimiterError", "RateLimitExceeded", () => Effect.succeed(false)),
      counted
    )

  /** Waits until the connection is there, or until it is not. */
  const until = (isUp: boolean) =>
    Effect.sleep("5 millis").pipe(
      Effect.andThen(connection.problem),
      Effect.repeat({ until: (problem) => (problem === undefined) === isUp })
    )

  /** Decisions that the process made by itself, of a kind. */
  const missed = (kind: "rate_limit" | "circuit") =>
    PrometheusMetrics.format().pipe(
      counted,
      Effect.map((text) =>
        Number(new RegExp(`^model_gateway_redis_fallbacks_total\\{kind="${kind}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0)
      )
    )

  return { circuits, connection, limiter, logs, missed, report, take, until }
})
