/** A page of the gateway in Chromium, with everything that it must not do. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import * as Axe from "./Axe.ts"

const options = launchOptions("--autoplay-policy=no-user-gesture-required")

/** Whether Chromium is installed. Without it, tests that need it are skipped. */
export const hasBrowser = options !== undefined

export const launch = (): Promise<Browser> => chromium.launch(options)

/** Windows by their width. */
export const windows = {
  360: { width: 360, height: 740 },
  768: { width: 768, height: 1024 },
  1440: { width: 1440, height: 900 }
} as const

export type Width = keyof typeof windows

export type Scheme = "light" | "dark"

/** How a page can look. */
export type Look = readonly [width: Width, scheme: Scheme]

/** These widths in both themes. */
export const looksOf = (...widths: ReadonlyArray<Width>): ReadonlyArray<Look> =>
  widths.flatMap((width) => (["light", "dark"] as const).map((scheme) => [width, scheme] as const))

/** What a page did that it must not do. The lists grow. */
export interface Problems {
  /** Errors and warnings in the console, and uncaught errors. */
  readonly console: ReadonlyArray<string>
  /** What the Content-Security-Policy has blocked. */
  readonly policy: ReadonlyArray<string>
  /** Requests to other origins. */
  readonly foreign: ReadonlyArray<string>
}

/** Watches a page from now on. Call it before the page is opened. */
export const watch = async (page: Page, origin: string): Promise<Problems> => {
  const problems = { console: Array<string>(), policy: Array<string>(), foreign: Array<string>() }
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.console.push(message.text())
  })
  page.on("pageerror", (error) => problems.console.push(error.message))
  page.on("request", (request) => {
    const url = new URL(request.url())
    if (url.protocol !== "blob:" && url.protocol !== "data:" && url.origin !== origin) {
      problems.foreign.push(request.url())
    }
  })
  await page.exposeFunction("onPolicyViolation", (violation: string) => problems.policy.push(violation))
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ blockedURI, effectiveDirective, sourceFile }) => {
      const { onPolicyViolation } = globalThis as typeof globalThis & {
        readonly onPolicyViolation: (violation: string) => void
      }
      onPolicyViolation(`${effectiveDirective} blocked ${blockedURI} in ${sourceFile}`)
    })
  })
  return problems
}

/** How far the page can be scrolled sideways, in pixels, and what sticks out. Empty: nothing does. */
export const overflow = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const wide = [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 0.5)
      .map((element) => `<${element.localName} class="${element.getAttribute("class") ?? ""}">`)
    return [`${scrollWidth - clientWidth} pixels`, ...wide.slice(0, 10)]
  })

/** Where a page has a text that it must not keep: in its storage, its address or its elements. */
export const placesOf = async (page: Page, secret: string): Promise<ReadonlyArray<string>> => {
  const places = await page.evaluate(() => ({
    localStorage: JSON.stringify(Object.entries(localStorage)),
    sessionStorage: JSON.stringify(Object.entries(sessionStorage)),
    cookie: document.cookie,
    address: location.href,
    document: document.documentElement.outerHTML,
    fields: [...document.querySelectorAll("input, textarea")]
      .map((field) => (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field.value : ""))
      .join("\n")
  }))
  return Object.entries(places)
    .filter(([, text]) => text.includes(secret))
    .map(([place]) => place)
}

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Microseconds. */
  readonly ts: number
  /** How long the thread computed, in microseconds. */
  readonly tdur?: number
}

/**
 * The tasks of the page's main thread that computed for longer than 50 ms while something was done,
 * in milliseconds. The time in which other processes had the processor is not counted.
 */
export const longTasks = async (page: Page, act: () => Promise<void>): Promise<ReadonlyArray<number>> => {
  const browser = page.context().browser()
  if (browser === null) throw new Error("The page has no browser")
  const mark = (name: string) => page.evaluate((name) => void performance.mark(name), name)
  await browser.startTracing(page, { categories: ["toplevel", "blink.user_timing"] })
  await mark("begin of longTasks")
  await act()
  await mark("end of longTasks")
  const trace = await browser.stopTracing()
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: ReadonlyArray<TraceEvent> }
  const begin = traceEvents.find(({ name }) => name === "begin of longTasks")
  const end = traceEvents.find(({ name }) => name === "end of longTasks")
  if (begin === undefined || end === undefined) throw new Error("The trace has no marks")
  const tasks = traceEvents.filter(
    ({ name, pid, tid, ts }) =>
      name === "ThreadControllerImpl::RunTask" &&
      pid === begin.pid &&
      tid === begin.tid &&
      ts >= begin.ts &&
      ts <= end.ts
  )
  if (tasks.length === 0) throw new Error("The trace has no tasks")
  return tasks.map(({ tdur = 0 }) => tdur / 1000).filter((ms) => ms > 50)
}

export interface OpenOptions extends BrowserContextOptions {
  readonly width?: Width
  readonly scheme?: Scheme
}

/** A page in a profile of its own. */
export interface Site {
  readonly page: Page
  readonly problems: Problems
  /** Opens a path of the gateway, such as `/console/keys?search=intern`. */
  readonly go: (path: string) => Promise<void>
  /** Starts a session of the console with a management key, without its form. */
  readonly signIn: (key: string) => Promise<void>
  /** The problems that axe finds. */
  readonly axe: () => Promise<ReadonlyArray<string>>
  /**
   * What is wrong with the page as it is, in these looks: what axe finds, and what does not fit.
   * With `SCREENSHOTS` in the environment, keeps a picture of each in `test-results/screenshots` of
   * the package.
   */
  readonly wrongIn: (looks: ReadonlyArray<Look>, name: string) => Promise<ReadonlyArray<string>>
  readonly close: () => Promise<void>
}

/** Default: 1440 pixels wide, light. Open a page with `go`. */
export const open = async (
  browser: Browser,
  origin: string,
  { scheme = "light", width = 1440, ...context }: OpenOptions = {}
): Promise<Site> => {
  const profile = await browser.newContext({
    reducedMotion: "reduce",
    colorScheme: scheme,
    viewport: windows[width],
    ...context
  })
  // Other packages are tested meanwhile.
  profile.setDefaultTimeout(60_000)
  const page = await profile.newPage()
  const problems = await watch(page, origin)
  const axe = async () => {
    await Axe.loadAxe(page)
    return Axe.findings(page)
  }

  const look = async ([width, scheme]: Look) => {
    await page.setViewportSize(windows[width])
    await page.emulateMedia({ colorScheme: scheme })
    // Charts and long tables are drawn again.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
  }

  const shoot = async (name: string) => {
    const folder = "test-results/screenshots"
    mkdirSync(folder, { recursive: true })
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
  }

  return {
    page,
    problems,
    go: async (path) => {
      await page.goto(origin + path)
    },
    signIn: async (key) => {
      const response = await profile.request.post(`${origin}/console/session`, {
        headers: { origin, "x-model-gateway-console": "1" },
        data: { key }
      })
      if (!response.ok()) throw new Error(`The session did not start: ${response.status()} ${await response.text()}`)
    },
    axe,
    wrongIn: async (looks, name) => {
      const found: Array<string> = []
      for (const [width, scheme] of looks) {
        await look([width, scheme])
        const full = `${name}-${scheme}-${width}`
        if (process.env["SCREENSHOTS"] !== undefined) await shoot(full)
        found.push(...[...(await axe()), ...(await overflow(page))].map((text) => `${full}: ${text}`))
      }
      return found
    },
    close: () => profile.close()
  }
}
