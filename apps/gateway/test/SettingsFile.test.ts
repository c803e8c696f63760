import { Duration, Effect, Option, Redacted } from "effect"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { run } from "./Commands.ts"
import { firstKey, folder, serve } from "./Executable.ts"
import { fileOf, load, refusal } from "./Loaded.ts"

describe("a settings file", () => {
  it("has settings in nested groups, and may name its schema", async () => {
    const file = fileOf(`{
      "$schema": "./settings.schema.json",
      "port": 9000,
      "logLevel": "Debug",
      "rateLimit": { "requests": 100, "window": "1 minute" },
      "videos": { "concurrency": 2, "retention": "30 days" },
      "bodyLimits": { "rerank": "2 MiB", "other": 4096 },
      "corsOrigins": ["https://app.example", "http://localhost:5173"],
      "trustedProxies": "10.0.0.0/8, 192.0.2.1",
      "upstreams": { "cohere": { "apiKey": "not-a-real-key", "baseUrl": "http://127.0.0.1:9001" } }
    }`)
    const settings = await Effect.runPromise(load(file))
    expect(settings).toMatchObject({
      port: 9000,
      logLevel: "Debug",
      rateLimit: { requests: 100, window: Duration.minutes(1) },
      videos: { concurrency: 2, lifetime: Duration.hours(24), retention: Duration.days(30) },
      bodyLimits: { rerank: 2 * 1024 * 1024, other: 4096, videos: 24 * 1024 * 1024 },
      corsOrigins: ["https://app.example", "http://localhost:5173"],
      upstreams: { cohere: { baseUrl: "http://127.0.0.1:9001" } }
    })
    expect(settings.trustedProxies.map(String)).toEqual(["10.0.0.0/8", "192.0.2.1/32"])
    expect(Option.fromNullishOr(settings.upstreams["cohere"]?.apiKey).pipe(Option.map(Redacted.value))).toEqual(
      Option.some("not-a-real-key")
    )
  })

  it("applies to the gateway that serve runs", async () => {
    const file = fileOf('{ "rateLimit": { "requests": 1, "window": "1 day" } }')
    const gateway = await serve(folder(), ["--config", file])
    const key = await firstKey(gateway)
    const statuses = [1, 2].map(async () => {
      const { status } = await fetch(`${gateway.origin}/api/v1/rerank`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })
      })
      return status
    })
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200, 429]))
  })

  it.each([
    ["{\n  port: 1\n}", "The settings file FILE is not valid JSON: check line 2."],
    ['{\n  "port": 1,\n}', "The settings file FILE is not valid JSON: check line 3."],
    ['{ "port": 1', "The settings file FILE is not valid JSON: check line 1."],
    ['{\n  // a comment\n  "port": 1\n}', "The settings file FILE is not valid JSON: check line 2."],
    ["", "The settings file FILE is not valid JSON: check line 1."],
    ["[]", "The settings file FILE must contain one JSON object."],
    ['{ "prot": 1 }', '"prot" on line 1 of FILE is not a setting. Did you mean "port"?'],
    [
      '{\n  "videos": {\n    "concurency": 2\n  }\n}',
      '"videos.concurency" on line 3 of FILE is not a setting. Did you mean "videos.concurrency"?'
    ],
    [
      '{ "rateLimits": { "requests": 1 } }',
      '"rateLimits" on line 1 of FILE is not a setting. Did you mean "rateLimit"?'
    ],
    ['{ "data-dir": "x" }', '"data-dir" on line 1 of FILE is not a setting. Did you mean "dataDir"?'],
    [
      '{ "rate-limit-requests": 5 }',
      '"rate-limit-requests" on line 1 of FILE is not a setting. Did you mean "rateLimit.requests"?'
    ],
    ['{ "toString": 1 }', /^"toString" on line 1 of \S+ is not a setting\. Did you mean "\S+"\?$/],
    ['{\n  "port": "x"\n}', '"port" on line 2 of FILE is "x", which is not a port from 0 to 65535.'],
    ['{ "port": [1] }', '"port" on line 1 of FILE is [1], which is not a port from 0 to 65535.'],
    ['{ "port": null }', '"port" on line 1 of FILE is null, which is not a port from 0 to 65535.'],
    ['{ "port": {} }', '"port" on line 1 of FILE is {}, which is not a port from 0 to 65535.'],
    ['{ "host": true }', '"host" on line 1 of FILE is true, which is not a host name or address.'],
    [
      '{\n\n  "videos": { "concurrency": 0 } }',
      '"videos.concurrency" on line 3 of FILE is 0, which is not a whole number of at least 1.'
    ],
    ['{ "circuits": 5 }', '"circuits" on line 1 of FILE is not an object of settings: "failures", "openFor".'],
    [
      '{ "corsOrigins": ["https://app.example/"] }',
      '"corsOrigins" on line 1 of FILE is ["https://app.example/"], which is not a list of origins such as https://app.example: https://app.example/ is not an origin as browsers send it: write https://app.example.'
    ],
    [
      '{ "corsOrigins": ["https://user:password@app.example"] }',
      '"corsOrigins" on line 1 of FILE is ["https://…@app.example"], which is not a list of origins such as https://app.example: https://…@app.example is not an origin as browsers send it: write https://app.example.'
    ],
    ['{ "port": 1,\n  "port": 2 }', '"port" on line 2 of FILE is set twice.']
  ])("with %j is rejected in one sentence that names the line", async (text, sentence) => {
    const file = fileOf(text)
    const message = await refusal(file)
    if (typeof sentence === "string") expect(message).toBe(sentence.replace("FILE", file))
    else expect(message).toMatch(sentence)
  })

  it("that does not exist is rejected in one sentence", async () => {
    const file = join(folder(), "gateway.json")
    const { code, stderr } = await run(["serve", "--config", file])
    expect({ code, stderr }).toEqual({ code: 1, stderr: `The settings file ${file} cannot be read.\n` })
  })
})
