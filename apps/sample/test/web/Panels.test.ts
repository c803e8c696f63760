// Each panel does its work, in a real browser against a real gateway.
import { Files } from "@model-gateway/core"
import type { Locator } from "playwright-core"
import { afterEach, describe, expect, it } from "vitest"
import { fixture, hasBrowser } from "./support/Fixture.ts"
import type { Gateway } from "./support/Gateway.ts"
import * as Panels from "./support/Panels.ts"
import type { Site } from "./support/Site.ts"

/** Deletes the guardrails of other tests. */
const deleteGuardrails = async ({ managementKey, origin }: Gateway) => {
  const headers = { authorization: `Bearer ${managementKey}` }
  const listed = await fetch(`${origin}/api/v1/guardrails`, { headers })
  const { data } = (await listed.json()) as { readonly data: ReadonlyArray<{ readonly id: string }> }
  for (const { id } of data) await fetch(`${origin}/api/v1/guardrails/${id}`, { method: "DELETE", headers })
}

/** Stores and deletes files in the panel, and returns the confirmations. */
const deleteInEachShape = async (site: Site) => {
  const confirmed: Array<string> = []
  for (const shape of Files.DeletionShape.literals) {
    const panel = await Panels.storeFile(site)
    await panel.getByRole("radio", { name: shape }).check()
    const deletion = panel.getByRole("button", { name: "Delete notes.txt" })
    site.page.once("dialog", (question) => void question.dismiss())
    await deletion.click()
    expect(await deletion.count()).toBe(1)
    site.page.once("dialog", (question) => void question.accept())
    await deletion.click()
    const confirmation = panel.locator(".confirmation")
    await confirmation.getByText(`"_shape": "${shape}"`).waitFor()
    confirmed.push(await confirmation.innerText())
    await panel.getByText("No files yet").waitFor()
  }
  return confirmed
}

const confirmations = [`"type": "file_deleted"`, `"deleted": true`, `"type": "file_deleted"`].map((fields): unknown =>
  expect.stringContaining(fields)
)

