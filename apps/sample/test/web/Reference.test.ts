// The API reference at /docs: accessible, complete without a network, and able to make a call.
import { describe, expect, it } from "vitest"
import { dial } from "../../src/Tones.ts"
import { findings, loadAxe } from "@model-gateway/test-filled/Axe"
import { fixture, hasBrowser } from "./support/Fixture.ts"

const rerank = "/docs#?route=post-/rerank"

describe.runIf(hasBrowser)("the API reference", () => {
  const { gateway, visit } = fixture()

  it.each([
    ["light", 360],
    ["light", 1440],
    ["dark", 360],
    ["dark", 1440]
  ] as const)(
    "in %s, %i pixels wide: axe finds nothing serious, and nothing sticks out",
    async (colorScheme, width) => {
      const { consoleErrors, page, foreignRequests } = await visit({ colorScheme, viewport: { width, height: 900 } })
      await page.goto(gateway().origin + rerank)
      const errors = page.locator("[slot='post-/rerank']")
      await errors.getByText("Errors: 400, 401").click()
      await errors.getByText("Add credits, or raise the limit").waitFor()
      await page.getByRole("button", { name: "Python" }).click()
      await page.getByText("requests.post(").waitFor()
      await page.getByText("The documents to rank: 1 to 10,000.").first().waitFor()
      await loadAxe(page)
      expect((await findings(page)).filter((finding) => !finding.startsWith("moderate"))).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
      expect([consoleErrors, foreignRequests]).toEqual([[], []])
    }
  )

  it("has a menu on a phone, which finds an operation", async () => {
    const { page } = await visit({ viewport: { width: 360, height: 740 } })
    await page.goto(`${gateway().origin}/docs`)
    await page.getByText("Operations", { exact: true }).click()
    await page.getByLabel("Search operations").fill("cancel video")
    const links = page.locator(".menu li a:visible")
    expect(await links.allInnerTexts()).toEqual([
      expect.stringMatching(/^Cancel a video\s+POST \/videos\/\{id\}\/cancel$/)
    ])
    await links.click()
    const errors = page.locator("[slot='post-/videos/-id-/cancel'] summary")
    await expect.poll(() => errors.evaluate((element) => element.getBoundingClientRect().top < innerHeight)).toBe(true)
    expect(await page.getByLabel("Search operations").isVisible()).toBe(false)
    expect(await errors.innerText()).toMatch(/^Errors: 400, 401/)
  })

  it.each([360, 1440])("leads from the top of an operation to its form, %i pixels wide", async (width) => {
    const { page } = await visit({ viewport: { width, height: 740 } })
    await page.goto(gateway().origin + rerank)
    await page.locator("[slot='post-/rerank']").getByRole("button", { name: "Try it" }).click()
    const execute = page.locator("[part~='btn-try']:focus")
    await execute.waitFor()
    await expect
      .poll(() =>
        execute.evaluate((element) => {
          const { bottom, top } = element.getBoundingClientRect()
          return top >= 0 && bottom <= innerHeight
        })
      )
      .toBe(true)
  })

  it.each([360, 1440])("copies a sample with a button beside it, %i pixels wide", async (width) => {
    const { page } = await visit({ viewport: { width, height: 740 } })
    await page.goto(gateway().origin + rerank)
    const sample = page.locator("syntax-highlighter").filter({ hasText: "curl" }).first()
    const button = (await sample.getByRole("button", { name: "Copy" }).boundingBox()) ?? { y: 0, height: 0 }
    const code = (await sample.locator("pre").boundingBox()) ?? { y: 0 }
    expect(button.height).toBeGreaterThan(10)
    expect(button.y + button.height).toBeLessThanOrEqual(code.y)
  })

  it("shows the form of a body that its samples send", async () => {
    const { page } = await visit({ viewport: { width: 1440, height: 740 } })
    await page.goto(`${gateway().origin}/docs#?route=post-/audio/transcriptions`)
    await page.getByText("-F file=@interview.wav").waitFor()
    expect(await page.locator("select").filter({ hasText: "multipart" }).inputValue()).toBe("multipart/form-data")
  })

  it("tries calls with a key that stays in the page", async () => {
    const { page } = await visit({ viewport: { width: 1440, height: 900 } })
    await page.goto(gateway().origin + "/docs#?route=auth")
    await page.locator("input.api-key-input").fill(gateway().apiKey)
    await page.getByRole("button", { name: "Set" }).click()
    await page.goto(gateway().origin + "/docs#?route=get-/key")
    const execute = page.getByRole("button", { name: "Execute" })
    await execute.click()
    await page.getByText('"is_management_key"').first().waitFor()
    // The pointer is still over the button.
    const { back, text } = await execute.evaluate((button) => {
      const { backgroundColor, color } = getComputedStyle(button)
      return { back: backgroundColor, text: color }
    })
    expect(text).not.toBe(back)
    await page.goto(gateway().origin + "/docs#?route=post-/audio/transcriptions")
    await page.locator("select").filter({ hasText: "multipart" }).selectOption("multipart/form-data")
    await page.getByRole("button", { name: "Form" }).click()
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "dial.wav", mimeType: "audio/wav", buffer: Buffer.from(dial("12")) })
    await page.locator("input[data-pname=model]").fill("sandbox/tones")
    await execute.click()
    await page.getByText('"text": "12"').first().waitFor()
    const kept = () => page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))
    expect(await kept()).not.toContain(gateway().apiKey)
  })

  it("loads in less than 300 KB", async () => {
    const sizes = await Promise.all(
      ["/docs", "/docs/openapi-explorer.js", "/openapi.json"].map(async (path) => {
        const response = await fetch(gateway().origin + path, { headers: { "accept-encoding": "br" } })
        return Number(response.headers.get("content-length"))
      })
    )
    expect(sizes.every((size) => size > 1000)).toBe(true)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000)
  })
})
