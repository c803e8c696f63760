import { describe, expect, it, onTestFinished, vi } from "vitest"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { type RedisServer, redisPrograms, startRedis } from "@model-gateway/test-services/Redis"
import { firstKey, folder, serve, type Served } from "./Executable.ts"
import { startServer } from "./PostgresServer.ts"

const redisFor = async (...args: ReadonlyArray<string>): Promise<RedisServer> => {
  const redis = await startRedis({ args })
  onTestFinished(redis.dispose)
  return redis
}

const textOf = async (url: string): Promise<string> => (await fetch(url, { headers: { connection: "close" } })).text()

const rerank = (origin: string, key: string): Promise<Response> =>
  fetch(`${origin}/api/v1/rerank`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model: "sandbox/bm25", query: "capital", documents: ["Berlin", "Paris is the capital"] })
  })

/** How many of so many requests at once, spread over the gateways, passed. */
const burst = async (gateways: ReadonlyArray<Served>, key: string, requests: number) => {
  const statuses = await Promise.all(
    Array.from({ length: requests }, async (_, i) => {
      const response = await rerank(gateways[i % gateways.length]?.origin ?? "", key)
      await response.text()
      return response.status
    })
  )
  const count = (status: number) => statuses.filter((one) => one === status).length
  return { passed: count(200), limited: count(429) }
}

/** Waits until `/readyz` shows that the gateway counts in Redis, or that it does not. */
const waitFor = ({ origin }: Served, status: "ready" | "degraded"): Promise<void> =>
  vi.waitFor(
    async () =>
      expect(JSON.parse(await textOf(`${origin}/readyz`))).toMatchObject({
        status,
        parts: { rate_limits: { status } }
      }),
    { timeout: 15_000, interval: 100 }
  )

/** So few requests an hour that none is regained during a test. */
const limit = ["--rate-limit-requests", "100", "--rate-limit-window", "1 hour"]

describe("serve without REDIS_URL", () => {
  it("says that each process counts by itself", async () => {
    const gateway = await serve(folder())
    await firstKey(gateway)
    gateway.signal("SIGTERM")
    expect((await gateway.ended).stdout).toMatch(/^Rate limits and circuits are counted per process\.$/m)
  })
})

describe.skipIf(redisPrograms() === undefined)("serve with REDIS_URL", () => {
  it.skipIf(!hasPostgres())(
    "lets exactly 100 of 500 concurrent requests pass, spread over two processes with one Postgres, against a limit of 100",
    async () => {
      const [redis, postgres] = await Promise.all([redisFor(), startServer()])
      const shared = { REDIS_URL: redis.url, DATABASE_URL: postgres.url }
      const first = await serve(folder(), limit, shared)
      const key = await firstKey(first)
      const second = await serve(folder(), limit, shared)
      await Promise.all([waitFor(first, "ready"), waitFor(second, "ready")])
      expect(await burst([first, second], key, 500)).toEqual({ passed: 100, limited: 400 })
    },
    60_000
  )

  it("says where it counts, without the password, and serves while Redis is down", async () => {
    const redis = await redisFor("--requirepass", "hunter-22")
    const url = `redis://:hunter-22@127.0.0.1:${redis.port}`
    const gateway = await serve(folder(), limit, { REDIS_URL: url })
    await gateway.prints(
      new RegExp(`^Rate limits and circuits are counted in Redis at 127.0.0.1:${redis.port}\\.$`, "m")
    )
    const key = await firstKey(gateway)
    await waitFor(gateway, "ready")
    expect(await burst([gateway], key, 10)).toEqual({ passed: 10, limited: 0 })
    await redis.kill()
    // The count of the process goes on.
    expect(await burst([gateway], key, 110)).toEqual({ passed: 90, limited: 20 })
    expect(await textOf(`${gateway.origin}/metrics`)).toContain(
      'model_gateway_redis_fallbacks_total{kind="rate_limit"} 90'
    )
    await waitFor(gateway, "degraded")
    await redis.start()
    await waitFor(gateway, "ready")
    // Redis has lost its counts, and the process has not.
    expect(await burst([gateway], key, 10)).toEqual({ passed: 0, limited: 10 })
    gateway.signal("SIGTERM")
    const { code, stderr, stdout } = await gateway.ended
    expect(code).toBe(0)
    expect(stderr.match(/Redis at 127\.0\.0\.1:\d+ is (not )?available/g)).toHaveLength(3)
    expect(stdout + stderr).not.toContain("hunter-22")
  }, 60_000)
})