describe.runIf(hasBrowser)("the panels", () => {
  const { enter, gateway } = fixture()
  let site: Site

  const entered = async (...options: Parameters<typeof enter>) => (site = await enter(...options))

  // No panel caused an error in the console or a request to another origin.
  afterEach(() => {
    expect(site.consoleErrors).toEqual([])
    expect(site.foreignRequests).toEqual([])
  })

  it("rank documents, most relevant first, with bars as long as their scores", async () => {
    const panel = await Panels.rank(await entered())
    const results = panel.locator(".ranking li")
    expect(await results.count()).toBe(4)
    expect(await results.first().innerText()).toContain("To reset a forgotten password")
    const widths = await results
      .locator(".bar > div")
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width))
    expect(widths).toEqual(widths.toSorted((a, b) => b - a))
    expect(widths[0]).toBeGreaterThan((widths[1] ?? 0) + 50)
  })

  it("rank the documents of the form, and return as many as it asks for", async () => {
    await entered()
    const panel = await site.go("rerank")
    await panel.getByLabel("Question").fill("tea")
    await panel.getByRole("button", { name: "Remove document 4" }).click()
    await panel.getByRole("button", { name: "Add a document" }).click()
    await panel.getByRole("textbox", { name: "Document 4" }).fill("Tea is drunk from cups.")
    await panel.getByLabel("Results (top_n)").fill("1")
    await panel.getByRole("button", { name: "Rank", exact: true }).click()
    await panel.getByText("1 ranked").waitFor()
    expect(await panel.locator(".ranking li").allInnerTexts()).toEqual([
      expect.stringContaining("Tea is drunk from cups.")
    ])
  })

  it("transcribe a sample, and show its words along the playback", async () => {
    const panel = await Panels.transcribe(await entered())
    await panel.getByRole("heading", { name: "“555 0199”" }).waitFor()
    const words = panel.locator(".timeline button")
    expect(await words.allInnerTexts()).toEqual(["5", "5", "5", "0", "1", "9", "9"])
    const lefts = await words.evaluateAll((all) => all.map((word) => word.getBoundingClientRect().left))
    expect(lefts).toEqual(lefts.toSorted((a, b) => a - b))

    // From the fifth word on, the highlight follows the playback. A busy machine may skip one word.
    const marked = panel.evaluate((element) => {
      const audio = element.querySelector("audio")
      if (audio === null) return []
      audio.playbackRate = 0.5
      const seen: Array<string> = []
      new MutationObserver(() => {
        const now = Array.from(element.querySelectorAll<HTMLElement>(".timeline [aria-current]"))
        const names = now.map((word) => word.dataset["word"] ?? "").join(" and ")
        if (names !== "" && names !== seen.at(-1)) seen.push(names)
      }).observe(element, { subtree: true, attributes: true, attributeFilter: ["aria-current"] })
      return new Promise<Array<string>>((resolve) => audio.addEventListener("ended", () => resolve(seen)))
    })
    await words.nth(4).click()
    const seen = await marked
    expect(seen.length).toBeGreaterThan(1)
    expect(seen).toEqual(["4", "5", "6"].filter((word) => seen.includes(word)))
  })

  it("accept dropped audio, and reject other files with a message", async () => {
    await entered()
    const panel = await site.go("transcription")
    const transfer = await site.page.evaluateHandle(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File(["no audio"], "letter.txt", { type: "text/plain" }))
      return transfer
    })
    await panel.locator(".dropzone").dispatchEvent("drop", { dataTransfer: transfer })
    await panel.getByText("letter.txt").waitFor()
    await panel.getByRole("button", { name: "Transcribe", exact: true }).click()
    expect(await panel.getByRole("alert").innerText()).toMatch(
      /“letter\.txt” is not in a format that can be transcribed .*Use WAV.*UnsupportedAudio/s
    )
  })

  it("record the microphone, and transcribe that", async () => {
    await entered({ permissions: ["microphone"] })
    const panel = await site.go("transcription")
    await panel.getByRole("button", { name: "Record the microphone" }).click()
    // The browser's fake microphone beeps. Wait until a beep was recorded.
    await site.page.waitForFunction(() => {
      const level = document.querySelector<HTMLElement>(".level > span")
      return level !== null && new DOMMatrix(getComputedStyle(level).transform).a > 0.02
    })
    await panel.getByRole("button", { name: "Stop recording" }).click()
    await panel.getByText("recording.wav").waitFor()
    await panel.getByRole("button", { name: "Transcribe", exact: true }).click()
    expect(await panel.getByText(/s of audio/).innerText()).toMatch(/^[1-9]\d*\.\d s of audio|^0\.[1-9] s of audio/)
  })

  it("make a video, with its states as they happen, and play it", async () => {
    const panel = await Panels.makeVideo(await entered())
    const states = await panel.getByRole("list", { name: "States of the job" }).locator("li").allInnerTexts()
    expect(states[0]).toMatch(/^pending/)
    expect(states.at(-1)).toMatch(/^completed/)

    const video = panel.locator("video")
    const played = await video.evaluate(async (element: HTMLVideoElement) => {
      await element.play()
      await new Promise((resolve) => element.addEventListener("ended", resolve))
      return { source: element.src, duration: element.duration, at: element.currentTime, width: element.videoWidth }
    })
    expect(played.source).toMatch(/^blob:/)
    expect(played.duration).toBeCloseTo(2, 0)
    expect(played.at).toBe(played.duration)
    expect(played.width).toBeGreaterThan(400)

    const download = site.page.waitForEvent("download")
    await panel.getByRole("link", { name: /Download/ }).click()
    expect((await download).suggestedFilename()).toMatch(/\.mp4$/)
  })

  it("cancel a video that is being made", async () => {
    const panel = await Panels.renderLong(await entered())
    await panel.getByRole("button", { name: "Cancel" }).click()
    await panel.locator(".states [data-status='cancelled']").waitFor()
    await panel.getByText("Cancelled", { exact: true }).waitFor()
    expect(await panel.locator("video").count()).toBe(0)
  })

  it("store a file, list it, and delete it with each of the three confirmations", async () => {
    expect(await deleteInEachShape(await entered())).toEqual(confirmations)
  })

  it("draw the key's usage, limit and free requests as meters", async () => {
    await entered()
    const before = await Panels.readKey(site)
    const meter = (panel: typeof before, name: string) => panel.getByRole("meter", { name, exact: true })
    expect(await meter(before, "Free requests today").getAttribute("aria-valuetext")).toBe("0 of 200")

    const rerank = await site.go("rerank")
    await rerank.getByLabel("Model").selectOption("sandbox/bm25:free")
    await rerank.getByRole("button", { name: "Rank", exact: true }).click()
    await rerank.getByText(/, free/).waitFor()
    const after = await Panels.readKey(site)
    await after.getByRole("meter", { name: "Free requests today" }).and(after.locator("[aria-valuenow='1']")).waitFor()
    for (const name of ["All time", "This month", "This week", "Today"]) {
      expect(Number(await meter(after, name).getAttribute("aria-valuenow"))).toBeGreaterThanOrEqual(0)
    }
  })

  it("describe the entered key, before and after a reload", async () => {
    await entered()
    for (const visit of ["typed", "reloaded"]) {
      if (visit === "reloaded") await site.page.reload()
      const text = await (await Panels.readKey(site)).innerText()
      expect([visit, text]).toEqual([visit, expect.stringContaining(`mg_sk_…${gateway().apiKey.slice(-3)}`)])
      expect(text).toMatch(/Expires\s+never/)
    }
  })

  it("bring the results of a long form into view", async () => {
    await entered({ viewport: { width: 1000, height: 600 } })
    const panel = await site.go("rerank")
    for (let added = 0; added < 6; added++) {
      const documents = panel.locator("li textarea")
      const before = await documents.count()
      await panel.getByRole("button", { name: "Add a document" }).click()
      // The page focuses the new document a frame later, and text typed before that goes there.
      await documents.nth(before).and(panel.locator(":focus")).waitFor()
    }
    await panel.getByLabel("Results (top_n)").fill("1")
    await panel.getByLabel("Question").press("Enter")
    const result = panel.locator(".ranking li")
    await result.waitFor()
    await expect
      .poll(() =>
        result.evaluate((element) => {
          const { bottom, top } = element.getBoundingClientRect()
          return top >= 0 && bottom <= innerHeight
        })
      )
      .toBe(true)
  })

  it("draw a spending limit by what is left of it", async () => {
    const created = await fetch(`${gateway().origin}/api/v1/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway().managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "limited", limit: 2, limit_reset: "daily" })
    })
    const { key } = (await created.json()) as { readonly key: string }
    await entered()
    await site.page.getByRole("button", { name: "Sign out" }).click()
    await site.signIn(key)
    const panel = await Panels.readKey(site)
    const limit = panel.getByRole("meter", { name: "Spending limit" })
    expect(await limit.getAttribute("aria-valuetext")).toBe("0 of 2 credits a day")
  })

  it("create a guardrail and a key, assign them, and show what was replaced and not found", async () => {
    await entered()
    const panel = await Panels.assign(site, gateway())
    await panel.getByRole("heading", { name: "Guardrail assigned to 1 key" }).waitFor()
    await panel.getByRole("checkbox", { name: /Intern 1.*guardrail Interns/ }).waitFor()

    await panel.locator("form", { hasText: "New guardrail" }).getByLabel("Name").fill("Seniors")
    await panel.getByRole("button", { name: "Create guardrail" }).click()
    await panel.getByText("Guardrail Seniors created").waitFor()
    await panel.getByRole("button", { name: "Assign", exact: true }).click()
    await panel.getByText("Intern 1 had the guardrail Interns").waitFor()
    await panel.getByRole("checkbox", { name: /Intern 1.*guardrail Seniors/ }).waitFor()
    expect(await panel.getByText("0".repeat(64)).last().innerText()).toBe("0".repeat(64))
  })

  it("create one guardrail and one key when a button is clicked twice", async () => {
    await entered()
    const panel = await Panels.manage(site, gateway())
    const created: Array<string> = []
    site.page.on("response", (response) => {
      if (response.request().method() === "POST") created.push(new URL(response.url()).pathname)
    })
    for (const [button, confirmation] of [
      ["Create guardrail", "Guardrail Interns created"],
      ["Create key", "It is shown only once"]
    ] as const) {
      // Slow enough that the response to the first click arrives before the second click.
      await panel.getByRole("button", { name: button }).dblclick({ delay: 200 })
      await panel.getByText(confirmation).waitFor()
    }
    expect(created).toEqual(["/api/v1/guardrails", "/api/v1/keys"])
  })

  it("list a new key and a new guardrail before the lists are read again", async () => {
    await entered()
    const panel = await Panels.manage(site, gateway())
    // Only this request gets no response.
    await site.page.route(/\/api\/v1\/(keys|guardrails)\?/, () => {})
    await panel.locator("form", { hasText: "New key" }).getByLabel("Name").fill("Early")
    await panel.getByRole("button", { name: "Create key" }).click()
    await panel.getByRole("checkbox", { name: /Early.*no guardrail/ }).waitFor()
    await panel.locator("form", { hasText: "New guardrail" }).getByLabel("Name").fill("Earlier")
    await panel.getByRole("button", { name: "Create guardrail" }).click()
    await panel.getByText("Guardrail Earlier created").waitFor()
    expect(await panel.getByRole("checkbox", { name: /Early.*no guardrail/ }).count()).toBe(1)
    expect(await panel.getByLabel("Guardrail", { exact: true }).locator("option:checked").innerText()).toMatch(
      "Earlier"
    )
  })

  it("remove the problem “Create a guardrail first.” when one was created", async () => {
    await entered()
    await deleteGuardrails(gateway())
    const panel = await Panels.manage(site, gateway())
    await panel.getByRole("button", { name: "Assign", exact: true }).click()
    await panel.getByText("Create a guardrail first.").waitFor()
    await panel.getByRole("button", { name: "Create guardrail" }).click()
    await panel.getByText("Guardrail Interns created").waitFor()
    expect(await panel.getByRole("alert").count()).toBe(0)
  })

  it("drop the transcript of a recording when another one is chosen", async () => {
    const panel = await Panels.transcribe(await entered())
    await panel
      .getByLabel("Drop an audio file here")
      .setInputFiles({ name: "other.wav", mimeType: "audio/wav", buffer: Buffer.alloc(1000) })
    await panel.getByText("other.wav").waitFor()
    expect(await panel.getByRole("heading", { name: "“555 0199”" }).count()).toBe(0)
    expect(await panel.getByText("7 words").count()).toBe(0)
  })

  it("name the chosen file in the browser's own control, however it was chosen", async () => {
    await entered()
    const named = (input: Locator) =>
      input.evaluate((element: HTMLInputElement) => Array.from(element.files ?? [], ({ name }) => name))
    const files = await site.go("files")
    const any = files.getByLabel("Drop a file here")
    await any.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Some notes.\n") })
    await files.getByText("notes.txt").waitFor()
    expect(await named(any)).toEqual(["notes.txt"])

    const audio = await site.go("transcription")
    await audio.getByRole("button", { name: "Use a dialed number" }).click()
    await audio.getByText("dialed.wav").waitFor()
    expect(await named(audio.getByLabel("Drop an audio file here"))).toEqual(["dialed.wav"])
  })

  it("run the whole program, step by step", { timeout: 240_000 }, async () => {
    await entered()
    const panel = await site.go("program")
    await panel.getByRole("button", { name: "Run all six" }).click()
    // No management key was entered yet, so the last step fails.
    await panel.getByText("5 of 6 steps worked").waitFor({ timeout: 100_000 })
    expect(await panel.getByRole("alert").innerText()).toContain(
      "This step needs a management key: enter a management key in the Guardrails panel"
    )

    await Panels.manage(site, gateway())
    await site.go("program")
    await panel.getByRole("button", { name: "Run all six" }).click()
    await panel.getByText("All six steps worked").waitFor({ timeout: 100_000 })
    expect(await panel.locator("[data-state='Done']").count()).toBe(6)
  })
})

describe.runIf(hasBrowser)("the panels of a gateway with the words of OpenRouter's clients", () => {
  const { enter } = fixture("--wire-names", "openrouter")

  it("store a file, list it, and delete it with each of the three confirmations", async () => {
    expect(await deleteInEachShape(await enter())).toEqual(confirmations)
  })
})
