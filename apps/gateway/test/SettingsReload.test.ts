/**
 * SIGHUP at a process: what it reads again, what it does with a mistake, and what it leaves alone.
 */
import { Schema } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { firstKey, folder, serve, type Served } from "./Executable.ts"
import { listen } from "./Listen.ts"

const asAnswer = Schema.decodeUnknownSync(
  Schema.Struct({ usage: Schema.optionalKey(Schema.Struct({ cost: Schema.Finite })) })
)

/** An upstream with Cohere's API that answers when the test says so. */
const startUpstream = async () => {
  const calls: Array<{ readonly authorization: string | undefined; readonly response: ServerResponse }> = []
  const port = await listen(
    createServer((request, response) => {
      request.resume().on("end", () => calls.push({ authorization: request.headers.authorization, response }))
    })
  )
  return {
    url: `http://127.0.0.1:${port}`,
    /** Answers the next call, and returns its credential. */
    answer: async () => {
      const call = await vi.waitFor(() => calls.shift() ?? expect.fail("no call has arrived"))
      call.response.setHeader("content-type", "application/json").end(
        JSON.stringify({
          id: "1",
          results: [{ index: 0, relevance_score: 0.5 }],
          meta: { billed_units: { search_units: 1 } }
        })
      )
      return call.authorization
    },
    arrived: () => calls.length
  }
}

it("SIGHUP reads secrets, upstreams and models again, without a request that fails, and a mistake changes nothing", async () => {
  const upstream = await startUpstream()
  const dir = folder()
  const [settings, apiKey, token] = ["gateway.json", "api-key", "token"].map((name) => join(dir, name))
  if (settings === undefined || apiKey === undefined || token === undefined) throw new Error("three names")
  const write = (values: object) => writeFileSync(settings, JSON.stringify(values))
  const values = {
    metricsToken: { file: token },
    upstreams: { cohere: { apiKey: { file: apiKey }, baseUrl: upstream.url } }
  }
  const withModel = (id: string, credits: number) => ({
    ...values,
    models: { [id]: { offers: [{ upstream: "cohere", model: "rerank-v3.5", price: { search_unit: credits } }] } }
  })
  writeFileSync(apiKey, "first-key\n")
  writeFileSync(token, "first-metrics-token\n")
  write(withModel("acme/first", 0.5))

  const gateway: Served = await serve(dir, ["--config", settings, "--log-format", "json"])
  const key = await firstKey(gateway)
  let logged = ""
  const reload = async (sentence: RegExp) => {
    process.kill(gateway.pid, "SIGHUP")
    await vi.waitFor(() => expect((logged = gateway.logged())).toMatch(sentence))
  }
  const rerank = async (model: string) => {
    const response = await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, query: "tea", documents: ["tea"] })
    })
    const { usage } = asAnswer(await response.json())
    return { status: response.status, cost: usage?.cost }
  }
  const scrape = async (metricsToken: string) =>
    (await fetch(`${gateway.origin}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).status

  const early = rerank("acme/first")
  await vi.waitFor(() => expect(upstream.arrived()).toBe(1))

  writeFileSync(apiKey, "second-key\n")
  writeFileSync(token, "second-metrics-token\n")
  write({ ...withModel("acme/second", 2), rateLimit: { requests: 500 } })
  await reload(/The settings were read again[^]*changed and need a restart: rate-limit-requests"/)

  const late = rerank("acme/second")
  await vi.waitFor(() => expect(upstream.arrived()).toBe(2))
  // The one that was in flight keeps the key, the model and the price that it began with.
  expect(await upstream.answer()).toBe("Bearer first-key")
  expect(await early).toEqual({ status: 200, cost: 0.5 })
  expect(await upstream.answer()).toBe("Bearer second-key")
  expect(await late).toEqual({ status: 200, cost: 2 })
  expect(await rerank("acme/first")).toMatchObject({ status: 404 })
  expect([await scrape("first-metrics-token"), await scrape("second-metrics-token")]).toEqual([401, 200])

  write({ upstreams: { cohere: { apiKey: { file: join(dir, "missing") } } } })
  await reload(/The settings were not read again, and the former ones stay in force: .*missing, which does not exist/)
  const after = rerank("acme/second")
  expect(await upstream.answer()).toBe("Bearer second-key")
  expect(await after).toEqual({ status: 200, cost: 2 })
  expect(logged).not.toMatch(/(first|second)-(key|metrics-token)/)

  gateway.signal("SIGTERM")
  expect((await gateway.ended).code).toBe(0)
})
