// Keys, guardrails, workspaces with their credits, and the audit log, in a browser on a gateway
// with a month of use.
import * as Pages from "@model-gateway/test-filled/Browser"
import { type Filled, startFilled } from "@model-gateway/test-filled/Filled"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"

describe.runIf(Pages.hasBrowser)("the pages about access", () => {
  let browser: Browser
  let gateway: Filled
  beforeAll(async () => {
    ;[browser, gateway] = await Promise.all([Pages.launch(), startFilled()])
  })
  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  const open = async (path: string, key = gateway.managementKey, options?: Pages.OpenOptions) => {
    const site = await Pages.open(browser, gateway.origin, options)
    onTestFinished(() => site.close())
    await site.signIn(key)
    await site.go(`/console/${path}`)
    return site
  }

  /** What the API answers to the management key. */
  const api = async <A>(path: string, key = gateway.managementKey): Promise<A> => {
    const response = await fetch(`${gateway.origin}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
    const body: unknown = await response.json()
    expect(response.status, JSON.stringify(body)).toBe(200)
    return body as A
  }

  const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true }).last()
  const row = (page: Page, name: string) =>
    page.getByRole("row").filter({ has: page.getByRole("button", { name, exact: true }) })
  /** The text of a fact in the panel. */
  const fact = (page: Page, name: string) => page.locator(`dt:text-is("${name}") + dd`)

  interface Key {
    readonly hash: string
    readonly name: string
    readonly usage_monthly: number
    readonly disabled: boolean
    readonly limit: number | null
    readonly guardrail_id: string | null
  }
  const keyOf = async (name: string): Promise<Key | undefined> =>
    (await api<{ data: ReadonlyArray<Key> }>(`/keys?include_disabled=true&search=${name}`)).data.find(
      (key) => key.name === name
    )

  it("searches and sorts all keys, in the address", async () => {
    const { page } = await open("keys")
    const { total_count } = await api<{ total_count: number }>("/keys?include_disabled=true&limit=1")
    await page.getByText(`${total_count} keys`, { exact: true }).waitFor()
    await page.getByLabel("Search keys by name or label").fill("intern")
    await page.getByText("4 keys", { exact: true }).waitFor()
    await page.getByLabel("Order of the keys").selectOption("usage")
    await page.waitForURL(/q=intern.*sort=usage/)
    await page.reload()
    await page.getByText("4 keys", { exact: true }).waitFor()
    const { data } = await api<{ data: ReadonlyArray<Key> }>("/keys?include_disabled=true&search=intern&sort=usage")
    expect(await page.locator("button.open").allTextContents()).toEqual(data.map(({ name }) => name))
    await page.goBack()
    await expect.poll(() => page.getByLabel("Order of the keys").inputValue()).toBe("")
    expect(await page.getByLabel("Search keys by name or label").inputValue()).toBe("intern")
  })

  it("says who created a key and when, and leads to the entry of the audit log", async () => {
    const { hash } = gateway.known.expiringKey
    const { page } = await open("overview")
    await page.getByLabel("Find by id").fill(hash)
    await page.getByLabel("Find by id").press("Enter")
    const { data } = await api<{
      data: ReadonlyArray<{ id: string; created_at: string; request_id: string }>
    }>(`/audit?target=${hash}&action=createKey`)
    const key = await api<{ data: { created_at: string } }>(`/keys/${hash}`)
    const text = (at = "none") => at.slice(0, 19).replace("T", " ")
    await fact(page, "Created").getByText("First management key").waitFor()
    expect(await fact(page, "Created").innerText()).toContain(text(key.data.created_at))
    await page.getByText("entry in the audit log").click()
    await page.getByRole("dialog", { name: "Created a key" }).waitFor()
    // The key was created before the range of the page, so the entry is read by its id.
    expect(await fact(page, "When").innerText()).toContain(text(data[0]?.created_at))
    expect(await fact(page, "Request").innerText()).toBe(data[0]?.request_id)
    await page.getByText("No other change in this range.").waitFor()
  })

  it("creates a key with a limit and a guardrail, shows it once, and its command works", async () => {
    const site = await open("keys")
    const { page } = site
    await button(page, "Create key").click()
    await page.getByLabel("Name", { exact: true }).fill("made-here")
    await page.getByLabel("Limit in credits").fill("2.5")
    await page.getByLabel("The limit resets").selectOption("weekly")
    await page.getByRole("dialog").getByLabel("Guardrail").selectOption({ label: "Interns" })
    await button(page, "Create key").click()
    const secret = await page.locator(".secret code").innerText()
    expect(secret).toMatch(/^mg_sk_\w+$/)
    const command = await page.locator("dialog pre").innerText()
    const body = /-d '(.*)'$/.exec(command)?.[1] ?? ""
    expect(command).toContain(`curl ${gateway.origin}/api/v1/rerank`)
    const response = await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body
    })
    expect(await response.text()).toContain("results")
    expect(response.status).toBe(200)
    // Escape does not lose a key that was not copied.
    await page.keyboard.press("Escape")
    await button(page, "I have stored the key").click()
    expect(await Pages.placesOf(page, secret)).toEqual([])
    expect(await keyOf("made-here")).toMatchObject({ limit: 2.5, guardrail_id: gateway.known.guardrails.interns })
    await row(page, "made-here").getByText("Interns").waitFor()
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("changes, disables, rotates and deletes a key", async () => {
    const { page } = await open("keys?q=faq-ranker")
    await page.getByRole("button", { name: "faq-ranker", exact: true }).click()
    await button(page, "Edit").click()
    await page.getByLabel("Limit in credits").fill("-1")
    await button(page, "Save").click()
    await page.locator(".field .issue").getByText("0").waitFor()
    await page.getByLabel("Limit in credits").fill("7")
    await button(page, "Save").click()
    await fact(page, "Limit").getByText("7 credits").waitFor()
    await button(page, "Disable").click()
    await fact(page, "State").getByText("Disabled").waitFor()
    expect(await keyOf("faq-ranker")).toMatchObject({ disabled: true, limit: 7 })
    await button(page, "Enable").click()
    await fact(page, "State").getByText("Active").waitFor()

    const before = gateway.known.keys.find(({ name }) => name === "faq-ranker")?.key ?? ""
    await button(page, "Rotate").click()
    await page.getByLabel("How long the present secret is still accepted").selectOption("0")
    await button(page, "Rotate key").click()
    const secret = await page.locator(".secret code").innerText()
    await page.getByText("no longer accepted").waitFor()
    const statusOf = async (key: string) =>
      (await fetch(`${gateway.origin}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } })).status
    expect([await statusOf(before), await statusOf(secret)]).toEqual([401, 200])
    await button(page, "I have stored the key").click()

    await button(page, "Delete").click()
    const confirm = button(page, "Delete key")
    await page.getByLabel("Type faq-ranker to confirm").fill("faq-ranke")
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel("Type faq-ranker to confirm").fill("faq-ranker")
    await confirm.click()
    await page.getByText('No key has "faq-ranker" in its name or label.').waitFor()
    expect(await keyOf("faq-ranker")).toBeUndefined()
  })

  it("shows how much of its limit a guardrail has used, and who loses what before a change", async () => {
    const { page } = await open("guardrails")
    interface Guardrail {
      readonly limit_usd: number
      readonly limit_remaining: number
      readonly ignored_models: ReadonlyArray<string>
    }
    const of = async (id: string) => (await api<{ data: Guardrail }>(`/guardrails/${id}`)).data
    const { limit_remaining, limit_usd } = await of(gateway.known.guardrails.production)
    const share = ((limit_usd - limit_remaining) / limit_usd) * 100
    expect(await row(page, "Production").innerText()).toContain(`(${Math.round(share * 10) / 10}%)`)

    await page.getByRole("button", { name: "No video", exact: true }).click()
    await button(page, "Edit").click()
    await page.getByLabel("Find models").fill("rerank")
    await button(page, "Forbid acme/rerank").click()
    const preview = page.locator(".preview")
    await preview.getByText("load-test").waitFor()
    const hash = gateway.known.keys.find(({ name }) => name === "load-test")?.hash
    const { data } = await api<{
      data: ReadonlyArray<{ model: string; provider_name: string; requests: number }>
    }>(`/activity?api_key_hash=${hash}`)
    const used = new Map<string, number>()
    for (const { model, provider_name, requests } of data.filter((item) => item.model === "acme/rerank")) {
      used.set(`${model} at ${provider_name}`, (used.get(`${model} at ${provider_name}`) ?? 0) + requests)
    }
    expect(used.size).toBeGreaterThan(0)
    const text = await preview.locator("li").filter({ hasText: "load-test" }).first().innerText()
    for (const [what, requests] of used) expect(text).toContain(`${what}: ${requests} request`)
    await button(page, "Save").click()
    await fact(page, "Models").getByText("acme/rerank").waitFor()
    expect((await of(gateway.known.guardrails.noVideo)).ignored_models).toEqual([
      "acme/veo",
      "acme/film",
      "acme/rerank"
    ])
  })

  it("assigns several keys to a new guardrail and removes one", async () => {
    const { page } = await open("guardrails")
    await button(page, "Create guardrail").click()
    await page.getByLabel("Name", { exact: true }).fill("Made here")
    await page.getByRole("group", { name: "Models" }).getByLabel("Its keys may use").selectOption("some")
    await page.getByLabel("Find models").fill("sandbox")
    await button(page, "Allow sandbox/*").click()
    await button(page, "Create guardrail").click()
    await fact(page, "Models").getByText("sandbox/*").waitFor()
    await button(page, "Assign keys").click()
    await page.getByLabel("Search keys by name or label").last().fill("mobile")
    await page.getByLabel(/^mobile-ios/).check()
    await page.getByLabel(/^mobile-android/).check()
    await page.getByText("2 keys leave another one").waitFor()
    await button(page, "Assign 2 keys").click()
    await page.getByRole("heading", { name: "Keys (2)" }).waitFor()
    await page.getByLabel("Choose mobile-ios").check()
    await button(page, "Remove 1").click()
    await button(page, "Remove 1 key").click()
    await page.getByRole("heading", { name: "Keys (1)" }).waitFor()
    expect((await keyOf("mobile-ios"))?.guardrail_id).toBeNull()
    expect((await keyOf("mobile-android"))?.guardrail_id).toEqual(expect.any(String))
  })

  it("shows spend and credits of the workspaces, adds and corrects credits, and says what forbids a deletion", async () => {
    const { page } = await open("workspaces?range=7d")
    interface Sum {
      readonly workspace_id: string
      readonly usage: number
    }
    const { support } = gateway.known.workspaces
    const credits = async () => (await api<{ data: { credits: number } }>(`/workspaces/${support}`)).data.credits
    const from = new Date(Math.floor((Date.now() - 7 * 86_400_000) / 86_400_000) * 86_400_000).toISOString()
    const { data } = await api<{ data: ReadonlyArray<Sum> }>(`/activity?interval=day&group_by=workspace&from=${from}`)
    const spend = data.reduce((sum, { usage, workspace_id }) => sum + (workspace_id === support ? usage : 0), 0)
    const shown = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(spend)
    await row(page, "Support").getByRole("cell", { name: shown, exact: true }).waitFor()
    // It runs out first.
    await button(page, "Credits last").click()
    await button(page, "Credits last").click()
    expect(await page.locator("button.open").first().innerText()).toBe("Support")

    const before = await credits()
    await page.getByRole("button", { name: "Support", exact: true }).click()
    await button(page, "Add credits").click()
    await page.getByLabel("Credits to add").fill("12")
    await page.getByLabel("Note").fill("Invoice 7")
    await button(page, "Add credits").click()
    await page.getByRole("row").filter({ hasText: "+12.00" }).getByText("Invoice 7").waitFor()
    await button(page, "Correct credits").click()
    await page.getByLabel("Credits to take away").fill("2")
    expect(await button(page, "Take away").isDisabled()).toBe(true)
    await page.getByLabel("Note").fill("Invoice 7 was for 10")
    await button(page, "Take away").click()
    await page.getByRole("row").filter({ hasText: "Invoice 7 was for 10" }).getByText("Correction").waitFor()
    expect(await credits()).toBeCloseTo(before + 10, 5)

    await button(page, "Delete").click()
    await page.getByLabel("Type Support to confirm").fill("Support")
    await button(page, "Delete workspace").click()
    await page.getByText("The workspace has API keys").waitFor()
    await page.locator("dialog .note").getByRole("link", { name: /keys$/ }).click()
    await page.waitForURL(new RegExp(`/console/keys\\?.*workspace=${support}`))
  })

  it("filters the audit log in the address, and shows an entry with what was before and after", async () => {
    const { page } = await open("audit?range=30d")
    const from = new Date(Date.now() - 30 * 86_400_000).toISOString()
    const { data } = await api<{ data: ReadonlyArray<unknown> }>(`/audit?action=updateKey&from=${from}`)
    await page.getByLabel("Action").selectOption({ label: "Changed a key" })
    await expect.poll(() => page.locator("button.open").count()).toBe(data.length)
    await page.waitForURL(/action=updateKey/)
    await page.getByLabel(/^Target/).fill(gateway.known.disabledKey.hash)
    await expect.poll(() => page.locator("button.open").count()).toBe(1)
    await page.getByRole("row").filter({ hasText: "disabled: no → yes" }).locator("button.open").click()
    const difference = page.getByRole("region", { name: "What was changed" }).getByRole("row", { name: /^disabled/ })
    expect(await difference.getByRole("cell").allTextContents()).toEqual(["no", "yes"])
    await page.reload()
    await difference.waitFor()
    await fact(page, "Target").getByText("old-mobile").click()
    await page.getByRole("dialog", { name: "old-mobile" }).waitFor()
  })

  it("narrows the audit log to a management key by its name", async () => {
    const { page } = await open("audit?range=30d")
    const who = page.getByLabel("Who", { exact: true })
    await who.selectOption({ label: "Command line" })
    await page.getByText("No entry matches these filters in the range.").waitFor()
    await who.selectOption({ label: "First management key" })
    await page.getByRole("row").filter({ hasText: "Created a destination" }).first().waitFor()
    const { data } = await api<{ data: ReadonlyArray<{ actor: string }> }>("/audit?limit=1&action=createDestination")
    expect(new URL(page.url()).searchParams.get("actor")).toBe(data[0]?.actor)
  })

  it("saves the changes of the filter as CSV", async () => {
    const { page } = await open("audit?range=30d&action=updateKey")
    const [file] = await Promise.all([page.waitForEvent("download"), button(page, "CSV").click()])
    const lines: Array<string> = []
    for await (const chunk of await file.createReadStream()) lines.push(String(chunk))
    const [head, ...rows] = lines.join("").trimEnd().split("\r\n")
    expect(head?.split(",").slice(0, 3)).toEqual(["created_at", "actor", "actor_label"])
    expect(rows.length).toBe(await page.locator("button.open").count())
    expect(rows.join("\n")).toContain(gateway.known.disabledKey.hash)
  })

  it("offers a viewer no change, and the audit log not to whoever sees some workspaces only", async () => {
    const { viewerKey, operatorKey } = gateway.known
    const { page } = await open("keys", viewerKey)
    await page.locator("button.open").first().click()
    await fact(page, "State").waitFor()
    const names = ["Create key", "Edit", "Disable", "Rotate", "Delete"]
    for (const name of names) expect(await page.getByRole("button", { name, exact: true }).count(), name).toBe(0)
    const operator = await open("audit", operatorKey)
    await operator.page.getByText("The audit log is about all workspaces").waitFor()
    await operator.go("/console/workspaces")
    await operator.page.getByRole("button", { name: "Research", exact: true }).click()
    await button(operator.page, "Add credits").waitFor()
    expect(await operator.page.getByRole("button", { name: "Edit", exact: true }).count()).toBe(0)
  })
})
