// Every task of the playground at three widths in both themes: before a run, while it runs, with a
// result and with an error. And a form with 10,000 documents.
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

  const open = async (options: Pages.OpenOptions) => {
    const site = await Pages.open(browser, gateway.origin, options)
    onTestFinished(() => site.close())
    await site.go("/play")
    return site
  }

  const enterKey = async (page: Page) => {
    await page.getByLabel("API key").fill(gateway.key)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByRole("button", { name: "Sign out" }).waitFor()
  }

  it.each([
    ["side by side", [1440]],
    ["in tabs", [360, 768]]
  ] as const)("is accessible and fits with its parts %s", async (_, widths) => {
    const [width] = widths
    const site = await open({ width })
    const { page } = site
    const problems: Array<string> = []
    const look = async (name: string) => {
      problems.push(...(await site.wrongIn(Pages.looksOf(...widths), `play-${name}`)))
    }
    const go = (task: string) => page.getByRole("navigation").getByRole("link", { name: task }).click()
    /** On narrow screens, the parts of a task are tabs. */
    const part = async (name: "Input" | "Parameters" | "Code and facts") => {
      if (width < 1200) await page.getByRole("tab", { name, exact: true }).filter({ visible: true }).click()
    }
    const run = () => page.keyboard.press("Control+Enter")

    await page.getByLabel("Query").waitFor()
    await look("signed-out")
    await enterKey(page)
    await page.getByText(/^up to .* credits$/).waitFor()
    await look("rerank-before")
    await part("Parameters")
    await look("rerank-parameters")
    await page.getByRole("button", { name: /^Model:/ }).click()
    await look("models")
    await page.keyboard.press("Escape")

    await page.route("**/api/v1/rerank", () => {
      // It is answered when the page leaves it.
    })
    await run()
    await page.getByText("Running …").waitFor()
    await look("rerank-running")
    await page.keyboard.press("Escape")
    await page.getByText("Canceled.").waitFor()
    await look("rerank-canceled")
    await page.unroute("**/api/v1/rerank")
    await page.route("**/api/v1/rerank", (route) => route.abort())
    await run()
    await page.getByRole("alert").waitFor()
    await look("rerank-no-answer")
    await page.unroute("**/api/v1/rerank")
    await run()
    await page.getByRole("list", { name: "Ranking of sandbox/bm25" }).waitFor()
    await look("rerank-result")
    await page.getByLabel("Query").fill("changed")
    await page.getByText("The form has changed since this result.").waitFor()
    await look("rerank-stale")
    await part("Code and facts")
    for (const language of ["Python", "fetch", "TypeScript", "Effect", "curl"]) {
      await page.getByRole("tab", { name: language, exact: true }).click()
      await look(`code-${language.toLowerCase()}`)
    }
    await page.getByRole("region", { name: "History" }).getByText("no answer").waitFor()
    await page.getByText("Request", { exact: true }).click()
    await page.getByText("Response", { exact: true }).click()
    await look("facts-and-history")

    await go("Transcription")
    await page.getByRole("button", { name: "Use the sample sound" }).waitFor()
    await look("transcription-before")
    await page.getByRole("button", { name: "Use the sample sound" }).click()
    await page.getByLabel("Position in the audio").waitFor()
    await look("transcription-ready")
    await run()
    await page.getByText(/^7 words/).waitFor()
    await page.locator("[data-word='2']").click()
    await look("transcription-result")
    await part("Parameters")
    await look("transcription-parameters")

    await go("Video")
    await page.getByLabel("Prompt").waitFor()
    await page
      .getByText(/^up to 0\.\d+ credits$/)
      .last()
      .waitFor()
    await look("video-before")
    await part("Parameters")
    await look("video-parameters")
    await run()
    const jobs = page.getByRole("list", { name: "Video jobs" })
    await jobs.waitFor()
    await look("video-running")
    await jobs.getByText("completed").waitFor()
    await look("video-result")

    await go("Errors")
    await page.getByRole("radio", { name: /^429/ }).waitFor()
    await look("errors-before")
    for (const status of [400, 402, 429, 529]) {
      await page.getByRole("radio", { name: new RegExp(`^${status}`) }).check()
      const answered = page.waitForResponse("**/api/v1/rerank")
      await run()
      await answered
      await page.getByRole("alert").filter({ visible: true }).waitFor()
      await look(`error-${status}`)
    }
    expect(problems).toEqual([])
    expect([site.problems.policy, site.problems.foreign]).toEqual([[], []])
    // Chromium says so of each answer that is an error, and of the request that was aborted.
    expect(site.problems.console.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([])
  })

  it("pastes, types, ranks and scrolls 10,000 documents without a task above 50 ms", async () => {
    const { page } = await open({ permissions: ["clipboard-read", "clipboard-write"] })
    await enterKey(page)
    const words = "invoice password office sign reset forgotten holiday support address order".split(" ")
    const documents = Array.from({ length: 10_000 }, (_, at) =>
      Array.from({ length: 9 }, (_, place) => words[(at * 7 + place * 3 + (at >> place)) % words.length]).join(" ")
    )
    await page.evaluate((text) => navigator.clipboard.writeText(text), documents.join("\n"))
    const tasks = (act: () => Promise<void>) => Pages.longTasks(page, act)

    await page.getByLabel("Documents").focus()
    await page.keyboard.press("Control+A")
    const pasting = await tasks(async () => {
      await page.keyboard.press("Control+V")
      await page.getByText("10,000 documents").waitFor()
      // The estimate follows.
      await page.waitForTimeout(1000)
    })
    await page.getByLabel("Query").focus()
    const typing = await tasks(async () => {
      await page.keyboard.type(" on a holiday", { delay: 60 })
      await page.waitForTimeout(1000)
    })
    const ranking = page.locator(".ranking-frame[data-virtual='true']")
    const running = await tasks(async () => {
      await page.keyboard.press("Control+Enter")
      await ranking.waitFor()
      await page.waitForTimeout(1000)
    })
    const scroll = async (list: typeof ranking) => {
      await list.hover()
      const found = await tasks(async () => {
        for (let step = 0; step < 40; step++) {
          await page.mouse.wheel(0, 1500)
          await page.waitForTimeout(30)
        }
      })
      expect(await list.evaluate((element) => element.scrollTop)).toBeGreaterThan(30_000)
      return found
    }
    const scrolling = [...(await scroll(page.locator(".document-list"))), ...(await scroll(ranking))]
    expect({ pasting, typing, running, scrolling }).toEqual({ pasting: [], typing: [], running: [], scrolling: [] })
    // All of them are sent, and all come back.
    expect(await ranking.locator("li").last().getAttribute("aria-setsize")).toBe("10000")
  })
})
