// The page in the browser, watched: what its console says, and where its requests go.
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core"
import type { Gateway } from "./Gateway.ts"

export type Place = "rerank" | "transcription" | "video" | "files" | "key" | "guardrail" | "program"

export const places: ReadonlyArray<Place> = ["rerank", "transcription", "video", "files", "key", "guardrail", "program"]

export interface Site {
  readonly page: Page
  /** Errors and warnings in the console, and what was thrown and not caught. */
  readonly complaints: ReadonlyArray<string>
  /** Requests to any other origin. */
  readonly strays: ReadonlyArray<string>
  /** Goes to a panel and answers it. */
  readonly go: (place: Place) => Promise<Locator>
  readonly signIn: (key: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens the page, in a profile of its own. */
export const open = async (browser: Browser, gateway: Gateway, options: BrowserContextOptions = {}): Promise<Site> => {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options })
  const page = await context.newPage()
  const complaints: Array<string> = []
  const strays: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("request", (request) => {
    const url = new URL(request.url())
    if (url.protocol !== "blob:" && url.protocol !== "data:" && url.origin !== gateway.origin)
      strays.push(request.url())
  })
  await page.goto(gateway.origin)
  await page.getByRole("heading", { level: 1 }).waitFor()

  return {
    page,
    complaints,
    strays,
    go: async (place) => {
      await page.locator(`.places a[href="#${place}"]`).click()
      const panel = page.locator(`#panel-${place}`)
      await panel.waitFor({ state: "visible" })
      return panel
    },
    signIn: async (key) => {
      await page.getByLabel("API key").fill(key)
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByText("Signed in. Renews automatically.").waitFor()
    },
    close: () => context.close()
  }
}
