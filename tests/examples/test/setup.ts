// One gateway process for all test files.
import { freePort } from "@model-gateway/test-services/FreePort"
import { startGateway } from "@model-gateway/test-services/GatewayProcess"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** The gateway of all examples. */
    readonly gateway: {
      readonly origin: string
      /** An ordinary key of its first workspace. */
      readonly key: string
      readonly managementKey: string
      /** Signs the webhooks of that workspace. They can be sent to `https://localhost`. */
      readonly webhookSecret: string
      /** The free port whose pages may call it: `http://127.0.0.1:` and this port. */
      readonly pagePort: number
      /** Where it stores files and uploads. */
      readonly dataDir: string
    }
  }
}

const certificate = fileURLToPath(new URL("../../../apps/gateway/test/fixtures/receiver.crt", import.meta.url))

const settings = (pagePort: number) => ({
  MODEL_GATEWAY_CORS_ORIGINS: `http://127.0.0.1:${pagePort}`,
  NODE_EXTRA_CA_CERTS: certificate,
  MODEL_GATEWAY_OUTBOUND_EXEMPT_HOSTS: "localhost"
})

const newWebhookSecret = async (origin: string, managementKey: string): Promise<string> => {
  const response = await fetch(`${origin}/api/v1/workspaces/default/webhook-secret/rotate`, {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}` }
  })
  const [secret] = /whsec_[\w+/=]+/.exec(await response.text()) ?? []
  if (secret === undefined) throw new Error(`no webhook secret: ${response.status}`)
  return secret
}

export const setup = async (project: TestProject) => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const pagePort = await freePort()
  const { key, managementKey, origin, stop } = await startGateway(folder, settings(pagePort))
  const webhookSecret = await newWebhookSecret(origin, managementKey)
  project.provide("gateway", { origin, key, managementKey, webhookSecret, pagePort, dataDir: folder })
  // The programs that `printedBy` runs in the process of the tests read them.
  process.env["MODEL_GATEWAY_BASE_URL"] = `${origin}/api/v1`
  process.env["MODEL_GATEWAY_API_KEY"] = key
  return async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
