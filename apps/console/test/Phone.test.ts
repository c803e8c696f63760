// Every page of the console on a phone, in dark. Looks.test.ts has the other widths, themes and
// states.
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import * as Pages from "@model-gateway/test-filled/Browser"
import { type Filled, startFilled } from "@model-gateway/test-filled/Filled"
import { isRead, openDetails, views } from "./views.ts"

const look = [[360, "dark"]] as const

describe.runIf(Pages.hasBrowser)("the pages of the console on a phone", () => {
  let browser: Browser
  let gateway: Filled
  beforeAll(async () => {
    ;[browser, gateway] = await Promise.all([Pages.launch(), startFilled()])
  })
  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  it("are accessible and fit, with the details of an item too", async () => {
    const site = await Pages.open(browser, gateway.origin, { width: 360, scheme: "dark" })
    onTestFinished(() => site.close())
    await site.signIn(gateway.managementKey)
    const problems: Array<string> = []
    for (const [name, path] of views) {
      await site.go(path)
      await isRead(site)
      problems.push(...(await site.wrongIn(look, name)))
    }
    for (const name of ["keys", "guardrails", "workspaces", "audit"]) {
      await openDetails(site, name)
      problems.push(...(await site.wrongIn(look, `${name}-details`)))
    }
    expect(problems).toEqual([])
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })
})
