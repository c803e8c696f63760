// The ways to sign in, in a browser on the executable: a link, a key, and a proxy.
import * as Pages from "@model-gateway/test-filled/Browser"
import { executable, start } from "@model-gateway/test-services/GatewayProcess"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"

describe.runIf(Pages.hasBrowser)("the sign-in", () => {
  const folder = mkdtempSync(join(tmpdir(), "console-sign-in-"))
  const proxy = ["--trusted-proxies", "127.0.0.1", "--console-proxy-user-header", "x-forwarded-user"]
  let browser: Browser
  let gateway: ReturnType<typeof start>
  let link = ""
  let key = ""
  beforeAll(async () => {
    gateway = start(process.execPath, [executable, "serve", "--port", "0", "--first-keys", "stdout", ...proxy], {
      cwd: folder
    })
    browser = await Pages.launch()
    ;[, key = ""] = await gateway.prints(/management key +(mg_mk_\w+)\s/)
    ;[, link = ""] = await gateway.prints(/(http\S+#token=\S+)/)
  })
  afterAll(async () => {
    await browser.close()
    await gateway.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A page of a new profile, with what another origin or a script could read of it. */
  const open = async (address: string, headers: Record<string, string> = {}) => {
    const context = await browser.newContext({ extraHTTPHeaders: headers })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(address)
    return { page, context }
  }

  it("by a link works once, and leaves neither token nor key where a script could read it", async () => {
    const { context, page } = await open(link)
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await expect.poll(() => page.getByText("one-time link").count()).toBeGreaterThan(0)
    expect(page.url()).not.toContain("token")
    const readable = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" })
    for (const secret of [cookie?.value ?? "", link.split("=").at(-1) ?? ""]) expect(readable).not.toContain(secret)

    const again = await open(link)
    await again.page.getByText(/The link was used at .*, and it works once/i).waitFor()
    await again.page.getByLabel("Management key").fill(key)
    await again.page.getByRole("button", { name: "Sign in", exact: true }).click()
    await again.page.getByRole("dialog").waitFor({ state: "detached" })
  })

  /** What the API answers to the owner of the management key. */
  const ask = async (path: string, payload?: object) => {
    const response = await fetch(new URL(`/api/v1${path}`, link), {
      ...(payload !== undefined && { method: "POST", body: JSON.stringify(payload) }),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }
    })
    return (await response.json()) as { readonly data: { readonly id: string }; readonly key: string }
  }

  const signIn = async (page: Page, own: string) => {
    const dialog = page.getByRole("dialog", { name: "Sign in to the console" })
    await dialog.getByLabel("Management key").fill(own)
    await dialog.getByRole("button", { name: "Sign in", exact: true }).click()
    await dialog.waitFor({ state: "detached" })
  }

  it("continues what a person did when the session had ended", async () => {
    const { context, page } = await open(new URL("/console/keys", link).href)
    await signIn(page, key)
    await page.getByRole("button", { name: "Create key" }).click()
    const form = page.getByRole("dialog", { name: "Create key" })
    await form.getByLabel("Name").fill("made after the session had ended")
    await context.clearCookies()
    await form.getByRole("button", { name: "Create key" }).click()
    await form.waitFor({ state: "hidden" })
    await signIn(page, key)
    // The form was sent again by itself, and the key was made once.
    expect(await page.locator(".secret code").innerText()).toMatch(/^mg_sk_\w+$/)
    expect(await ask("/keys?search=made%20after")).toMatchObject({ total_count: 1 })
  })

  it("shows another person nothing of what the one before saw", async () => {
    const { data: workspace } = await ask("/workspaces", { name: "Other", slug: "other" })
    const { key: others } = await ask("/keys", {
      name: "Reader of the other workspace",
      workspace_id: workspace.id,
      is_management_key: true,
      role: "viewer",
      workspace_ids: [workspace.id]
    })
    const { context, page } = await open(new URL("/console/keys", link).href)
    await signIn(page, key)
    await page.getByRole("cell", { name: "First key" }).waitFor()
    await context.clearCookies()
    await page.getByRole("link", { name: "Guardrails" }).click()
    await signIn(page, others)
    await page.goBack()
    await page.getByRole("cell", { name: "Reader of the other workspace" }).waitFor()
    expect(await page.getByRole("cell", { name: "First key" }).count()).toBe(0)
    expect(await page.getByRole("button", { name: "Create key" }).count()).toBe(0)
  })

  it("says after 10 seconds that the script did not start, and no longer when it has", async () => {
    for (const path of ["/console/", "/play"]) {
      const { page } = await open("about:blank")
      const sentence = page.locator(".not-started")
      await page.route("**/*.js", (route) => route.abort())
      await page.goto(new URL(path, link).href)
      const isSeenAt = async (ms: number) => {
        await sentence.evaluate((element, at) => {
          for (const animation of element.getAnimations()) animation.currentTime = at
        }, ms)
        return sentence.isVisible()
      }
      expect([path, await isSeenAt(9000), await isSeenAt(10_001)]).toEqual([path, false, true])
      await page.unroute("**/*.js")
      await page.reload()
      await expect.poll(() => sentence.count()).toBe(0)
    }
  })

  it("says why a sign-in elsewhere has failed", async () => {
    const { page } = await open(`${new URL(link).origin}/console/#problem=no_role`)
    await page.getByText(/Your account has no role for the console/).waitFor()
    expect(page.url()).not.toContain("problem")
  })

  it("by a proxy needs one click, again when the session has ended, and the first visit is no error", async () => {
    const { context, page } = await open("about:blank", { "x-forwarded-user": "ada" })
    const errors: Array<string> = []
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text())
    })
    await page.goto(`${new URL(link).origin}/console/`)
    const signIn = page.getByRole("button", { name: "Continue as ada" })
    await signIn.waitFor()
    expect(errors).toEqual([])
    await signIn.click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await expect.poll(() => page.getByText("ada", { exact: true }).count()).toBeGreaterThan(0)

    // A page that has known the session from its start.
    await page.reload()
    await expect.poll(() => page.getByText("ada", { exact: true }).count()).toBeGreaterThan(0)
    await page.waitForLoadState("networkidle")
    await context.clearCookies()
    // The form may be over the page already, if the overview has just read again.
    await page.getByRole("link", { name: "Keys", exact: true }).dispatchEvent("click")
    await signIn.click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.getByRole("cell", { name: "first key", exact: false }).first().waitFor()
  })
})
