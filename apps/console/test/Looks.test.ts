// Every page of the console at three widths in both themes: full, empty, failing and loading. And a
// list of 10,000 rows.
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import * as Api from "@model-gateway/test-filled/Api"
import * as Pages from "@model-gateway/test-filled/Browser"
import { type Empty, type Filled, startEmpty, startFilled } from "@model-gateway/test-filled/Filled"
import { isRead, openDetails, views } from "./views.ts"

const api = "**/console/api/**"

/** One that fires, and one that does not. The filling has none. */
const createAlerts = async ({ known, managementKey, origin }: Filled) => {
  const api = Api.connect(origin)
  const target = { type: "webhook", url: `https://localhost:${known.receiverPort}/ok` }
  const alerts = [
    { name: "Credits of Support", kind: "credits_left", threshold: 20, workspace_id: known.workspaces.support },
    { name: "Budget of Production", kind: "budget_used", threshold: 1, guardrail_id: known.guardrails.production }
  ]
  try {
    for (const alert of alerts) {
      const { status } = await api.send("POST", "/alerts", { key: managementKey, body: { ...alert, target } })
      expect(status).toBe(201)
    }
  } finally {
    api.close()
  }
}

describe.runIf(Pages.hasBrowser)("the pages of the console", () => {
  let browser: Browser
  let filled: Filled
  let empty: Empty
  beforeAll(async () => {
    ;[browser, filled, empty] = await Promise.all([Pages.launch(), startFilled(), startEmpty()])
    await createAlerts(filled)
  })
  afterAll(async () => {
    await browser.close()
    await Promise.all([filled.stop(), empty.stop()])
  })

  const open = async (gateway: Empty) => {
    const site = await Pages.open(browser, gateway.origin)
    onTestFinished(() => site.close())
    await site.signIn(gateway.managementKey)
    return site
  }

  const looks = Pages.looksOf(360, 768, 1440)

  /** What is wrong with the pages in a state, in all looks. */
  const wrong = async (site: Pages.Site, state: string, isThere: () => Promise<unknown>) => {
    const problems: Array<string> = []
    for (const [name, path] of views) {
      await site.go(path)
      await isThere()
      problems.push(...(await site.wrongIn(looks, `${state}-${name}`)))
    }
    return [...problems, ...site.problems.policy, ...site.problems.foreign]
  }

  it.each([
    ["full", () => filled],
    ["empty", () => empty]
  ] as const)("are accessible and fit when they are %s", async (state, gateway) => {
    const site = await open(gateway())
    expect(await wrong(site, state, () => isRead(site))).toEqual([])
    expect(site.problems.console).toEqual([])
  })

  it("are accessible and fit with the details of an item", async () => {
    const site = await open(filled)
    const problems: Array<string> = []
    for (const name of ["keys", "guardrails", "workspaces", "audit"]) {
      await openDetails(site, name)
      problems.push(...(await site.wrongIn(looks, `details-${name}`)))
    }
    for (const [name, id] of [
      ["models", "acme%2Fveo"],
      ["providers", "berlin"]
    ] as const) {
      await site.go(`/console/${name}?id=${id}`)
      await site.page.locator("dialog[open]").waitFor()
      await isRead(site)
      problems.push(...(await site.wrongIn(looks, `details-${name}`)))
    }
    expect(problems).toEqual([])
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("say what failed", async () => {
    const site = await open(filled)
    await site.page.route(api, (route) =>
      route.fulfill({ status: 500, json: { error: { code: 500, message: "internal server error" } } })
    )
    const sentence = site.page.locator("main").getByText("internal server error").first()
    expect(await wrong(site, "failing", () => sentence.waitFor())).toEqual([])
  })

  it("show rows that wait while they read", async () => {
    const site = await open(filled)
    // No answer ever comes.
    await site.page.route(api, () => {})
    expect(await wrong(site, "loading", () => site.page.locator(".skeleton").first().waitFor())).toEqual([])
  })

  it("scroll 10,000 rows without a task above 50 ms", async () => {
    const site = await open(filled)
    await site.page.route("**/console/api/generations?*", async (route) => {
      const answer = await route.fetch()
      const { data: some } = (await answer.json()) as { readonly data: ReadonlyArray<object> }
      const data = Array.from({ length: 10_000 }, (_, index) => ({ ...some[0], id: `gen_${index}` }))
      await route.fulfill({ response: answer, json: { data, has_more: false, next: null } })
    })
    await site.go("/console/requests")
    const table = site.page.locator(".table[data-virtual='true']")
    await table.waitFor()
    await site.page.waitForTimeout(1000)
    await table.hover()
    const tasks = await Pages.longTasks(site.page, async () => {
      for (let step = 0; step < 60; step++) {
        await site.page.mouse.wheel(0, 1500)
        await site.page.waitForTimeout(30)
      }
    })
    expect(await table.evaluate((element) => element.scrollTop)).toBeGreaterThan(50_000)
    expect(tasks).toEqual([])
  })
})
