// The page and the API reference below a base path, in a browser.
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { executable, start } from "@model-gateway/test-services/GatewayProcess"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"
import { expect, it, onTestFinished } from "vitest"

const launch = launchOptions()

it.skipIf(launch === undefined)(
  "the page and the reference load everything, and the page reaches the API",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "base-path-"))
    const gateway = start(
      process.execPath,
      [executable, "serve", "--port", "0", "--base-path", "/gateway", "--web-dir", "sample"],
      {
        cwd: folder
      }
    )
    const browser = await chromium.launch(launch)
    onTestFinished(async () => {
      await browser.close()
      await gateway.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    const [, origin = ""] = await gateway.prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/gateway\/api\/v1/)
    const [, key = ""] = await gateway.prints(/ordinary key +(mg_sk_\w+)\s/)
    const page = await browser.newPage()
    const failed: Array<string> = []
    const asked: Array<string> = []
    page.on("response", (response) => {
      asked.push(new URL(response.url()).pathname)
      if (response.status() >= 400) failed.push(response.url())
    })
    await page.goto(`${origin}/gateway`)
    expect(page.url()).toBe(`${origin}/gateway/`)
    await page.getByLabel("API key").first().fill(key)
    await page.keyboard.press("Enter")
    await expect.poll(() => asked).toContain("/gateway/api/v1/keys/ephemeral")
    await page.goto(`${origin}/gateway/docs`)
    await expect.poll(() => asked).toContain("/gateway/openapi.json")
    expect(failed).toEqual([])
  }
)
