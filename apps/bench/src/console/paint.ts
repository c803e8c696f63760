/** When a person sees something of a page on a slow phone. */
import type { Browser } from "playwright-core"

/** A page and the bound of its first contentful paint, in milliseconds. */
export const pages = [
  { path: "/console/", bound: 1500 },
  { path: "/play", bound: 1500 }
] as const

/**
 * The preset "Slow 4G" of Chrome's developer tools, which Lighthouse applies too: 1.6 Mbit/s and
 * 150 ms, adjusted for where Chrome delays requests.
 */
const network = {
  offline: false,
  latency: 150 * 3.75,
  downloadThroughput: (1.6 * 1024 * 1024 * 0.9) / 8,
  uploadThroughput: (750 * 1024 * 0.9) / 8
}

/** How many times slower the CPU is. */
const cpu = 4

/** The first contentful paint of a page in a new profile, in milliseconds after the navigation. */
export const firstPaint = async (browser: Browser, origin: string, path: string, key: string): Promise<number> => {
  const profile = await browser.newContext({ viewport: { width: 360, height: 740 } })
  try {
    const session = await profile.request.post(`${origin}/console/session`, {
      headers: { origin, "x-model-gateway-console": "1" },
      data: { key }
    })
    if (!session.ok()) throw new Error(`The session did not start: ${session.status()}`)
    const page = await profile.newPage()
    const devtools = await profile.newCDPSession(page)
    await devtools.send("Network.enable")
    await devtools.send("Network.emulateNetworkConditions", network)
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: cpu })
    await page.goto(origin + path, { waitUntil: "commit" })
    const painted = await page.waitForFunction(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
      undefined,
      { polling: 100 }
    )
    return (await painted.jsonValue()) ?? Number.NaN
  } finally {
    await profile.close()
  }
}
