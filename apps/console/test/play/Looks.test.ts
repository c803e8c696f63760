// Every task of the playground at three widths in both themes, empty and with a result.
import type { Browser } from "playwright-core"
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

  it.each(Pages.looks)("is accessible and fits, %i pixels wide in %s", async (width, scheme) => {
    const site = await Pages.open(browser, gateway.origin, { width, scheme })
    onTestFinished(() => site.close())
    const { page } = site
    const look = async (name: string) => {
      await site.shoot(`play-${name}`)
      expect([name, await site.axe()]).toEqual([name, []])
      expect([name, await Pages.overflow(page)]).toEqual([name, []])
    }
    const go = (task: string) => page.getByRole("navigation").getByRole("link", { name: task }).click()

    await site.go("/play")
    await page.getByLabel("Query").waitFor()
    await look("signed-out")
    await page.getByLabel("API key").fill(gateway.key)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByRole("button", { name: "Sign out" }).waitFor()
    await page.keyboard.press("Control+Enter")
    await page.getByRole("list", { name: "Ranking of sandbox/bm25" }).waitFor()
    await look("rerank")
    await page.getByLabel("Query").fill("changed")
    await page.getByText("The form has changed since this result.").waitFor()
    await look("stale")
    if (width < 1200) {
      await page.getByRole("tab", { name: "Code and facts" }).click()
      await look("code")
      await page.getByRole("tab", { name: "Parameters" }).click()
    }
    await page.getByRole("button", { name: /^Model:/ }).click()
    await look("models")
    await page.keyboard.press("Escape")

    await go("Transcription")
    await page.getByRole("button", { name: "Use the sample sound" }).click()
    await page.getByLabel("Position in the audio").waitFor()
    await page.keyboard.press("Control+Enter")
    await page.getByText(/^7 words/).waitFor()
    await page.locator("[data-word='2']").click()
    await look("transcription")

    await go("Video")
    await page.getByLabel("Prompt").waitFor()
    await page
      .getByText(/^up to 0\.\d+ credits$/)
      .last()
      .waitFor()
    await page.keyboard.press("Control+Enter")
    await page.getByRole("list", { name: "Video jobs" }).waitFor()
    await look("video")

    await go("Errors")
    await page.getByRole("radio", { name: /^429/ }).waitFor()
    await page.keyboard.press("Control+Enter")
    await page.getByRole("alert").waitFor()
    await look("errors")
    expect([site.problems.policy, site.problems.foreign]).toEqual([[], []])
  })
})
