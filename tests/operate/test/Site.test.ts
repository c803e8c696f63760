// The documentation site: `npm run docs` builds it, and it works in a browser without a network.
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { start } from "@model-gateway/test-services/GatewayProcess"
import { freePort } from "@model-gateway/test-services/FreePort"
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Browser, chromium } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const site = join(root, "site")

const launch = launchOptions()

describe("the documentation site", () => {
  let browser: Browser | undefined
  let origin = ""
  let stop = async () => {}

  beforeAll(async () => {
    const { status, stderr, stdout } = spawnSync(process.execPath, ["scripts/docs.mjs", "build"], {
      cwd: root,
      encoding: "utf8"
    })
    // A dead link fails the build.
    if (status !== 0) throw new Error(stdout + stderr)
    const port = await freePort()
    const server = start(
      process.execPath,
      ["node_modules/vitepress/bin/vitepress.js", "preview", "--host", "127.0.0.1", "--port", String(port)],
      { cwd: site }
    )
    stop = server.stop
    await server.prints(/Built site served at/)
    origin = `http://127.0.0.1:${port}`
    browser = await chromium.launch(launch)
  })
  afterAll(async () => {
    await browser?.close()
    await stop()
  })

  it("has each page in its navigation, and each file that a page links to", () => {
    const start = readFileSync(join(site, "dist/index.html"), "utf8")
    const pages = globSync("**/*.md", { cwd: join(root, "docs") }).map((page) => page.replaceAll("\\", "/"))
    const links = new Set(
      [...start.matchAll(/<a class="VPLink link link" href="([^"]+)"/g)].map(([, href = ""]) => href)
    )
    expect(
      pages
        .map((page) => `/${page.replace(/(^|\/)README\.md$/, "$1").replace(/\.md$/, "")}`)
        .filter((page) => page !== "/" && !links.has(page))
    ).toEqual([])
    for (const html of globSync("dist/**/*.html", { cwd: site })) {
      const text = readFileSync(join(site, html), "utf8")
      for (const [, href = ""] of text.matchAll(/href="([^":#]+\.json)"/g)) {
        expect([html, existsSync(join(site, dirname(html), href))]).toEqual([html, true])
      }
    }
  })

  it.skipIf(launch === undefined)("finds pages, in light and in dark, and asks no other host", async () => {
    const page = await browser?.newPage({ colorScheme: "dark" })
    if (page === undefined) throw new Error("no browser")
    const elsewhere: Array<string> = []
    const errors: Array<string> = []
    page.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("data:")) elsewhere.push(request.url())
    })
    page.on("pageerror", (error) => errors.push(error.message))
    await page.goto(`${origin}/operate/proxies`)
    expect(await page.locator("html.dark").count()).toBe(1)
    await page.locator(".VPNavBarSearch button").first().click()
    await page.fill("input.search-input", "trusted proxies")
    await page.locator(".result").filter({ hasText: "Addresses of callers" }).first().click()
    await page.waitForURL(/\/operate\/proxies#addresses-of-callers/)
    expect([elsewhere, errors]).toEqual([[], []])
    // Nothing of a page is wider than a phone.
    await page.setViewportSize({ width: 390, height: 844 })
    for (const path of ["/", "/operate/proxies", "/reference/settings", "/start/http"]) {
      await page.goto(origin + path)
      expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, 390])
    }
  })
})
