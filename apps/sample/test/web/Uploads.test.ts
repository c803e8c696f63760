// Uploads over a slow connection: their progress grows, and canceling stops them at the server.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Locator, Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { fixture, hasBrowser } from "./support/Fixture.ts"
import type { Gateway } from "./support/Gateway.ts"

const megabyte = 1024 * 1024

/** Limits the page's uploads to this number of bytes per second. */
const slowDown = async (page: Page, uploadThroughput: number) => {
  const session = await page.context().newCDPSession(page)
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput
  })
}

/** Records each value of the panel's progress bars. */
const watchProgress = (panel: Locator) =>
  panel.evaluate((element) => {
    const seen: Array<number> = []
    Object.assign(globalThis, { seen })
    new MutationObserver(() => {
      const value = Number(element.querySelector("progress")?.getAttribute("value"))
      if (value > 0 && value !== seen.at(-1)) seen.push(value)
    }).observe(element, { subtree: true, childList: true, attributes: true, attributeFilter: ["value"] })
  })

const progressSeen = (page: Page): Promise<ReadonlyArray<number>> =>
  page.evaluate(() => (globalThis as typeof globalThis & { readonly seen: ReadonlyArray<number> }).seen)

/** All complete and partial uploads on the gateway's disk. */
const partsOnDisk = ({ dataDir }: Gateway): ReadonlyArray<string> =>
  ["uploads", "files"].flatMap((folder) =>
    existsSync(join(dataDir, folder))
      ? readdirSync(join(dataDir, folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && entry.name !== "lock")
          .map((entry) => join(entry.parentPath, entry.name))
      : []
  )

const storedNames = async ({ apiKey, origin }: Gateway) => {
  const response = await fetch(`${origin}/api/v1/files`, { headers: { authorization: `Bearer ${apiKey}` } })
  const { data } = (await response.json()) as { readonly data: ReadonlyArray<{ readonly filename: string }> }
  return data.map(({ filename }) => filename)
}

describe.runIf(hasBrowser)("uploads", () => {
  const { enter, gateway } = fixture()

  const upload = async (name: string, megabytes: number, bytesPerSecond: number) => {
    const site = await enter()
    const panel = await site.go("files")
    await slowDown(site.page, bytesPerSecond)
    await panel
      .getByLabel("Drop a file here")
      .setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.alloc(megabytes * megabyte) })
    await watchProgress(panel)
    await panel.getByRole("button", { name: "Upload", exact: true }).click()
    return { site, panel }
  }

  it("show progress that grows with the bytes sent", async () => {
    const { panel, site } = await upload("large.bin", 4, megabyte)
    await panel.getByRole("button", { name: "Delete large.bin" }).waitFor()
    const seen = await progressSeen(site.page)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen.filter((value) => value < 1).length).toBeGreaterThan(2)
    expect(seen.at(-1)).toBe(1)
    expect(site.consoleErrors).toEqual([])
  })

  it("are canceled at the server, too: nothing is stored", async () => {
    const before = partsOnDisk(gateway())
    const { panel, site } = await upload("cancelled.bin", 20, megabyte / 2)
    await site.page.waitForFunction(() => Number(document.querySelector("progress")?.getAttribute("value")) > 0.05)
    await expect.poll(() => partsOnDisk(gateway()).length).toBe(before.length + 1)
    await panel.getByRole("button", { name: "Cancel" }).click()
    await panel.getByText("Cancelled: nothing was stored").waitFor()
    await expect.poll(() => partsOnDisk(gateway())).toEqual(before)
    expect(await storedNames(gateway())).not.toContain("cancelled.bin")
    // The focus is not lost when the pressed button disappears.
    expect(
      await panel.getByRole("button", { name: "Upload", exact: true }).evaluate((it) => it.matches(":focus"))
    ).toBe(true)
  })

  it("of audio show progress, too, and are canceled", async () => {
    const before = partsOnDisk(gateway())
    const site = await enter()
    const panel = await site.go("transcription")
    await slowDown(site.page, megabyte / 2)
    await panel
      .getByLabel("Drop an audio file here")
      .setInputFiles({ name: "long.wav", mimeType: "audio/wav", buffer: Buffer.alloc(20 * megabyte) })
    await watchProgress(panel)
    await panel.getByRole("button", { name: "Transcribe", exact: true }).click()
    await expect.poll(() => progressSeen(site.page).then((seen) => seen.length)).toBeGreaterThan(2)
    await panel.getByRole("button", { name: "Cancel" }).click()
    await panel.getByText("Cancelled", { exact: true }).waitFor()
    await expect.poll(() => partsOnDisk(gateway())).toEqual(before)
  })
})
