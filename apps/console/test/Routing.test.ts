// The pages of models, providers, provider keys, videos, webhooks, destinations and the system, of
// a filled gateway.
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import * as Api from "@model-gateway/test-filled/Api"
import * as Pages from "@model-gateway/test-filled/Browser"
import { type Filled, startFilled } from "@model-gateway/test-filled/Filled"

describe.runIf(Pages.hasBrowser)("the console's pages of routing and delivery", () => {
  let browser: Browser
  let gateway: Filled
  let api: Api.Api
  beforeAll(async () => {
    ;[browser, gateway] = await Promise.all([Pages.launch(), startFilled()])
    api = Api.connect(gateway.origin)
  })
  afterAll(async () => {
    await browser.close()
    api.close()
    await gateway.stop()
  })

  /** Opens a page of the console as the owner of a management key. */
  const open = async (path: string, key = gateway.managementKey, options?: Pages.OpenOptions) => {
    const site = await Pages.open(browser, gateway.origin, options)
    onTestFinished(() => site.close())
    await site.signIn(key)
    await site.go(`/console/${path}`)
    return site
  }

  /** The JSON that an operation answers to the owner of the management key. */
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await api.send(method, path, { key: gateway.managementKey, body })
    expect([path, answer.status]).toEqual([path, 200])
    return answer.body
  }

  const rows = (site: Pages.Site, table: string) =>
    site.page.getByRole("table", { name: table }).locator(".table-body > .row")

  it("offer a viewer no change", async () => {
    const { viewerKey, workspaces } = gateway.known
    const site = await open(`webhooks?workspace=${workspaces.research}`, viewerKey)
    await rows(site, "Webhook deliveries").first().waitFor()
    const offered = () =>
      site.page.locator("main").getByRole("button", { name: /^(?:Rotate the|Create |Store |Dismiss|Settle|Try )/ })
    expect(await offered().count()).toBe(0)
    for (const [path, table] of [
      ["destinations", "Destinations"],
      ["provider-keys", "Provider keys of"],
      ["system", "Reservations"]
    ] as const) {
      await site.go(`/console/${path}`)
      await rows(site, table).first().waitFor()
      expect([path, await offered().count()]).toEqual([path, 0])
    }
    await site.go(`/console/videos?id=${gateway.videos.pending}`)
    await site.page.getByRole("dialog").getByText("pending").waitFor()
    expect(await site.page.getByRole("button", { name: /Cancel/ }).count()).toBe(0)
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("say what a video costs at the three providers that offer it, as the estimate does", async () => {
    const site = await open("models")
    await site.page.getByLabel("Search models and providers").fill("acme/veo")
    await expect.poll(() => new URL(site.page.url()).searchParams.get("q")).toBe("acme/veo")
    await site.page.reload()
    await expect.poll(() => rows(site, "Models and their providers").count()).toBe(3)
    await site.page.getByRole("button", { name: "acme/veo" }).first().click()
    const dialog = site.page.getByRole("dialog")
    await dialog.getByLabel("Seconds").fill("6")
    await dialog.getByLabel("Resolution").selectOption("1080p")
    const request = { model: "acme/veo", prompt: "A video", duration: 6, resolution: "1080p", generate_audio: true }
    const estimate = await ask("POST", "/estimate", { operation: "video", request })
    const offers = Api.list(estimate, "data", "offers")
    expect(offers).toHaveLength(3)
    const expected = offers.map((offer) => [Api.text(offer, "provider"), String(Api.number(offer, "max_cost"))])
    await expect
      .poll(async () => {
        const cells = await rows(site, "What the request costs at each provider").evaluateAll((found) =>
          found.map((row) => [...row.children].map((cell) => cell.textContent))
        )
        return cells.map(([provider, cost]) => [provider, cost])
      })
      .toEqual(expected)
    await site.page.goBack()
    await dialog.waitFor({ state: "hidden" })
    expect(new URL(site.page.url()).searchParams.get("q")).toBe("acme/veo")
    // The playground says the same beside the button that runs.
    await site.go("/play?operation=video&model=acme/veo")
    await site.page.getByLabel("API key").fill(gateway.key)
    await site.page.getByRole("button", { name: "Use this key" }).click()
    await site.page.getByRole("combobox", { name: "Seconds" }).selectOption("6")
    await site.page.getByLabel("Resolution").selectOption("1080p")
    await site.page.getByText(expected.map((offer) => offer.join(" ")).join(", ")).waitFor()
  })

  it("say which provider is down and since when", async () => {
    const health = await ask("GET", "/providers/health")
    const down = Api.list(health, "data").filter((item) => Api.part(item, "circuit", "state") !== "closed")
    expect(down.map((item) => Api.part(item, "provider"))).toContain("berlin")
    const since = down.map((item) => String(Api.part(item, "circuit", "opened_at"))).toSorted()[0] ?? ""
    const site = await open("providers")
    const card = site.page.getByRole("article", { name: "berlin" })
    await card.getByText(`${since.slice(0, 19).replace("T", " ")} UTC`).waitFor()
    expect(await card.textContent()).toContain("Down")
    await card.getByRole("button", { name: "berlin" }).click()
    await site.page.getByRole("dialog").getByText("Latest failure").first().waitFor()
    expect(site.problems).toEqual({ console: [], policy: [], foreign: [] })
  })

  it("list the videos that a state has, play one, and cancel one", async () => {
    const site = await open("videos?range=30d")
    await site.page.getByLabel("Status").selectOption("failed")
    const failed = await ask("GET", "/videos?workspace_id=all&status=failed&limit=1000")
    const { length } = Api.list(failed, "data")
    await expect.poll(() => rows(site, "Videos").count()).toBe(length)
    await site.page.goBack()
    await expect.poll(() => rows(site, "Videos").count()).toBeGreaterThan(length)
    // The videos of the doubles are not playable.
    const made = await api.call("POST", "/videos", {
      key: gateway.key,
      body: { model: "sandbox/title-card", prompt: "Dawn", duration: 1, resolution: "480p" }
    })
    await site.go(`/console/videos?id=${Api.text(made, "id")}`)
    const video = site.page.locator("video")
    await expect.poll(() => video.evaluate((element) => Number(Reflect.get(element, "duration")))).toBeCloseTo(1, 0)
    await site.go(`/console/videos?id=${gateway.known.videos.completed}`)
    await site.page.getByText("The video cannot be played").waitFor()
    await site.go(`/console/videos?id=${gateway.videos.inProgress}`)
    await site.page.getByRole("button", { name: "Cancel the video" }).click()
    await site.page
      .getByRole("dialog", { name: "Cancel this video?" })
      .getByRole("button", { name: "Cancel the video" })
      .click()
    await site.page.getByRole("dialog", { name: "Video" }).getByText("cancelled").first().waitFor()
    expect(Api.part(await ask("GET", `/videos/${gateway.videos.inProgress}`), "status")).toBe("cancelled")
  })

  it("send a webhook again, and show a new secret once", async () => {
    const site = await open(`webhooks?workspace=${gateway.known.workspaces.research}&status=failed`)
    await rows(site, "Webhook deliveries").first().getByRole("button").click()
    const dialog = site.page.getByRole("dialog")
    const attempts = dialog.locator(".attempt")
    await attempts.first().waitFor()
    const before = await attempts.count()
    await dialog.getByRole("button", { name: "Send it again now" }).click()
    await expect.poll(() => attempts.count()).toBeGreaterThan(before)
    await site.go("/console/webhooks")
    await site.page.getByRole("button", { name: "Rotate the secret" }).click()
    await site.page.getByRole("dialog").getByRole("button", { name: "Rotate the secret" }).click()
    const secret = (await site.page.locator(".secret code").textContent()) ?? ""
    expect(secret).toMatch(/^whsec_/)
    await site.page.getByRole("button", { name: "I have stored the secret" }).click()
    expect(await Pages.placesOf(site.page, secret)).toEqual([])
  })

  it("hide the simulators of errors until they are asked for", async () => {
    const site = await open("models?kind=rerank")
    const models = rows(site, "Models and their providers")
    const simulators = models.filter({ hasText: "sandbox/status-" })
    await models.first().waitFor()
    expect(await simulators.count()).toBe(0)
    await site.page.getByLabel("Simulators of errors").check()
    await expect.poll(() => simulators.count()).toBeGreaterThan(5)
    await site.page.reload()
    await expect.poll(() => simulators.count()).toBeGreaterThan(5)
  })

  it("say that all answers are simulated where no provider has a key", async () => {
    const site = await open("system")
    const note = site.page.locator("header").getByText("Sandbox only")
    await rows(site, "Reservations").first().waitFor()
    expect(await note.count()).toBe(0)
    let storedKeys = 1
    await site.page.route("**/console/api/providers", async (route) => {
      const answer = await route.fetch()
      const { data } = (await answer.json()) as { readonly data: ReadonlyArray<{ readonly slug: string }> }
      await route.fulfill({ response: answer, json: { data: data.filter(({ slug }) => slug === "sandbox") } })
    })
    await site.page.route("**/console/api/byok?*", (route) =>
      route.fulfill({ json: { data: [], total_count: storedKeys } })
    )
    await Promise.all([site.page.waitForResponse(/\/byok\?/), site.page.reload()])
    await rows(site, "Reservations").first().waitFor()
    expect(await note.count()).toBe(0)
    storedKeys = 0
    await site.page.reload()
    await note.waitFor()
  })

  it("create, test, pause and delete a destination", async () => {
    const site = await open("destinations")
    await site.page.getByRole("button", { name: "Create destination" }).first().click()
    const form = site.page.getByRole("dialog")
    await form.getByLabel("Name").fill("Warehouse 2")
    await form.getByLabel("Type").selectOption("webhook")
    await form.getByRole("textbox", { name: "URL" }).fill(`https://localhost:${gateway.known.receiverPort}/ok`)
    await form.getByLabel("Share of events").fill("7")
    await form.getByRole("button", { name: "Create destination" }).click()
    await form.locator(".field").getByText("Expected a value between 0.0001 and 1").waitFor()
    await form.getByLabel("Share of events").fill("0.5")
    await form.getByRole("button", { name: "Add a rule" }).click()
    expect(await form.getByRole("button", { name: "Create destination" }).isDisabled()).toBe(true)
    await form.getByLabel("Field, rule 1 of group 1").selectOption("total_cost")
    await form.getByLabel("Comparison, rule 1 of group 1").selectOption("gt")
    await form.getByLabel("Value, rule 1 of group 1").fill("0.1")
    await form.getByRole("button", { name: "Create destination" }).click()
    await site.page.getByRole("button", { name: "I have stored the secret" }).click()
    await site.page.getByRole("button", { name: "Warehouse 2" }).click()
    const dialog = site.page.getByRole("dialog", { name: "Warehouse 2" })
    await dialog.getByText("Cost in credits is more than 0.1").waitFor()
    const { data } = (await ask("GET", "/observability/destinations")) as {
      readonly data: ReadonlyArray<{ readonly name: string; readonly filter_rules: unknown }>
    }
    expect(data.find(({ name }) => name === "Warehouse 2")?.filter_rules).toEqual({
      groups: [{ rules: [{ field: "total_cost", operator: "gt", value: 0.1 }] }]
    })
    await dialog.getByRole("button", { name: "Send a test event" }).click()
    await dialog.getByText("The test event was accepted").waitFor()
    await dialog.getByRole("button", { name: "Pause" }).click()
    await dialog.getByText("Paused").waitFor()
    await dialog.getByRole("button", { name: "Delete" }).click()
    const confirm = site.page.getByRole("dialog", { name: "Delete destination Warehouse 2" })
    expect(await confirm.getByRole("button", { name: "Delete destination" }).isDisabled()).toBe(true)
    await confirm.getByLabel("Type Warehouse 2 to confirm").fill("Warehouse 2")
    await confirm.getByRole("button", { name: "Delete destination" }).click()
    await expect.poll(() => rows(site, "Destinations").filter({ hasText: "Warehouse 2" }).count()).toBe(0)
  })

  it("create an alert from a template, test, disable and delete it", async () => {
    const site = await open("alerts")
    await site.page.getByRole("button", { name: "Create alert" }).first().click()
    const form = site.page.getByRole("dialog")
    await form.getByLabel("Template").selectOption("key_expires")
    await form.getByLabel("Name").fill("Keys that end")
    await form.getByLabel("Fires so many days before").fill("0")
    await form.getByRole("textbox", { name: "URL" }).fill(`https://localhost:${gateway.known.receiverPort}/ok`)
    await form.getByRole("button", { name: "Create alert" }).click()
    await form.locator(".problem").waitFor()
    await form.getByLabel("Fires so many days before").fill("30")
    await form.getByRole("button", { name: "Create alert" }).click()
    await site.page.getByRole("button", { name: "Keys that end" }).click()
    const dialog = site.page.getByRole("dialog", { name: "Keys that end" })
    await dialog.getByRole("button", { name: "Send a test" }).click()
    await dialog.getByText("The test is on its way").waitFor()
    const alerts = await ask("GET", "/alerts")
    expect(Api.part(Api.list(alerts, "data")[0], "threshold")).toBe(30)
    await dialog.getByRole("button", { name: "Disable" }).click()
    await dialog.getByText("Disabled").waitFor()
    await dialog.getByRole("button", { name: "Delete" }).click()
    const confirm = site.page.getByRole("dialog", { name: "Delete alert Keys that end" })
    await confirm.getByLabel("Type Keys that end to confirm").fill("Keys that end")
    await confirm.getByRole("button", { name: "Delete alert" }).click()
    await expect.poll(() => rows(site, "Alerts").count()).toBe(0)
    await site.page.getByRole("button", { name: "Firings" }).click()
    await expect.poll(() => new URL(site.page.url()).searchParams.get("view")).toBe("firings")
    expect(site.problems.policy).toEqual([])
  })

  it("store provider keys and change the order in which they are tried", async () => {
    const site = await open("provider-keys")
    for (const name of ["First account", "Second account"]) {
      await site.page.getByRole("button", { name: "Store provider key" }).first().click()
      const form = site.page.getByRole("dialog")
      await form.getByLabel("Provider", { exact: true }).selectOption("cohere")
      await form.getByLabel("Key of the provider").fill("key-of-an-account-0123456789")
      await form.getByLabel("Name (optional)").fill(name)
      await form.getByRole("button", { name: "Store provider key" }).click()
      await form.waitFor({ state: "hidden" })
    }
    expect(await Pages.placesOf(site.page, "key-of-an-account-0123456789")).toEqual([])
    const table = "Provider keys of cohere, in the order in which they are tried"
    const names = () => rows(site, table).evaluateAll((found) => found.map((row) => row.children[0]?.textContent ?? ""))
    await expect.poll(async () => (await names()).slice(-2)).toEqual(["First account", "Second account"])
    await site.page.getByRole("button", { name: "Try Second account earlier" }).click()
    await expect.poll(async () => (await names()).slice(-2)).toEqual(["Second account", "First account"])
    await site.page.reload()
    await expect.poll(async () => (await names()).slice(-2)).toEqual(["Second account", "First account"])
    await site.page.getByRole("button", { name: "First account", exact: true }).click()
    const dialog = site.page.getByRole("dialog", { name: "First account" })
    await dialog.getByRole("button", { name: "Test", exact: true }).click()
    await dialog.getByText("The provider refuses the key").waitFor()
  })

  it("dismiss what a crash left, and say where a setting comes from", async () => {
    const site = await open("system")
    const left = rows(site, "Reservations")
    await left.first().waitFor()
    const before = await left.count()
    await site.page.getByRole("button", { name: `Dismiss ${gateway.known.abandonedReservation}` }).click()
    await site.page.getByRole("dialog").getByRole("button", { name: "Dismiss" }).click()
    await expect.poll(() => left.count()).toBe(before - 1)
    await site.page.getByLabel("Search settings").fill("data-dir")
    await expect.poll(() => rows(site, "Settings in force").count()).toBe(1)
    expect(await rows(site, "Settings in force").textContent()).toContain("--data-dir")
  })

  it("show who is signed in, and end a session", async () => {
    const other = await open("overview", gateway.known.viewerKey)
    await other.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    const site = await open("system")
    const count = Api.part(await ask("GET", "/console/sessions"), "data", "length")
    const sessions = rows(site, "Sessions of the console")
    await sessions.first().waitFor()
    expect(await sessions.count()).toBe(count)
    expect(await sessions.filter({ hasText: "(you)" }).count()).toBe(1)
    const viewers = sessions.filter({ hasText: "viewer" })
    const before = await viewers.count()
    await viewers
      .first()
      .getByRole("button", { name: /^End the session of / })
      .click()
    await site.page.getByRole("dialog").getByRole("button", { name: "End session" }).click()
    await expect.poll(() => viewers.count()).toBe(before - 1)
    // Of several viewers, the one that was used last is the first.
    await other.page.getByRole("link", { name: "Usage", exact: true }).click()
    await other.page.getByRole("dialog", { name: "Sign in to the console" }).waitFor()
  })
})
