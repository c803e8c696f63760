// A video job continues after a reload, a restart of the gateway, and changes of the form.
import { describe, expect, it } from "vitest"
import { fixture, hasBrowser } from "./support/Fixture.ts"
import type { Site } from "./support/Site.ts"

// Rendering a video of a few seconds is slow on a busy machine.
describe.runIf(hasBrowser)("a video job", { timeout: 120_000 }, () => {
  const { enter, gateway } = fixture()

  /** Starts a job that takes a few seconds, and counts the submissions. */
  const begin = async () => {
    const site = await enter()
    const submitted: Array<string> = []
    site.page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/videos")) submitted.push(request.url())
    })
    const panel = await site.go("video")
    await panel.getByLabel("Seconds").fill("4")
    await panel.getByLabel("Resolution").selectOption("1080p")
    await panel.getByLabel("Aspect ratio").selectOption("9:16")
    await panel.getByRole("button", { name: "Make the video" }).click()
    await panel.locator("[data-status='in_progress']").waitFor()
    return { site, panel, submitted }
  }

  const ready = async ({ page }: Site) => {
    const panel = page.locator("#panel-video")
    await panel.getByText("The video is ready").waitFor({ timeout: 100_000 })
    return panel
  }

  it("is found again after a reload, is listed, and keeps its shape when the form changes", async () => {
    const { site, submitted } = await begin()
    await site.page.reload()
    const panel = await ready(site)
    const shape = () => panel.locator("video").evaluate((video) => video.clientWidth / video.clientHeight)
    expect(await shape()).toBeCloseTo(9 / 16, 1)
    await panel.getByLabel("Aspect ratio").selectOption("21:9")
    expect(await shape()).toBeCloseTo(9 / 16, 1)
    expect(submitted).toHaveLength(1)
    expect(site.consoleErrors).toEqual([])

    // A finished job is shown again only on request.
    await site.page.reload()
    await panel.getByText("Recent jobs (1)").click()
    expect(await panel.locator("video").count()).toBe(0)
    await panel.getByRole("button", { name: /^Show / }).click()
    await ready(site)
    await panel.getByRole("button", { name: "Clear the list" }).click()
    expect(await panel.getByText(/Recent jobs/).count()).toBe(0)
  })

  it("is followed to its end when the gateway restarts meanwhile", async () => {
    const { site, submitted } = await begin()
    await gateway().shutDown()
    await site.page.getByText("Connection lost. Reconnecting …").waitFor()
    await gateway().restart()
    const panel = await ready(site)
    expect(await panel.locator("video").evaluate((video: HTMLVideoElement) => video.src)).toMatch(/^blob:/)
    expect(submitted).toHaveLength(1)
  })
})
