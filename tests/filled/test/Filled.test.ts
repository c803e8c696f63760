// A filled gateway has what the tests of its pages look for.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Api from "@model-gateway/test-filled/Api"
import { type Filled, startEmpty, startFilled } from "@model-gateway/test-filled/Filled"

const day = 86_400_000

describe("a filled gateway", () => {
  let filled: Filled
  let api: Api.Api
  beforeAll(async () => {
    filled = await startFilled()
    api = Api.connect(filled.origin)
  })
  afterAll(async () => {
    api.close()
    await filled.stop()
  })

  const get = (path: string) => api.call("GET", path, { key: filled.managementKey })
  const count = (items: ReadonlyArray<unknown>, field: string) => {
    const counted: Record<string, number> = {}
    for (const item of items) {
      const value = String(Api.part(item, field))
      counted[value] = (counted[value] ?? 0) + 1
    }
    return counted
  }

  it("has 3 workspaces, one with few credits, and 40 keys", async () => {
    const workspaces = Api.list(await get("/workspaces"), "data")
    expect(workspaces.map((workspace) => Api.text(workspace, "name")).toSorted()).toEqual([
      "Default",
      "Research",
      "Support"
    ])
    const support = await get(`/workspaces/${filled.known.workspaces.support}`)
    expect(Api.number(support, "data", "credits")).toBeCloseTo(0.2, 5)
    expect(Api.part(await get("/keys?include_disabled=true"), "total_count")).toBe(40)
  })

  it("has thousands of requests in 31 days, of several models, and failures of several kinds", async () => {
    const { filledAt } = filled.known
    const from = new Date(filledAt - 31 * day).toISOString()
    const items: Array<unknown> = []
    for (let page: string | null = ""; page !== null;) {
      const answer: unknown = await get(`/activity?interval=day&details=true&group_by=model&from=${from}${page}`)
      items.push(...Api.list(answer, "data"))
      const next = Api.part(answer, "next")
      page = typeof next === "string" ? `&after=${encodeURIComponent(next)}` : null
    }
    const requests = items.reduce<number>((sum, item) => sum + Api.number(item, "requests"), 0)
    // Some of the 5,000 are rejected.
    expect(requests).toBeGreaterThan(4500)
    expect(requests).toBeLessThan(5100)
    expect(Object.keys(count(items, "date")).length).toBeGreaterThanOrEqual(31)
    expect(Object.keys(count(items, "model")).length).toBeGreaterThan(12)
    for (const status of ["400", "429", "500", "502", "503", "524", "529"]) {
      const failed = items.some((item) => Api.part(item, "failures", status) !== undefined)
      expect([status, failed]).toEqual([status, true])
    }
  })

  it("has a request that failed at two providers, and one that another provider served", async () => {
    const attempts = async (id: string) => {
      const answer = await get(`/generation?id=${id}`)
      return [
        Api.text(answer, "data", "status"),
        ...Api.list(answer, "data", "attempts").map((attempt) => Api.text(attempt, "provider"))
      ]
    }
    expect(await attempts(filled.known.failedRequest)).toEqual(["failed", "berlin", "frankfurt", "cohere"])
    expect(await attempts(filled.known.fallbackRequest)).toEqual(["completed", "berlin", "frankfurt"])
  })

  it("has a provider whose circuit is open", async () => {
    const health = Api.list(await get("/providers/health"), "data")
    const berlin = health.find((item) => Api.part(item, "model") === "acme/rerank-berlin")
    expect(Api.text(berlin, "circuit", "state")).toBe("open")
  })

  it("has video jobs in every state", async () => {
    const { inProgress, pending } = filled.videos
    const { videos } = filled.known
    const expected = { ...videos, in_progress: inProgress, pending }
    for (const [status, id] of Object.entries(expected)) {
      const key = filled.managementKey
      expect([status, Api.text(await api.call("GET", `/videos/${id}`, { key }), "status")]).toEqual([status, status])
    }
  })

  it("has a guardrail at 90 % of its limit", async () => {
    const { data } = (await get(`/guardrails/${filled.known.guardrails.production}`)) as { readonly data: unknown }
    const share = Api.number(data, "usage") / Api.number(data, "limit_usd")
    expect(share).toBeGreaterThan(0.89)
    expect(share).toBeLessThan(0.95)
  })

  it("has webhooks that arrived and others that did not", async () => {
    const statuses = async (workspace: string) =>
      count(Api.list(await get(`/webhooks/deliveries?limit=100&workspace_id=${workspace}`), "data"), "status")
    const { workspaces } = filled.known
    expect(Object.keys(await statuses(workspaces.default))).toEqual(["delivered"])
    expect((await statuses(workspaces.research))["failed"]).toBeGreaterThan(5)
  })

  it("has an abandoned reservation, rejected requests, and an audit log of several days", async () => {
    const reservations = Api.list(await get("/reservations?state=abandoned"), "data")
    expect(reservations.map((reservation) => Api.text(reservation, "id"))).toEqual([filled.known.abandonedReservation])
    const rejected = count(Api.list(await get("/requests/rejected?limit=100"), "data"), "status")
    expect(Object.keys(rejected)).toEqual(expect.arrayContaining(["400", "401", "403", "404"]))
    const days = Api.list(await get("/audit?limit=100"), "data").map((item) =>
      Api.text(item, "created_at").slice(0, 10)
    )
    expect(new Set(days).size).toBeGreaterThan(5)
  })

  it("has destinations, provider keys, a key that expires soon and a disabled key", async () => {
    const names = async (path: string) => Api.list(await get(path), "data").map((item) => Api.part(item, "name"))
    expect(await names("/observability/destinations")).toEqual(
      expect.arrayContaining(["Billing", "Traces", "Old warehouse"])
    )
    expect(await names("/byok")).toContain("Old account")
    const expiring = await get(`/keys/${filled.known.expiringKey.hash}`)
    expect(Date.parse(Api.text(expiring, "data", "expires_at")) - filled.known.filledAt).toBe(day)
    expect(Api.part(await get(`/keys/${filled.known.disabledKey.hash}`), "data", "disabled")).toBe(true)
  })

  it("has a viewer, who cannot write, and an operator of one workspace", async () => {
    const viewer = { key: filled.known.viewerKey }
    expect((await api.send("GET", "/keys", viewer)).status).toBe(200)
    expect((await api.send("POST", "/keys", { ...viewer, body: { name: "no" } })).status).toBe(403)
    const operator = { key: filled.known.operatorKey }
    const body = { name: "yes", workspace_id: filled.known.workspaces.research }
    expect((await api.send("POST", "/keys", { ...operator, body })).status).toBe(201)
    const elsewhere = { name: "no", workspace_id: filled.known.workspaces.support }
    expect((await api.send("POST", "/keys", { ...operator, body: elsewhere })).status).toBe(403)
  })
})

describe("an empty gateway", () => {
  it("has no requests", async () => {
    const empty = await startEmpty()
    try {
      const api = Api.connect(empty.origin)
      expect(Api.list(await api.call("GET", "/generations", { key: empty.managementKey }), "data")).toEqual([])
      api.close()
    } finally {
      await empty.stop()
    }
  })
})
