import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { run } from "./Commands.ts"
import { folder, serve } from "./Executable.ts"

const masterKey = (): string => randomBytes(32).toString("base64")

/**
 * Stores a provider key, a broadcast destination and a webhook secret in a gateway that runs with
 * this environment.
 */
const store = async (dataDir: string, environment: Readonly<Record<string, string>>) => {
  const running = await serve(dataDir, [], environment)
  const [, key = ""] = await running.prints(/management key\s+(\S+)/)
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" }
  const post = async (path: string, body: object) => {
    const response = await fetch(`${running.origin}/api/v1${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body)
    })
    return { status: response.status, text: await response.text() }
  }
  const config = { endpoint: "https://collector.example", headers: { authorization: "collector-very-secret" } }
  const stored = await post("/byok", { provider: "cohere", key: "co-very-secret" })
  const [, workspaceId = ""] = /"workspace_id":"([^"]+)"/.exec(stored.text) ?? []
  const answers = [
    stored,
    await post("/observability/destinations", { name: "d", type: "otel-collector", config }),
    await post(`/workspaces/${workspaceId}/webhook-secret/rotate`, {})
  ]
  running.signal("SIGTERM")
  const { stderr, stdout } = await running.ended
  expect(stdout + stderr).not.toContain("very-secret")
  return answers.map(({ status }) => status)
}

describe("byok rewrap", () => {
  it("encrypts every provider key, and the secrets of destinations and webhooks, with the current master key", async () => {
    const dataDir = folder()
    const [first, second] = [masterKey(), masterKey()]
    const environment = { COHERE_API_KEY: "co-of-the-gateway", MODEL_GATEWAY_MASTER_KEY: first }
    expect(await store(dataDir, environment)).toEqual([201, 201, 200])
    expect(existsSync(join(dataDir, "master.key"))).toBe(false)
    const args = ["byok", "rewrap", "--data-dir", dataDir]
    const unknown = await run(args, { MODEL_GATEWAY_MASTER_KEY: second })
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain("Add it to the former master keys.")
    const replaced = { MODEL_GATEWAY_MASTER_KEY: second, MODEL_GATEWAY_FORMER_MASTER_KEYS: first }
    expect(await run(args, replaced)).toMatchObject({
      code: 0,
      stdout:
        "Encrypted the secrets of 1 broadcast destination with the current master key.\n" +
        "Encrypted the webhook secrets of 1 workspace with the current master key.\n" +
        "Encrypted 1 provider key with the current master key.\n"
    })
    const again = await run([...args, "--json"], { MODEL_GATEWAY_MASTER_KEY: second })
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout)).toEqual({ rewrapped: 0, destinations: 0, webhooks: 0 })
  })

  it("does not create a database", async () => {
    const dataDir = folder()
    const { code, stderr } = await run(["byok", "rewrap", "--data-dir", dataDir])
    expect(code).toBe(1)
    expect(stderr).toContain("There is no database")
  })
})
