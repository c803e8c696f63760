// What stands in front of the tools at /mcp: keys, origins, bodies and sessions.
import { describe, expect, inject, it } from "vitest"
import { connect, http } from "./Connect.ts"
import { createKey, objectOf } from "./Gateway.ts"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
}

const list = { jsonrpc: "2.0", id: 2, method: "tools/list" }

const post = (key: string | undefined, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${inject("gateway").origin}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers
    },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

const begin = async (key: string): Promise<string> => {
  const response = await post(key, initialize)
  expect(response.status).toBe(200)
  return response.headers.get("mcp-session-id") ?? ""
}

describe("a key", () => {
  it("is required, and the response names metadata that names no authorization server", async () => {
    const { origin } = inject("gateway")
    const response = await post(undefined, initialize)
    expect(response.status).toBe(401)
    const metadata = /^Bearer resource_metadata="(.*)"$/.exec(response.headers.get("www-authenticate") ?? "")?.[1] ?? ""
    expect(metadata).toBe(`${origin}/.well-known/oauth-protected-resource/mcp`)
    const described = objectOf(await (await fetch(metadata)).json())
    expect(described).toMatchObject({ resource: `${origin}/mcp`, bearer_methods_supported: ["header"] })
    expect(described).not.toHaveProperty("authorization_servers")
  })

  it("that is unknown is refused, by the SDK's client too", async () => {
    const response = await post("mg_sk_unknown", initialize)
    expect(response.status).toBe(401)
    expect(response.headers.get("www-authenticate")).toContain("resource_metadata=")
    const { Client } = await import("@modelcontextprotocol/client")
    const client = new Client({ name: "agent", version: "1.0.0" })
    await expect(client.connect(http({ authorization: "Bearer mg_sk_unknown" }))).rejects.toThrow(/401|[Uu]nauthorized/)
  })

  it("of management is refused", async () => {
    const response = await post(inject("gateway").managementKey, initialize)
    expect(response.status).toBe(403)
    expect(JSON.stringify(await response.json())).toContain("management key")
  })
})

it("refuses a page of an origin that is not listed, before it looks at the key", async () => {
  expect((await post(undefined, initialize, { origin: "https://evil.example" })).status).toBe(403)
  const allowed = await post(await createKey("page"), initialize, { origin: "https://agents.example" })
  expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([200, "https://agents.example"])
  const preflight = await fetch(`${inject("gateway").origin}/mcp`, {
    method: "OPTIONS",
    headers: { origin: "https://agents.example", "access-control-request-method": "POST" }
  })
  expect([preflight.status, preflight.headers.get("access-control-allow-headers")]).toEqual([
    204,
    expect.stringContaining("mcp-session-id")
  ])
})

it("refuses a body above its limit, whether it announces its length or not", async () => {
  const key = await createKey("large")
  const large = JSON.stringify({ ...initialize, padding: "x".repeat(1024 * 1024) })
  expect((await post(key, large)).status).toBe(413)
  const stream = new Blob([large]).stream()
  const response = await fetch(`${inject("gateway").origin}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${key}`
    },
    body: stream,
    duplex: "half"
  })
  expect(response.status).toBe(413)
})

it.each(["$1", "1,5", ".5", "-1", "1e3", "0.1234567"])("refuses %s as the limit of a session", async (limit) => {
  const response = await post(await createKey("limited"), initialize, { "model-gateway-max-credits": limit })
  expect([response.status, JSON.stringify(await response.json())]).toEqual([
    400,
    expect.stringContaining("Model-Gateway-Max-Credits")
  ])
})

describe("a session", () => {
  it("belongs to the key that began it", async () => {
    const key = await createKey("owner")
    const session = { "mcp-session-id": await begin(key) }
    expect((await post(key, list, session)).status).toBe(200)
    expect((await post(await createKey("other"), list, session)).status).toBe(404)
  })

  it("ends when its client ends it", async () => {
    const key = await createKey("ender")
    const session = { "mcp-session-id": await begin(key) }
    const ended = await fetch(`${inject("gateway").origin}/mcp`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${key}`, ...session }
    })
    expect(ended.status).toBe(204)
    expect((await post(key, list, session)).status).toBe(404)
  })

  it("makes room for others of its key, the longest idle first", async () => {
    const key = await createKey("many")
    const first = await begin(key)
    const second = await begin(key)
    expect((await post(key, list, { "mcp-session-id": first })).status).toBe(200)
    for (let count = 2; count < 33; count++) await begin(key)
    expect((await post(key, list, { "mcp-session-id": second })).status).toBe(404)
    expect((await post(key, list, { "mcp-session-id": first })).status).toBe(200)
  })
})

it("counts the requests of its tools against the rate limit of the key", async () => {
  const key = await createKey("rate")
  const client = await connect({ transport: "http", revision: "2026-07-28" }, { key })
  const left = async () => {
    const { headers } = await fetch(`${inject("gateway").origin}/api/v1/models/count`, {
      headers: { authorization: `Bearer ${key}` }
    })
    return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1])
  }
  const before = await left()
  await client.callTool({ name: "models", arguments: {} })
  expect(await left()).toBe(before - 2)
})
