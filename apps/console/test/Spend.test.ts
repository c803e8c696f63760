/** Overview, Requests and Usage in a real browser, on a gateway with a month of use. */
import { hasBrowser, launch, open, type Site } from "@model-gateway/test-filled/Browser"
import type { Browser } from "playwright-core"
import { type Filled, startFilled } from "@model-gateway/test-filled/Filled"
import { readFile } from "node:fs/promises"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { count, credits, percent } from "../src/parts/format.ts"

interface ActivityItem {
  readonly usage: number
  readonly requests: number
  readonly failed_requests: number
  readonly key_hash: string
}

interface Attempt {
  readonly provider: string
  readonly outcome: string
}

interface PaidRequest {
  readonly id: string
  readonly request_id: string
  readonly model: string
  readonly attempts: ReadonlyArray<Attempt>
  readonly error_status: number | null
}

const day = 86_400_000
const startOfToday = () => Math.floor(Date.now() / day) * day
const iso = (at: number) => new Date(at).toISOString()

describe.skipIf(!hasBrowser)("what is spent and asked for", () => {
  let gateway: Filled
  let browser: Browser
  const sites: Array<Site> = []

  beforeAll(async () => {
    ;[gateway, browser] = await Promise.all([startFilled(), launch()])
  })
  afterEach(async () => {
    for (const site of sites.splice(0)) await site.close()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })

  const visit = async (path: string, { key = gateway.managementKey, ...options }: Visit = {}) => {
    const site = await open(browser, gateway.origin, options)
    sites.push(site)
    await site.signIn(key)
    await site.go(`/console/${path}`)
    return site
  }
  type Visit = NonNullable<Parameters<typeof open>[2]> & { readonly key?: string }

  /** All pages of a list. */
  const list = async <A>(path: string): Promise<ReadonlyArray<A>> => {
    const items: Array<A> = []
    for (let after = ""; ;) {
      const response = await fetch(`${gateway.origin}/api/v1/${path}${after}`, {
        headers: { authorization: `Bearer ${gateway.managementKey}` }
      })
      expect(response.status).toBe(200)
      const page = (await response.json()) as { readonly data: ReadonlyArray<A>; readonly next?: string | null }
      items.push(...page.data)
      if (page.next == null) return items
      after = `&after=${page.next}`
    }
  }

  const activity = (query: string) => list<ActivityItem>(`activity?${query}`)

  const tile = (site: Site, label: string) => site.page.locator(".tile").filter({ hasText: label }).locator("strong")

  it("the tiles of the overview are the sums of the API", async () => {
    const site = await visit("?range=30d")
    const [all] = await list<ActivityItem>(`activity?interval=range&from=${iso(startOfToday() - 30 * day)}`)
    if (all === undefined) throw new Error("There was no activity")
    await expect.poll(() => tile(site, "Spend").textContent()).toBe(credits(all.usage))
    expect(await tile(site, "Requests").textContent()).toBe(count(all.requests))
    expect(await tile(site, "Errors").textContent()).toBe(percent(all.failed_requests / all.requests))
    await tile(site, "Errors").click()
    await site.page.getByRole("table", { name: "Paid requests" }).waitFor()
    expect(new URL(site.page.url()).search).toBe("?range=30d&status=failed")
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("the overview says what needs attention, and each matter leads to its place", async () => {
    const site = await visit("")
    const attention = site.page.getByRole("region", { name: "Needs attention" })
    for (const [text, link, path] of [
      [/berlin is down for (\d+) of \1 models since/, "berlin", "providers?id=berlin"],
      ["webhook deliveries of Research failed", "webhook deliveries", `webhooks?status=failed&workspace=`],
      ["1 request ended with a crash", "1 request", "system"]
    ] as const) {
      const matter = attention.getByRole("listitem").filter({ hasText: text }).first()
      await matter.waitFor()
      const href = await matter.getByRole("link", { name: link }).getAttribute("href")
      expect([text, href]).toEqual([text, expect.stringContaining(`/console/${path}`)])
    }
  })

  it("the overview lists what runs out, in this order, at the rate of the API's sums", async () => {
    const site = await visit("")
    const list = site.page.getByRole("region", { name: "Runs out first" }).getByRole("listitem")
    await expect.poll(() => list.count()).toBe(5)
    const { expiringKey, guardrails, workspaces } = gateway.known
    const found = await list.evaluateAll((items) =>
      items.map((item) => [
        item.querySelector("a")?.textContent,
        item.querySelector("a")?.getAttribute("href")?.split("/console/")[1]
      ])
    )
    expect(found).toEqual([
      ["Support", `workspaces?id=${workspaces.support}`],
      [expiringKey.name, `keys?id=${expiringKey.hash}`],
      ["Production", `guardrails?id=${guardrails.production}`],
      ["Research", `workspaces?id=${workspaces.research}`],
      ["Default", `workspaces?id=${workspaces.default}`]
    ])
    const from = startOfToday() - 7 * day
    const items = await activity(`interval=day&from=${iso(from)}&workspace_id=${workspaces.research}`)
    const spent = items.reduce((sum, { usage }) => sum + usage, 0)
    const rate = spent / ((Date.now() - from) / day)
    const text = (await list.nth(3).textContent()) ?? ""
    const [, left, perDay] = /([\d.]+) credits left, ([\d.]+) spent a day$/.exec(text) ?? []
    expect(Number(perDay) / rate).toBeCloseTo(1, 2)
    // The whole days in which it runs out. The credits and the rate that the page shows are rounded.
    const [, days] = /^In (\d+) days/.exec(text) ?? []
    const parts = Number(left) / rate - Number(days)
    expect(parts).toBeGreaterThan(-0.1)
    expect(parts).toBeLessThan(1.1)
    // In a workspace, only its own are listed.
    await site.page.getByLabel("Workspace").selectOption("Support")
    await expect.poll(() => list.getByRole("link").allTextContents()).toEqual(["Support"])
    await site.page.getByLabel("Workspace").selectOption("All workspaces")
    await expect.poll(() => list.count()).toBe(5)
    expect(new URL(site.page.url()).searchParams.has("workspace")).toBe(false)
  })

  it("a model has the same color in every range", async () => {
    const site = await visit("")
    const colors = async (range: string) => {
      await site.go(`/console/usage?range=${range}`)
      await site.page.locator(".legend li").first().waitFor()
      return new Map(
        await site.page
          .locator(".legend li")
          .evaluateAll((found) =>
            found.map((one) => [one.textContent, one.querySelector(".swatch")?.className] as const)
          )
      )
    }
    const [month, day] = [await colors("30d"), await colors("24h")]
    expect([...month.keys()].slice(0, 4)).not.toEqual([...day.keys()].slice(0, 4))
    expect(month.get("acme/rerank")).toBeDefined()
    expect(day.get("acme/rerank")).toBe(month.get("acme/rerank"))
  })

  it("a viewer of all workspaces reads the whole overview", async () => {
    const site = await visit("", { key: gateway.known.viewerKey })
    await site.page.getByRole("listitem").filter({ hasText: "ended with a crash" }).waitFor()
    expect(await site.page.locator(".issue, .problem").allTextContents()).toEqual([])
  })

  it("four clicks say which key spent most yesterday", async () => {
    const site = await visit("")
    const { page } = site
    await page.getByRole("link", { name: "Usage", exact: true }).click()
    await page.getByLabel("By", { exact: true }).selectOption("Key")
    await page.getByLabel("Range of time").selectOption("Yesterday (UTC)")
    const yesterday = `from=${iso(startOfToday() - day)}&to=${iso(startOfToday())}`
    const items = await list<ActivityItem>(`activity?interval=range&group_by=key&${yesterday}`)
    const [most] = items.toSorted((a, b) => b.usage - a.usage)
    const name = gateway.known.keys.find(({ hash }) => hash === most?.key_hash)?.name ?? ""
    const first = page.getByRole("table", { name: "Spend, largest first" }).getByRole("row").nth(1)
    const text = () => first.getByRole("cell").first().textContent()
    await expect.poll(text).toBe(name)
    expect(await first.getByRole("cell").nth(1).textContent()).toBe(credits(most?.usage ?? 0))
    await page.reload()
    await expect.poll(text).toBe(name)
    await page.goBack()
    await page.goBack()
    await page.getByRole("table", { name: "Spend, largest first" }).waitFor()
    expect(new URL(page.url()).search).toBe("")
    expect(await page.getByLabel("By", { exact: true }).inputValue()).toBe("model")
  })

  it("the id of a failed request leads to why it failed and what was tried", async () => {
    const site = await visit("")
    const { page } = site
    const id = gateway.known.failedRequest
    await page.getByLabel("Find by id").fill(id)
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog", { name: `Request ${id}` })
    await dialog.getByText("Why it failed:").waitFor()
    const [request] = await list<PaidRequest>(`generations?request_id=${id}`)
    const tries = request?.attempts.length ?? 0
    expect(tries).toBeGreaterThan(1)
    await dialog.getByText(`All ${tries} attempts failed; the gateway answered ${request?.error_status}`).waitFor()
    const rows = dialog.getByRole("table").getByRole("row")
    expect(await rows.getByRole("rowheader").allTextContents()).toEqual(
      request?.attempts.map(({ provider }) => provider)
    )
    expect(await dialog.getByText(`Status ${request?.error_status}`).count()).toBe(1)
    const play = dialog.getByRole("link", { name: "Open the model in the playground" })
    expect(await play.getAttribute("href")).toContain(
      `/play?operation=rerank&model=${encodeURIComponent(request?.model ?? "")}`
    )
    expect(await site.axe()).toEqual([])
    // The id of its generation leads to the same request.
    await site.go(`/console/requests?id=${request?.id}`)
    await page.getByRole("dialog").getByText("Why it failed:").waitFor()
  })

  it("the id of a rejected request is found too", async () => {
    const response = await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/none", query: "q", documents: ["d"] })
    })
    expect(response.status).toBe(404)
    const id = response.headers.get("x-request-id") ?? ""
    await expect.poll(() => list(`requests/rejected?request_id=${id}`), { timeout: 10_000 }).toHaveLength(1)
    const site = await visit(`requests?id=${id}`)
    const dialog = site.page.getByRole("dialog", { name: `Request ${id}` })
    await dialog.getByText("rejected with status 404").waitFor()
    const play = dialog.getByRole("link", { name: "Open the model in the playground" })
    expect(await play.getAttribute("href")).toMatch(/\/play\?operation=rerank&model=sandbox%2Fnone$/)
    await dialog.getByRole("link", { name: "Others like it" }).click()
    await site.page.getByRole("table", { name: "Rejected requests" }).waitFor()
    expect(new URL(site.page.url()).searchParams.get("error_status")).toBe("404")
  })

  it("filters of requests stay in the URL, and the CSV has all that they select", async () => {
    const from = iso(startOfToday() - 29 * day)
    const site = await visit(`requests?from=${from}`)
    const { page } = site
    await page.getByLabel("Status", { exact: true }).selectOption("failed")
    await page.getByLabel("Error status").fill("502")
    await page.keyboard.press("Enter")
    const expected = await list<PaidRequest>(`generations?status=failed&error_status=502&from=${from}`)
    const table = page.getByRole("table", { name: "Paid requests" })
    const rows = () => table.getAttribute("aria-rowcount")
    await expect.poll(rows).toBe(String(expected.length + 1))
    await page.reload()
    await expect.poll(rows).toBe(String(expected.length + 1))
    const saved = page.waitForEvent("download")
    await page.getByRole("button", { name: "CSV" }).click()
    const text = await readFile(await (await saved).path(), "utf8")
    expect(text.trimEnd().split("\r\n")).toHaveLength(expected.length + 1)
    await page.goBack()
    await expect.poll(() => page.getByLabel("Error status").inputValue()).toBe("")
    expect(await page.getByLabel("Status", { exact: true }).inputValue()).toBe("failed")
  })

  it("dragging over bars chooses all of their hours, and Back leads to the range before", async () => {
    // The filled gateway may have no requests in a night or at a weekend, so the range ends with this one.
    await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })
    })
    const site = await visit("requests?range=24h")
    const { page } = site
    const box = await page.locator(".plot canvas").first().boundingBox()
    if (box === null) throw new Error("The chart was not drawn")
    await page.mouse.move(box.x + box.width / 2, box.y + 80)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 20, box.y + 80, { steps: 4 })
    await page.mouse.up()
    await expect.poll(() => new URL(page.url()).searchParams.get("from")).toMatch(/T\d\d:00:00\.000Z$/)
    const { searchParams } = new URL(page.url())
    // The last hour is not over.
    expect(Date.now() - Date.parse(searchParams.get("to") ?? "")).toBeLessThan(60_000)
    const [from, to] = ["from", "to"].map((name) => searchParams.get(name) ?? "")
    const [chosen] = await activity(`interval=range&from=${from}&to=${to}`)
    await page.getByText("Drag over it to choose a time.").waitFor()
    const chart = page.getByRole("img", { name: /^Requests per/ })
    await expect.poll(() => chart.getAttribute("aria-label")).toContain(`${count(chosen?.requests ?? 0)} in all`)
    await page.goBack()
    await expect.poll(() => new URL(page.url()).search).toBe("?range=24h")
    await page.goForward()
    await page.getByLabel("Range of time").selectOption("Last 7 days")
    await expect.poll(() => new URL(page.url()).search).toBe("?range=7d")
  })

  it("the CSV of usage has the items of all pages of the API", async () => {
    const from = iso(startOfToday() - 30 * day)
    const site = await visit(`usage?from=${from}&group=key&interval=hour`)
    const saved = site.page.waitForEvent("download")
    await site.page.getByRole("button", { name: "CSV" }).click()
    const lines = (await readFile(await (await saved).path(), "utf8")).trimEnd().split("\r\n")
    const items = await list<ActivityItem>(`activity?interval=hour&group_by=key&from=${from}`)
    expect(items.length).toBeGreaterThan(2000)
    expect(lines.filter((line) => line.startsWith("date,"))).toHaveLength(1)
    expect(lines).toHaveLength(items.length + 1)
  })

  it("the live list shows a new request at the top", async () => {
    const site = await visit("requests?range=1h")
    await site.page.getByRole("button", { name: "Live" }).click()
    const response = await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/bm25", query: "q", documents: ["d"] })
    })
    expect(response.status).toBe(200)
    const id = response.headers.get("x-request-id") ?? ""
    const first = site.page.getByRole("table", { name: "Paid requests" }).getByRole("row").nth(1)
    await expect.poll(() => first.locator("code").getAttribute("title"), { timeout: 20_000 }).toBe(id)
  })

  it("a range with too many requests offers the longest one that can be shown", async () => {
    const site = await visit("")
    const { page } = site
    const from = "2026-11-20T10:00:00.003Z"
    // The sentence is the gateway's; 10,000 requests would take too long.
    await page.route(/\/console\/api\/activity\?(?!interval=day|.*interval=day)/, async (route) => {
      if (new URL(route.request().url()).searchParams.get("from") === from) return route.continue()
      const message = `invalid request parameters: from: Expected a range with at most 10000 requests: from ${from} on`
      await route.fulfill({ status: 400, json: { error: { code: 400, message } } })
    })
    await site.go("/console/")
    await page.getByText("This range has more than 10,000 requests.").waitFor()
    await page.getByRole("table", { name: "Keys that spent most" }).waitFor()
    await site.go("/console/usage")
    await page.getByText(`Expected a range with at most 10000 requests`).waitFor()
    await page.getByRole("button", { name: "Show 2026-11-20 10:00:00 until now" }).click()
    await page.getByRole("table", { name: "Spend, largest first" }).waitFor()
    expect(new URL(page.url()).searchParams.get("from")).toBe(from)
  })
})
