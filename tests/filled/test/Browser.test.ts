// The browser of the tests notices what a page does wrong, and a person can sign in to the console.
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import * as Pages from "@model-gateway/test-filled/Browser"
import { type Empty, startEmpty } from "@model-gateway/test-filled/Filled"

describe.runIf(Pages.hasBrowser)("the browser of the tests", () => {
  let browser: Browser
  let gateway: Empty
  beforeAll(async () => {
    ;[browser, gateway] = await Promise.all([Pages.launch(), startEmpty()])
  })
  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })
  const open = async (options?: Pages.OpenOptions) => {
    const site = await Pages.open(browser, gateway.origin, options)
    onTestFinished(() => site.close())
    return site
  }

  it("reports errors, blocked scripts, foreign requests, overflow, and what axe finds", async () => {
    const site = await open({ width: 360 })
    const body = `<!doctype html><html lang="en"><title>Bad</title><main><h1>Bad</h1><img src="https://elsewhere.example/a.png">
      <div class="wide" style="width: 500px">wide</div><script>document.title = "blocked"</script></main></html>`
    await site.page.route("**/bad", (route) =>
      route.fulfill({ contentType: "text/html", headers: { "content-security-policy": "script-src 'self'" }, body })
    )
    await site.page.route("https://elsewhere.example/**", (route) => route.abort())
    await site.go("/bad")
    await expect.poll(() => site.problems.policy.length).toBeGreaterThan(0)
    expect(site.problems.policy[0]).toContain("script-src")
    expect(site.problems.foreign).toEqual(["https://elsewhere.example/a.png"])
    expect(site.problems.console.length).toBeGreaterThan(0)
    const [pixels = "", ...wide] = await Pages.overflow(site.page)
    expect(pixels).toMatch(/^1\d\d pixels$/)
    expect(wide).toContain('<div class="wide">')
    expect((await site.axe()).join("\n")).toContain("image-alt")
  })

  it("measures long tasks, and finds a secret in a page", async () => {
    const site = await open()
    await site.go("/docs")
    await site.page.evaluate(() => localStorage.setItem("kept", "the-secret"))
    expect(await Pages.placesOf(site.page, "the-secret")).toEqual(["localStorage"])
    const tasks = await Pages.longTasks(site.page, () =>
      site.page.evaluate(
        () =>
          new Promise<void>((resolve) => {
            setTimeout(() => {
              const end = performance.now() + 400
              while (performance.now() < end);
              resolve()
            }, 10)
          })
      )
    )
    expect(Math.max(...tasks)).toBeGreaterThan(100)
  })

  it.each(Pages.looksOf(360, 768, 1440))(
    "signs in to the console with a key, %i pixels wide in %s",
    async (width, scheme) => {
      const site = await open({ width, scheme })
      await site.go("/console/")
      await site.page.getByLabel("Management key").fill(gateway.managementKey)
      await site.page.getByRole("button", { name: "Sign in", exact: true }).click()
      await site.page.getByRole("dialog").waitFor({ state: "hidden" })
      await site.page.getByRole("heading", { level: 1 }).waitFor()
      expect(await Pages.placesOf(site.page, gateway.managementKey)).toEqual([])
      expect(await Pages.overflow(site.page)).toEqual([])
      expect([site.problems.policy, site.problems.foreign]).toEqual([[], []])
    }
  )

  it.each([
    ["Playground", "/play"],
    ["Console", "/console/"]
  ])("goes from the API reference to the %s", async (name, path) => {
    const site = await open()
    await site.go("/docs")
    await site.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click()
    await site.page.waitForURL(gateway.origin + path)
    await site.page.getByRole("heading").first().waitFor()
    expect(site.problems.policy).toEqual([])
  })

  it("signs in without the form", async () => {
    const site = await open()
    await site.signIn(gateway.managementKey)
    await site.go("/console/keys")
    await site.page.getByRole("heading", { level: 1 }).waitFor()
    expect(await site.page.getByLabel("Management key").count()).toBe(0)
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })
})
