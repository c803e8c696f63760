// The session: what is stored of a key, where it is sent, and what a person reads if it is invalid.
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { fixture, hasBrowser } from "./support/Fixture.ts"
import * as Panels from "./support/Panels.ts"

/** Everything that the page has stored. */
const kept = (page: Page) =>
  page.evaluate(() => JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage), document.cookie]))

const keep = (page: Page, key: string, expires_at: string) =>
  page.evaluate((token) => sessionStorage.setItem("model-gateway-token", JSON.stringify(token)), { key, expires_at })

const inTenMinutes = () => new Date(Date.now() + 600_000).toISOString()

/**
 * The browser itself reports each rejected request in the console. The tests cause these on
 * purpose.
 */
const ownErrors = (consoleErrors: ReadonlyArray<string>) =>
  consoleErrors.filter((text) => !text.startsWith("Failed to load resource"))

const noStack = /^\s*at .+:\d+|Error:|\[object|undefined/m

describe.runIf(hasBrowser)("the session", () => {
  const { enter, gateway, visit } = fixture()

  it("sends the entered key to two endpoints only, and stores only the short-lived key", async () => {
    const site = await visit()
    const shown: Array<readonly [path: string, key: string]> = []
    site.page.on("request", (request) => {
      const [key = ""] = /mg_[a-z]k_/.exec(request.headers()["authorization"] ?? "") ?? []
      if (key !== "") shown.push([new URL(request.url()).pathname, key])
    })
    await site.signIn(gateway().apiKey)
    await Panels.rank(site)
    await Panels.assign(site, gateway())

    const paths = (prefix: string) => new Set(shown.filter(([, key]) => key === prefix).map(([path]) => path))
    expect([...paths("mg_sk_")]).toEqual(["/api/v1/key", "/api/v1/keys/ephemeral"])
    expect(paths("mg_ek_")).toContain("/api/v1/rerank")
    expect([...paths("mg_mk_")].filter((path) => !/^\/api\/v1\/(guardrails|keys)/.test(path))).toEqual([])

    const storage = await kept(site.page)
    expect(storage).toContain("mg_ek_")
    // The label of the entered key has an ellipsis after the prefix.
    expect(storage).not.toMatch(/mg_[sm]k_\w/)
    expect(storage).not.toContain(gateway().apiKey.slice(6, -3))
    expect(site.consoleErrors).toEqual([])
  })

  it("survives a reload, and ends when a person signs out", async () => {
    const site = await enter()
    await site.page.reload()
    await site.page.getByText(/^Signed in until \d/).waitFor()
    await Panels.rank(site)

    await site.page.getByRole("button", { name: "Sign out" }).click()
    await site.page.getByLabel("API key").waitFor()
    expect(await kept(site.page)).not.toContain("mg_")
    const panel = await site.go("key")
    await panel.getByRole("button", { name: "Read the key" }).click()
    expect(await panel.getByRole("alert").innerText()).toContain(
      "This step needs a key: enter an API key at the top of the page"
    )
    expect(site.consoleErrors).toEqual([])
  })

  it("renews the short-lived key shortly before it expires", async () => {
    const site = await visit()
    const exchanges: Array<string> = []
    site.page.on("request", (request) => {
      if (request.url().endsWith("/keys/ephemeral")) exchanges.push(request.url())
    })
    await site.signIn(gateway().apiKey)
    const signedIn = Date.now()
    await Panels.rank(site)
    await Panels.readKey(site)
    expect(exchanges).toHaveLength(1)
    const minutes = (count: number) => site.page.clock.setSystemTime(signedIn + count * 60_000)
    await minutes(14)
    await Panels.rank(site)
    expect(exchanges).toHaveLength(1)
    await minutes(14.9)
    const panel = await site.go("key")
    await panel.getByRole("heading", { name: "Limits" }).waitFor()
    await expect.poll(() => exchanges.length).toBe(2)
    expect(site.consoleErrors).toEqual([])
  })

  it("shows that a short-lived key has expired, and asks for a key", async () => {
    // The key expires after one second. The page gets a later time, as if its clock were wrong.
    const made = await fetch(`${gateway().origin}/api/v1/keys/ephemeral`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway().apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ expires_in: 1 })
    })
    const { key } = (await made.json()) as { readonly key: string }
    const status = () =>
      fetch(`${gateway().origin}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } }).then(
        (response) => response.status
      )
    await expect.poll(status, { timeout: 15_000, interval: 300 }).toBe(401)

    const site = await visit()
    await keep(site.page, key, inTenMinutes())
    await site.page.reload()
    await site.page.getByText(/^Signed in until \d/).waitFor()
    const panel = await site.go("rerank")
    await panel.getByRole("button", { name: "Rank", exact: true }).click()
    const alert = await panel.getByRole("alert").innerText()
    expect(alert).toMatch(/^The gateway rejected the key .*: enter an API key at the top of the page/)
    expect(alert).toContain("Unauthorized")
    expect(alert).toMatch(/Request id\s+req_\w+/)
    expect(alert).not.toMatch(noStack)
    await site.page.getByLabel("API key").waitFor()
    expect(ownErrors(site.consoleErrors)).toEqual([])
  })

  it("recognizes a stored key that has expired without a request", async () => {
    const site = await visit()
    await keep(site.page, "mg_ek_old", "2020-01-01T00:00:00Z")
    await site.page.reload()
    await site.page.getByLabel("API key").waitFor()
    expect(site.consoleErrors).toEqual([])
  })

  it("shows which key was rejected", async () => {
    const site = await visit()
    const typed = async (key: string) => {
      await site.page.getByLabel("API key").fill(key)
      await site.page.getByRole("button", { name: "Sign in" }).click()
    }
    const alert = site.page.getByRole("region", { name: "Sign in" }).getByRole("alert")
    await typed("mg_sk_nobody")
    await alert.getByText("The gateway rejected the key").waitFor()
    // A management key cannot be exchanged.
    await typed(gateway().managementKey)
    await alert.getByText("This key is not allowed to do this").waitFor()
    expect(await alert.innerText()).not.toMatch(noStack)
    expect(await kept(site.page)).not.toContain("mg_")
    expect(ownErrors(site.consoleErrors)).toEqual([])
  })

  it("shows the request id and the error's tag", async () => {
    const site = await enter({ permissions: ["clipboard-read", "clipboard-write"] })
    const panel = await site.go("rerank")
    await panel.getByLabel("Model").selectOption("sandbox/status-402")
    const answered = site.page.waitForResponse("**/api/v1/rerank")
    await panel.getByRole("button", { name: "Rank", exact: true }).click()
    const id = (await answered).headers()["x-request-id"]
    const alert = panel.getByRole("alert")
    expect(await alert.innerText()).toMatch(
      /^The key cannot pay for this request .*: add credits[\s\S]*PaymentRequired/
    )
    await alert.getByRole("button", { name: "Copy the request id" }).click()
    await alert.getByText("Copied").waitFor()
    expect(await site.page.evaluate(() => navigator.clipboard.readText())).toBe(id)
  })

  it("shows that the gateway cannot be reached", async () => {
    const site = await enter()
    await site.page.context().setOffline(true)
    const panel = await site.go("key")
    const alert = panel.getByRole("alert")
    await alert.getByText(`Cannot connect to the gateway at ${gateway().origin}/api/v1`).waitFor()
    expect(await alert.innerText()).not.toMatch(noStack)
    await site.page.context().setOffline(false)
    await panel.getByRole("button", { name: "Read the key" }).click()
    await panel.getByRole("heading", { name: "Limits" }).waitFor()
  })
})
