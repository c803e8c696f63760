// One browser and one gateway for a file of tests. Each test opens the page in a new profile.
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core"
import { afterAll, beforeAll, onTestFinished } from "vitest"
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { type Gateway, serve } from "./Gateway.ts"
import { open, type Site } from "./Site.ts"

const options = launchOptions("--autoplay-policy=no-user-gesture-required")

/** Whether Chromium is installed. Without it, tests that need it are skipped. */
export const hasBrowser = options !== undefined

export interface Fixture {
  readonly gateway: () => Gateway
  /** Opens the page. It is closed at the end of the test. */
  readonly visit: (options?: BrowserContextOptions) => Promise<Site>
  /** Opens the page and signs in. */
  readonly enter: (options?: BrowserContextOptions) => Promise<Site>
}

/** Call it in `describe`, with flags for the gateway. */
export const fixture = (...flags: ReadonlyArray<string>): Fixture => {
  let running: { readonly browser: Browser; readonly gateway: Gateway } | undefined
  beforeAll(async () => {
    const [browser, gateway] = await Promise.all([chromium.launch(options), serve(flags)])
    running = { browser, gateway }
  }, 120_000)
  afterAll(async () => {
    await running?.browser.close()
    await running?.gateway.stop()
  })
  const there = () => {
    if (running === undefined) throw new Error("the fixture has not begun")
    return running
  }
  const visit = async (options?: BrowserContextOptions) => {
    const { browser, gateway } = there()
    const site = await open(browser, gateway, options)
    onTestFinished(() => site.close())
    return site
  }
  return {
    gateway: () => there().gateway,
    visit,
    enter: async (options) => {
      const site = await visit(options)
      await site.signIn(there().gateway.apiKey)
      return site
    }
  }
}
