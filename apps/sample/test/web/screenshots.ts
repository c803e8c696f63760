// Makes screenshots of each panel, light and dark, wide and narrow: pnpm screenshots [folder]
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { chromium } from "playwright-core"
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { serve } from "./support/Gateway.ts"
import * as Panels from "./support/Panels.ts"
import { open, places } from "./support/Site.ts"

const folder = resolve(process.argv[2] ?? "test-results/screenshots")
mkdirSync(folder, { recursive: true })

const options = launchOptions("--autoplay-policy=no-user-gesture-required")
if (options === undefined) throw new Error("There is no Chromium on this machine; npm test says how to get one.")

const browser = await chromium.launch(options)
const gateway = await serve()
try {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [name, viewport] of [
      ["wide", { width: 1440, height: 900 }],
      ["narrow", { width: 360, height: 740 }]
    ] as const) {
      const site = await open(browser, gateway, { colorScheme, viewport })
      const shoot = (what: string) =>
        site.page.screenshot({ path: join(folder, `${what}-${colorScheme}-${name}.png`), fullPage: true })

      await shoot("signed-out")
      await site.signIn(gateway.apiKey)
      await site.go("guardrail")
      await shoot("management-key")
      await Panels.rank(site)
      await Panels.transcribe(site)
      await Panels.makeVideo(site)
      await Panels.storeFile(site)
      await Panels.readKey(site)
      await Panels.assign(site, gateway)
      const program = await site.go("program")
      await program.getByRole("button", { name: "Run all six" }).click()
      await program.getByText("All six steps worked").waitFor({ timeout: 60_000 })
      for (const place of places) {
        await site.go(place)
        await shoot(place)
      }
      const video = await Panels.renderLong(site)
      await shoot("running")
      await video.getByRole("button", { name: "Cancel" }).click()
      await video.locator("[data-status='cancelled']").waitFor()
      await shoot("cancelled")
      const rerank = await site.go("rerank")
      await rerank.getByLabel("Model").selectOption("sandbox/status-402")
      await rerank.getByRole("button", { name: "Rank", exact: true }).click()
      await rerank.getByRole("alert").waitFor()
      await shoot("error")
      await site.close()
      console.log(`${colorScheme}, ${name}: done`)
    }
  }
  console.log(`Screenshots are in ${folder}`)
} finally {
  await gateway.stop()
  await browser.close()
}
