// The page can be used with a keyboard and a screen reader, on narrow and wide screens, in light
// and dark, and its layout does not shift.
import { describe, expect, it } from "vitest"
import { findings, findingsInBoth, loadAxe } from "@model-gateway/test-filled/Axe"
import { fixture, hasBrowser } from "./support/Fixture.ts"
import * as Panels from "./support/Panels.ts"
import { places, type Site } from "./support/Site.ts"

const everyPanel = async (site: Site, gateway: Parameters<typeof Panels.assign>[1]) => {
  await Panels.rank(site)
  await Panels.transcribe(site)
  await Panels.makeVideo(site)
  await Panels.storeFile(site)
  await Panels.readKey(site)
  await Panels.assign(site, gateway)
  const rerank = await site.go("rerank")
  await rerank.getByLabel("Model").selectOption("sandbox/status-400")
  await rerank.getByRole("button", { name: "Rank", exact: true }).click()
  await rerank.getByRole("alert").waitFor()
}

const widths = { narrow: { width: 360, height: 740 }, wide: { width: 1440, height: 900 } } as const

describe.runIf(hasBrowser)("everybody", () => {
  const { enter, gateway, visit } = fixture()

  it.each(["narrow", "wide"] as const)(
    "in light and dark, %s: axe finds nothing, and nothing sticks out",
    async (width) => {
      const site = await visit({ viewport: widths[width] })
      await loadAxe(site.page)
      expect(await findingsInBoth(site.page)).toEqual({ light: [], dark: [] })
      await site.signIn(gateway().apiKey)
      await everyPanel(site, gateway())
      for (const place of places) {
        await site.go(place)
        expect([place, await findingsInBoth(site.page)]).toEqual([place, { light: [], dark: [] }])
        const wide = await site.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        expect([place, wide]).toEqual([place, Math.min(0, wide)])
      }
    }
  )

  it.each(["light", "dark"] as const)("in %s, while something runs: axe finds nothing either", async (colorScheme) => {
    const site = await enter({ colorScheme })
    await loadAxe(site.page)
    // The pointer is still over the button that started it.
    const panel = await Panels.renderLong(site)
    expect(await findings(site.page)).toEqual([])
    await panel.getByRole("button", { name: "Cancel" }).click()
    await panel.locator("[data-status='cancelled']").waitFor()
    expect(await findings(site.page)).toEqual([])
  })

  it("can use a panel with the keyboard, and sees the focus", async () => {
    const site = await visit()
    const { keyboard } = site.page
    /** The name of the focused element. Fails if its focus is not visible. */
    const focused = () =>
      site.page.evaluate(() => {
        const element = document.activeElement
        if (!(element instanceof HTMLElement)) return "nothing"
        const labeled = element instanceof HTMLInputElement || element instanceof HTMLSelectElement
        const name =
          element.getAttribute("aria-label") ?? (labeled ? element.labels?.[0]?.innerText : element.innerText) ?? ""
        const { outlineStyle, outlineWidth } = getComputedStyle(element)
        return outlineStyle === "none" || outlineWidth === "0px" ? `${name} (focus not visible)` : name.trim()
      })
    const tabTo = async (name: string) => {
      const passed: Array<string> = []
      for (let presses = 0; presses < 60; presses++) {
        await keyboard.press("Tab")
        const at = await focused()
        expect(at).not.toContain("not visible")
        if (at === name) return passed
        passed.push(at)
      }
      throw new Error(`${name} was not reached, but ${passed.join(", ")}`)
    }

    expect(await tabTo("Skip to the panel")).toEqual([])
    await tabTo("API key")
    await keyboard.type(gateway().apiKey)
    await keyboard.press("Enter")
    await site.page.getByText("Signed in. Renews automatically.").waitFor()
    await site.page.locator("#heading-rerank:focus").waitFor()

    await tabTo("Question")
    await keyboard.press("Control+A")
    await keyboard.type("holidays")
    await tabTo("Remove document 1")
    await keyboard.press("Enter")
    expect(await focused()).toBe("Add a document")
    await keyboard.press("Enter")
    await site.page.locator("[aria-label='Document 4']:focus").waitFor()
    await keyboard.type("Holidays are in summer.")
    await tabTo("Rank")
    await keyboard.press("Enter")
    await site.page.getByText("4 ranked").waitFor()
    // Screen readers announce live regions.
    expect(await site.page.locator("#panel-rerank [role=status]", { hasText: "4 ranked" }).count()).toBe(1)
    expect(await site.page.locator(".ranking li").first().innerText()).toMatch(/olidays/)
    expect(await focused()).toBe("Rank")
  })

  it("chooses light or dark, and the page remembers", async () => {
    const site = await visit({ colorScheme: "light" })
    const background = () => site.page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await background()
    await site.page.getByRole("button", { name: "Dark theme" }).click()
    const toggle = site.page.getByRole("button", { name: "Light theme" })
    await toggle.waitFor()
    const dark = await background()
    expect(dark).not.toBe(light)
    await site.page.reload()
    await toggle.waitFor()
    expect(await background()).toBe(dark)
  })

  it("leaves the words of a transcript with one press of Tab, and moves between them with the arrow keys", async () => {
    const site = await enter()
    const panel = await Panels.transcribe(site)
    const words = panel.locator(".timeline button")
    await panel.locator(".timeline button:not([tabindex='-1'])").focus()
    const focused = () => words.evaluateAll((all) => all.findIndex((word) => word === document.activeElement))
    const { keyboard } = site.page
    expect(await focused()).toBe(0)
    for (const [key, word] of [
      ["ArrowRight", 1],
      ["End", 6],
      ["ArrowRight", 6],
      ["ArrowLeft", 5],
      ["Home", 0]
    ] as const) {
      await keyboard.press(key)
      expect([key, await focused()]).toEqual([key, word])
    }
    await keyboard.press("Tab")
    expect(await focused()).toBe(-1)
  })

  it("sees bars in forced colors", async () => {
    const site = await enter({ forcedColors: "active" })
    const panel = await Panels.rank(site)
    const bar = panel.locator(".ranking .bar").first()
    const png = (await bar.screenshot()).toString("base64")
    // The best result's bar is full: its middle has another color than the card.
    const [filled, card] = await site.page.evaluate(async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
      const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }))
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d")
      context?.drawImage(image, 0, 0)
      const middle = context?.getImageData(image.width / 2, image.height / 2, 1, 1).data ?? []
      return [Array.from(middle).slice(0, 3).join(), getComputedStyle(document.body).backgroundColor]
    }, png)
    expect(card).toMatch(/\d+, \d+, \d+/)
    expect(filled).not.toBe(/\d+, \d+, \d+/.exec(card)?.[0].replaceAll(" ", ""))
  })

  it("sees no layout shift", async () => {
    const site = await enter({ viewport: widths.wide })
    await site.page.evaluate(() => {
      const shifts = { total: 0 }
      Object.assign(globalThis, { shifts })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          if ("value" in entry && "hadRecentInput" in entry && entry.hadRecentInput === false) {
            shifts.total += Number(entry.value)
          }
        }
      }).observe({ type: "layout-shift", buffered: true })
    })
    await everyPanel(site, gateway())
    const total = await site.page.evaluate(
      () => (globalThis as typeof globalThis & { readonly shifts: { readonly total: number } }).shifts.total
    )
    // Up to 0.1 counts as good.
    expect(total).toBeLessThan(0.05)
  })
})
