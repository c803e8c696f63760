// The script of deploy/migrate, with lists in the formats that the other gateways document.
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"

const script = fileURLToPath(new URL("../../../deploy/migrate/keys.mjs", import.meta.url))

const folder = mkdtempSync(join(tmpdir(), "migrate-"))
let gateway: Gateway | undefined

beforeAll(async () => {
  gateway = await startGateway(folder)
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const env = {
      MODEL_GATEWAY_BASE_URL: `${gateway?.origin}/api/v1`,
      MODEL_GATEWAY_MANAGEMENT_KEY: gateway?.managementKey
    }
    execFile(process.execPath, [script, ...args], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, stdout, stderr })
    )
  })

const file = (name: string, list: unknown): string => {
  writeFileSync(join(folder, name), JSON.stringify(list))
  return name
}

/** The key that the line of the file has, as the gateway describes it to its holder. */
const created = async (out: string): Promise<ReadonlyArray<unknown>> => {
  const lines = readFileSync(join(folder, out), "utf8").trim().split("\n")
  return Promise.all(
    lines.map(async (line) => {
      const { key } = JSON.parse(line) as { readonly key: string }
      const response = await fetch(`${gateway?.origin}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } })
      return ((await response.json()) as { readonly data: unknown }).data
    })
  )
}

const litellm = {
  keys: [
    {
      token: "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
      key_name: "sk-...vZQQ",
      key_alias: "search-team",
      spend: 12.5,
      max_budget: 100,
      budget_duration: "30d",
      budget_reset_at: "2099-01-01T00:00:00Z",
      expires: "2099-06-01T10:30:00Z",
      models: ["gpt-4o"],
      user_id: "user-1",
      team_id: null,
      rpm_limit: 100,
      blocked: null
    },
    {
      token: "b",
      key_name: "sk-...1",
      key_alias: "once",
      spend: 0.25,
      max_budget: 1,
      budget_duration: null,
      models: []
    },
    { token: "c", key_name: "sk-...2", key_alias: "odd", spend: 0, max_budget: 5, budget_duration: "12h", models: [] },
    { token: "d", key_name: "sk-...3", key_alias: "blocked", spend: 0, max_budget: null, blocked: true },
    { token: "e", key_name: "sk-...4", key_alias: "old", spend: 0, max_budget: null, expires: "2024-04-15T10:30:00" }
  ],
  total_count: 5,
  current_page: 1,
  total_pages: 1
}

it("issues the keys of LiteLLM with their budgets, and says what it cannot take over", async () => {
  const list = file("litellm.json", litellm)
  const planned = await run("--from", "litellm", list)
  expect(planned).toEqual({
    code: 0,
    stderr: "",
    stdout: [
      "search-team: would be created, 100 credits monthly, until 2099-06-01T10:30:00.000Z",
      "  it may use only gpt-4o: assign a guardrail",
      "  its rate limits are not taken over",
      "once: would be created, 0.75 credits",
      "odd: would be created, 5 credits",
      "  its budget resets every 12h, which this gateway cannot: it never resets",
      "blocked: skipped, because it is switched off",
      "old: skipped, because it has expired",
      "Nothing was created. --out FILE creates the keys and writes them there.",
      ""
    ].join("\n")
  })
  await run("--from", "litellm", list, "--out", "a.jsonl")
  expect(statSync(join(folder, "a.jsonl")).mode & 0o777).toBe(0o600)
  expect(await created("a.jsonl")).toMatchObject([
    { limit: 100, limit_reset: "monthly", expires_at: "2099-06-01T10:30:00.000Z" },
    { limit: 0.75, limit_reset: null },
    { limit: 5, limit_reset: null }
  ])
  const again = await run("--from", "litellm", list, "--out", "a.jsonl")
  expect(again.stdout).toContain("search-team: created before")
  expect(await created("a.jsonl")).toHaveLength(3)

  // A disk that was full cut the last line off.
  const path = join(folder, "a.jsonl")
  writeFileSync(path, readFileSync(path).subarray(0, -20))
  const resumed = await run("--from", "litellm", list, "--out", "a.jsonl")
  expect(resumed.stdout).toContain("Line 3 of a.jsonl is cut off. Its key is created again")
  const lines = readFileSync(path, "utf8").trim().split("\n")
  expect(lines).toHaveLength(4)
  expect(JSON.parse(lines[3] ?? "")).toMatchObject({ source: "c" })
})

it("creates a key that two pages have once, and none if the file cannot be written", async () => {
  const { data } = (await (
    await fetch(`${gateway?.origin}/api/v1/keys`, { headers: { authorization: `Bearer ${gateway?.managementKey}` } })
  ).json()) as { readonly data: ReadonlyArray<unknown> }
  const list = file("page.json", [{ token: "p", key_alias: "page", spend: 0, max_budget: 1 }])
  const refused = await run("--from", "litellm", list, "--out", "none/a.jsonl")
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^none\/a\.jsonl cannot be written to: /)])
  const { stdout } = await run("--from", "litellm", list, list, "--out", "pages.jsonl")
  expect(stdout).toBe("page: created, 1 credits\npage: created before\n")
  const after = (await (
    await fetch(`${gateway?.origin}/api/v1/keys`, { headers: { authorization: `Bearer ${gateway?.managementKey}` } })
  ).json()) as { readonly data: ReadonlyArray<unknown> }
  expect(after.data.length).toBe(data.length + 1)
})

it("issues the keys of Portkey", async () => {
  const list = file("portkey.json", {
    total: 1,
    object: "list",
    data: [
      {
        id: "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        key: "Xk*******S4",
        name: "Development API Key",
        type: "organisation-service",
        workspace_id: "ws-myworkspace",
        user_id: "c3d4e5f6-a7b8-6c7d-0e1f-2a3b4c5d6e7f",
        status: "active",
        rate_limits: [{ type: "requests", unit: "rpm", value: 100 }],
        usage_limits: { credit_limit: 10, periodic_reset: "monthly", alert_threshold: 8 },
        defaults: { config_id: "config-abc" },
        expires_at: "2099-11-07T05:31:56Z",
        object: "api-key"
      }
    ]
  })
  const { stdout } = await run("--from", "portkey", list, "--out", "b.jsonl")
  expect(stdout).toContain("Development API Key: created, 10 credits monthly, until 2099-11-07T05:31:56.000Z")
  expect(stdout).toContain("its config config-abc is not taken over")
  expect(await created("b.jsonl")).toMatchObject([{ limit: 10, limit_reset: "monthly" }])
})

it("issues the keys of OpenRouter, with what is left of a limit that never resets", async () => {
  const key = {
    hash: "f01d52606dc8f0a8303a7b5cc3fa07109c2e346cec7c0a16b40de462992ce943",
    name: "My Production Key",
    label: "sk-or-v1-0e6...1c96",
    disabled: false,
    limit: 100,
    limit_remaining: 74.5,
    limit_reset: "monthly",
    include_byok_in_limit: true,
    usage: 25.5,
    created_at: "2025-08-24T10:30:00Z",
    updated_at: "2025-08-24T15:45:00Z"
  }
  const list = file("openrouter.json", { data: [key, { ...key, hash: "2", name: "Total", limit_reset: null }] })
  await run("--from", "openrouter", list, "--out", "c.jsonl")
  expect(await created("c.jsonl")).toMatchObject([
    { limit: 100, limit_reset: "monthly", include_byok_in_limit: true },
    { limit: 74.5, limit_reset: null }
  ])
})

it("creates nothing when a list cannot be read, and says which", async () => {
  const list = file("hashes.json", { keys: ["88dc28"], total_count: 1 })
  expect(await run("--from", "litellm", list, "--out", "d.jsonl")).toEqual({
    code: 1,
    stdout: "",
    stderr: "hashes.json is no list of keys. LiteLLM needs return_full_object=true\n"
  })
})
