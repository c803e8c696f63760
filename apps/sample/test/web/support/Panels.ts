// Performs the task of each panel and waits for its result.
import type { Locator } from "playwright-core"
import type { Gateway } from "./Gateway.ts"
import type { Site } from "./Site.ts"

const run = async (panel: Locator, button: string) => panel.getByRole("button", { name: button, exact: true }).click()

export const rank = async (site: Site): Promise<Locator> => {
  const panel = await site.go("rerank")
  await run(panel, "Rank")
  await panel.getByText("4 ranked").waitFor()
  return panel
}

export const transcribe = async (site: Site): Promise<Locator> => {
  const panel = await site.go("transcription")
  await run(panel, "Use a dialed number")
  await run(panel, "Transcribe")
  await panel.getByText("7 words").waitFor()
  return panel
}

export const makeVideo = async (site: Site): Promise<Locator> => {
  const panel = await site.go("video")
  await panel.getByLabel("Seconds").fill("2")
  await run(panel, "Make the video")
  // Renders run at a low priority, and other packages are tested meanwhile.
  await panel.getByText("The video is ready").waitFor({ timeout: 100_000 })
  return panel
}

/** Starts a video that takes more than half a minute, and returns while it is being rendered. */
export const renderLong = async (site: Site): Promise<Locator> => {
  const panel = await site.go("video")
  await panel.getByLabel("Seconds").fill("60")
  await panel.getByLabel("Resolution").selectOption("1080p")
  await run(panel, "Make the video")
  await panel.locator("[data-status='in_progress']").waitFor()
  return panel
}

export const storeFile = async (site: Site): Promise<Locator> => {
  const panel = await site.go("files")
  await panel
    .getByLabel("Drop a file here")
    .setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Some notes.\n") })
  await run(panel, "Upload")
  await panel.getByRole("button", { name: "Delete notes.txt" }).first().waitFor()
  return panel
}

export const readKey = async (site: Site): Promise<Locator> => {
  const panel = await site.go("key")
  await run(panel, "Read the key")
  await panel.getByRole("heading", { name: "Limits" }).waitFor()
  return panel
}

export const manage = async (site: Site, gateway: Gateway): Promise<Locator> => {
  const panel = await site.go("guardrail")
  await panel.getByLabel("Management key").fill(gateway.managementKey)
  await run(panel, "Use this key")
  await panel.getByRole("button", { name: "Create guardrail" }).waitFor()
  return panel
}

/** Creates a guardrail and a key, and assigns the key and one that does not exist. */
export const assign = async (site: Site, gateway: Gateway): Promise<Locator> => {
  const panel = await manage(site, gateway)
  await run(panel, "Create guardrail")
  await panel.getByText("Guardrail Interns created").waitFor()
  await run(panel, "Create key")
  await panel.getByText("It is shown only once").waitFor()
  await panel
    .getByRole("checkbox", { name: /Intern 1/ })
    .first()
    .check()
  await panel.getByLabel("Other keys, by their hashes").fill("0".repeat(64))
  await run(panel, "Assign")
  await panel.getByText("Not found", { exact: true }).waitFor()
  return panel
}
