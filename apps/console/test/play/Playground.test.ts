// The playground in a browser, against the executable.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import * as Pages from "@model-gateway/test-filled/Browser"
import { type Empty, startEmpty } from "@model-gateway/test-filled/Filled"

describe.runIf(Pages.hasBrowser)("the playground", () => {
  let browser: Browser
  let gateway: Empty
  beforeAll(async () => {
    ;[browser, gateway] = await Promise.all([Pages.launch(), startEmpty()])
  })
  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  const visit = async (path = "/play", options: Pages.OpenOptions = {}) => {
    const site = await Pages.open(browser, gateway.origin, options)
    onTestFinished(() => site.close())
    await site.go(path)
    return site
  }
  const enterKey = async (page: Page) => {
    await page.getByLabel("API key").fill(gateway.key)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByRole("button", { name: "Sign out" }).waitFor()
  }
  const enter = async (path?: string, options?: Pages.OpenOptions) => {
    const site = await visit(path, options)
    await enterKey(site.page)
    return site
  }
  const estimate = (page: Page) => page.getByText(/^up to .* credits$/)

  it("says at the field that a key is missing or of the wrong kind, and sends nothing", async () => {
    const { page, problems } = await visit("/")
    expect(new URL(page.url()).pathname).toBe("/play")
    const requests: Array<string> = []
    page.on("request", (request) => {
      if (request.url().includes("/api/")) requests.push(request.url())
    })
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByText("Enter an ordinary key. It begins with mg_sk_.").waitFor()
    expect(await page.getByLabel("API key").evaluate((field) => field === document.activeElement)).toBe(true)
    await page.getByLabel("API key").fill(gateway.managementKey)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByText("This is a management key, which cannot pay for requests.").waitFor()
    await page.getByRole("button", { name: /^Rank/ }).click()
    await page.getByText("Enter an ordinary key to run this.").waitFor()
    expect(requests).toEqual([])
    expect(problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("keeps the key nowhere, and clears results and history at sign-out", async () => {
    const { page, problems } = await enter()
    await page.keyboard.press("Control+Enter")
    await page.getByRole("list", { name: "Ranking of sandbox/bm25" }).waitFor()
    await page.getByRole("region", { name: "History" }).getByText("rerank sandbox/bm25").waitFor()
    expect(await Pages.placesOf(page, gateway.key)).toEqual([])
    expect(await Pages.placesOf(page, "mg_ek_")).toEqual([])
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByText("Runs are listed here, until you sign out.").waitFor()
    expect(await page.getByRole("list", { name: "Ranking of sandbox/bm25" }).count()).toBe(0)
    expect(problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("ranks with the keyboard, with the price before and the facts after", async () => {
    const { page } = await enter()
    await estimate(page).waitFor()
    await page.getByLabel("Query").fill("public holidays")
    await page.keyboard.press("Control+Enter")
    const first = page.getByRole("list", { name: "Ranking of sandbox/bm25" }).getByRole("listitem").first()
    await first.getByText("up 2").waitFor()
    expect(await first.locator("mark").allTextContents()).toEqual(["public", "holidays"])
    const facts = page.getByRole("region", { name: "Facts" })
    await facts.getByText("sandbox: Success").waitFor()
    expect(await facts.getByText(/^req_/).count()).toBe(1)
    await page.getByLabel("Query").fill("passwords")
    await page.getByText("The form has changed since this result.").waitFor()
    await page.getByLabel("Cut-off").fill("1")
    await page.getByText("0 of 5 at or above the cut-off").waitFor()
  })

  it("cancels with Escape", async () => {
    const { page } = await enter()
    await page.route("**/api/v1/rerank", () => {
      // It is never answered.
    })
    await page.keyboard.press("Control+Enter")
    await page.getByText("Running …").waitFor()
    await page.keyboard.press("Escape")
    await page.getByText("Canceled.").waitFor()
    expect(await page.getByRole("button", { name: /^Rank/ }).isEnabled()).toBe(true)
  })

  it("compares two models", async () => {
    const { page } = await enter()
    await page.getByText("up to 0.001 credits", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Compare two models" }).click()
    await page.getByText("up to 0.002 credits", { exact: true }).waitFor()
    await page.getByRole("button", { name: /^Second model:/ }).click()
    await page.getByRole("dialog").getByLabel("Search models").fill("free")
    await page.getByRole("dialog").getByRole("button", { name: "sandbox/bm25:free" }).click()
    await page.keyboard.press("Control+Enter")
    await page.getByRole("list", { name: "Ranking of sandbox/bm25:free" }).waitFor()
    await page.getByRole("list", { name: "Ranking of sandbox/bm25", exact: true }).waitFor()
    expect(await page.getByRole("region", { name: /^Facts of/ }).count()).toBe(2)
  })

  it("has the simulators of errors apart, and does not send a form that is not complete", async () => {
    const { page } = await enter()
    await page.getByRole("button", { name: /^Model:/ }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Test errors").click()
    await dialog.getByRole("button", { name: "sandbox/status-429" }).waitFor()
    await page.keyboard.press("Escape")
    const requests: Array<string> = []
    page.on("request", (request) => requests.push(new URL(request.url()).pathname))
    await page.getByLabel("Documents").fill("")
    await page.keyboard.press("Control+Enter")
    await page.getByText("Enter at least one document.").waitFor()
    expect(requests).not.toContain("/api/v1/rerank")
  })

  it("transcribes the sample sound, and goes to a word that is clicked", async () => {
    const { page, problems } = await enter("/play?operation=transcription")
    await page.getByRole("button", { name: "Use the sample sound" }).click()
    await estimate(page).waitFor()
    await page.keyboard.press("Control+Enter")
    await page.getByText(/^7 words/).waitFor()
    const word = page.locator("[data-word='3']")
    await word.click()
    await expect.poll(() => word.getAttribute("data-current")).toBe("true")
    expect(Number(await page.getByLabel("Position in the audio").inputValue())).toBeGreaterThan(0.5)
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "SRT" }).click()
    ])
    expect(download.suggestedFilename()).toBe("dialed.srt")
    expect(problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("offers a video model what it can do, and follows its jobs through a reload", async () => {
    const { page, problems } = await enter("/play?operation=video")
    await estimate(page).waitFor()
    const resolutions = await page.getByLabel("Resolution").locator("option").allTextContents()
    expect(resolutions).toContain("480p")
    expect(resolutions).not.toContain("2K")
    expect(resolutions).not.toContain("4K")
    await page.getByLabel("Seconds").fill("1")
    await page.getByLabel("Resolution").selectOption("480p")
    await page.keyboard.press("Control+Enter")
    const job = page.getByRole("list", { name: "Video jobs" }).getByRole("listitem")
    await job.getByText("completed").waitFor()
    await job.locator("video").waitFor()
    await job.getByRole("button", { name: "Vary the seed" }).click()
    await expect.poll(() => job.count()).toBe(2)
    expect(await page.getByLabel("Seed").inputValue()).toMatch(/^\d+$/)
    await page.reload()
    await enterKey(page)
    await expect.poll(() => job.getByText("completed").count()).toBe(2)
    expect(problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("shows at its field what the gateway would refuse, before the request is sent", async () => {
    const { page } = await enter("/play?operation=video")
    await estimate(page).waitFor()
    await page.getByLabel("Seconds").fill("100")
    await expect.poll(() => page.getByLabel("Seconds").getAttribute("aria-invalid")).toBe("true")
    await page.getByLabel("Seconds").fill("10")
    await estimate(page).waitFor()
    expect(await page.getByLabel("Seconds").getAttribute("aria-invalid")).toBe("false")
  })

  it("says an error in the gateway's words, counts down, and names classes only in the details", async () => {
    const { page } = await enter("/play?operation=errors")
    await page.getByRole("radio", { name: /^429/ }).check()
    await page.keyboard.press("Control+Enter")
    const problem = page.getByRole("alert")
    await problem.getByText(/^Rate limit exceeded/).waitFor()
    await problem.getByRole("button", { name: "Run again in 1 s" }).waitFor()
    expect(await problem.getByText("TooManyRequests").isVisible()).toBe(false)
    await problem.getByRole("button", { name: "Run again", exact: true }).waitFor()
    await problem.getByText("Details").click()
    expect(await problem.getByText("TooManyRequests").isVisible()).toBe(true)
  })

  it("opens a form by its link, its history and its address", async () => {
    const { page } = await visit("/play?operation=rerank&model=sandbox/bm25:free", {
      permissions: ["clipboard-read", "clipboard-write"]
    })
    await page.getByRole("button", { name: /^Model: sandbox\/bm25:free/ }).waitFor()
    await page.getByLabel("Query").fill("a query in a link")
    await page.getByRole("button", { name: "Copy link" }).click()
    await page.getByText("Copied").waitFor()
    const link = await page.evaluate(() => navigator.clipboard.readText())
    await page.goto("about:blank")
    await page.goto(link)
    await expect.poll(() => page.getByLabel("Query").inputValue()).toBe("a query in a link")
    await enterKey(page)
    await page.keyboard.press("Control+Enter")
    const entry = page.getByRole("region", { name: "History" }).getByRole("button", { name: "sandbox/bm25:free" })
    await entry.waitFor()
    await page.getByLabel("Query").fill("another one")
    await entry.click()
    await expect.poll(() => page.getByLabel("Query").inputValue()).toBe("a query in a link")
    await page.getByLabel("Keep runs in this browser").uncheck()
    await page.getByText("Runs are not kept.").waitFor()
  })

  it("says that a key does not work any more", async () => {
    const { page } = await visit()
    const manage = (method: string, path: string, body?: object) =>
      fetch(`${gateway.origin}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) })
      })
    const created = await manage("POST", "/keys", { name: "short" })
    const { data, key } = (await created.json()) as { readonly data: { readonly hash: string }; readonly key: string }
    await page.getByLabel("API key").fill(key)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByRole("button", { name: "Sign out" }).waitFor()
    expect((await manage("DELETE", `/keys/${data.hash}`)).status).toBe(200)
    await page.keyboard.press("Control+Enter")
    await page.getByText("The key does not work any more").waitFor()
    expect(await page.getByLabel("API key").inputValue()).toBe("")
  })

  it("takes a key that the session of the console chooses", async () => {
    const site = await Pages.open(browser, gateway.origin)
    onTestFinished(() => site.close())
    await site.signIn(gateway.managementKey)
    await site.go("/play")
    await site.page.getByRole("button", { name: "Use my console session" }).click()
    await site.page.getByRole("dialog").getByRole("listitem").first().getByRole("button").click()
    await site.page.getByRole("button", { name: "Sign out" }).waitFor()
    await site.page.keyboard.press("Control+Enter")
    await site.page.getByRole("list", { name: "Ranking of sandbox/bm25" }).waitFor()
    expect(await Pages.placesOf(site.page, "mg_ek_")).toEqual([])
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })
})
