/** Rate limits while Redis, in which they are counted, comes and goes. */
import {
  type Attack,
  keepAsking,
  maxMillisOf,
  milliseconds,
  pause,
  problemsOf,
  smallRerank,
  statusesOf
} from "./attack.ts"

const limit = 200
const windowSeconds = 20

const flaps = 6

/** Long enough for the gateway to notice. */
const downMillis = 500

/** The gateway tries to connect every second. */
const upMillis = 2500

const flappingRedis: Attack = {
  name: "redis-flaps",
  title: `Redis is killed ${flaps} times and comes back empty, at a limit of ${limit} requests per ${windowSeconds} s`,
  bound: `at most ${limit} requests, and ${limit / windowSeconds} for each second that passes`,
  settings: { RATE_LIMIT_REQUESTS: String(limit), RATE_LIMIT_WINDOW: `${windowSeconds} seconds` },
  redis: true,
  run: async ({ gateway, newKey, redis }) => {
    if (redis === undefined) throw new Error("The attack has no Redis")
    const { key } = await newKey()
    const startedAt = performance.now()
    const lanes = keepAsking(2, gateway.origin, () => smallRerank(key))
    for (let flap = 0; flap < flaps; flap++) {
      await pause(upMillis)
      await redis.kill()
      await pause(downMillis)
      await redis.start()
    }
    await pause(upMillis)
    const answers = await lanes.stop()
    const seconds = (performance.now() - startedAt) / 1000
    const granted = answers.filter(({ status }) => status === 200).length
    const allowed = limit + Math.floor((limit / windowSeconds) * seconds)
    return {
      figure:
        `${granted} of ${allowed} allowed in ${seconds.toFixed(0)} s; ${statusesOf(answers)}, ` +
        `at most ${milliseconds(maxMillisOf(answers))}`,
      problems: [
        ...problemsOf(answers, [200, 429]),
        ...(granted > allowed ? [`${granted} requests were granted, ${allowed} are allowed`] : [])
      ]
    }
  }
}

export const rates: ReadonlyArray<Attack> = [flappingRedis]
