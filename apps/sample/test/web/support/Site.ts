// The page in the browser, with its console output and its requests to other origins.
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core"
import { watch } from "@model-gateway/test-filled/Browser"
import type { Gateway } from "./Gateway.ts"

export type Place = "rerank" | "transcription" | "video" | "files" | "key" | "guardrail" | "program"

export const places: ReadonlyArray<Place> = ["rerank", "transcription", "video", "files", "key", "guardrail", "program"]

export interface Site {
  readonly page: Page
  /** Errors and warnings in the console, and uncaught errors. */
  readonly consoleErrors: ReadonlyArray<string>
  /** Requests to other origins. */
  readonly foreignRequests: ReadonlyArray<string>
  /** Opens a panel and returns it. */
  readonly go: (place: Place) => Promise<Locator>
  readonly signIn: (key: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens the page in a new profile. */
export const open = async (browser: Browser, gateway: Gateway, options: BrowserContextOptions = {}): Promise<Site> => {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options })
  // Videos are rendered while other packages are tested, too.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const { console: consoleErrors, foreign: foreignRequests } = await watch(page, gateway.origin)
  await page.goto(gateway.origin)
  await page.getByRole("heading", { level: 1 }).waitFor()

  return {
    page,
    consoleErrors,
    foreignRequests,
    go: async (place) => {
      await page.locator(`.panel-links a[href="#${place}"]`).click()
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
