// The example of Next.js: its routes, and its page in a browser. Runs only with SLOW_TESTS, because
// to build the page takes most of a minute of CPU.
import { DtmfTone } from "@model-gateway/sandbox"
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { start } from "@model-gateway/test-services/GatewayProcess"
import { existsSync, readdirSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { type Browser, chromium, type Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest"
import { environment, folderOf } from "./Example.ts"
import { itServes, type WebServer } from "./WebServer.ts"

const cwd = folderOf("next")
const next = createRequire(join(cwd, "package.json")).resolve("next/dist/bin/next")

let server: WebServer

beforeAll(async () => {
  const build = start(process.execPath, [next, "build"], { cwd, env: { NEXT_TELEMETRY_DISABLED: "1" } })
  await build.prints(/Route \(app\)[^]*prerendered/)
  const { pagePort, webhookSecret } = inject("gateway")
  const running = start(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", String(pagePort)], {
    cwd,
    env: { ...environment(), NEXT_TELEMETRY_DISABLED: "1", WEBHOOK_SECRET: webhookSecret }
  })
  await running.prints(/Ready in/)
  server = { ...running, origin: `http://127.0.0.1:${pagePort}` }
  return server.stop
}, 300_000)

describe("a server on Next.js", () => {
  itServes(() => server)
})

/** All complete and partial uploads on the gateway's disk. */
const uploads = (): ReadonlyArray<string> => {
  const folder = join(inject("gateway").dataDir, "uploads")
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "lock")
    .map((entry) => join(entry.parentPath, entry.name))
}

const options = launchOptions()

describe.runIf(options !== undefined)("a page on Next.js", () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch(options)
  })

  afterAll(() => browser.close())

  const open = async (): Promise<Page> => {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    await page.goto(server.origin)
    await page.getByLabel("Audio").waitFor()
    return page
  }

  /** Limits uploads to 1 MiB a second. */
  const slowDown = async (page: Page) => {
    const session = await page.context().newCDPSession(page)
    const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 1_048_576 }
    await session.send("Network.emulateNetworkConditions", conditions)
  }

  const upload = (page: Page, buffer: Buffer) =>
    page.getByLabel("Audio").setInputFiles({ name: "call.wav", mimeType: "audio/wav", buffer })

  it("transcribes with a key of the route of tokens", async () => {
    const page = await open()
    await upload(page, Buffer.from(DtmfTone.wav("555 0199")))
    await expect.poll(() => page.getByRole("status").textContent()).toBe("555 0199")
  })

  it("follows a video with a key of the server action", async () => {
    const page = await open()
    await page.getByRole("button", { name: "Make a video" }).click()
    await expect.poll(() => page.getByRole("status").textContent()).toBe("completed")
  })

  it("shows the progress of an upload, which ends with the component", async () => {
    const page = await open()
    await slowDown(page)
    const before = uploads()
    await upload(page, Buffer.alloc(20_000_000))
    const sent = async () => Number(await page.getByRole("progressbar").getAttribute("value"))
    await expect.poll(sent).toBeGreaterThan(200_000)
    expect(await sent()).toBeLessThan(15_000_000)
    expect(uploads().length).toBe(before.length + 1)
    await page.getByRole("link", { name: "About" }).click()
    await page.getByRole("heading", { name: "About" }).waitFor()
    await expect.poll(uploads).toEqual(before)
  })
})
