/** The gateway processes of the compatibility test, and clients for them. */
import { WireNames } from "@model-gateway/core"
import { OpenRouter } from "@openrouter/sdk"
import { CohereClient, CohereClientV2 } from "cohere-ai"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import OpenAI from "openai"
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"

/**
 * One client of each kind, as its documentation makes it: only the base URL and the key are ours.
 */
export const clientsWith = (baseUrl: string, key: string) => ({
  openrouter: new OpenRouter({ apiKey: key, serverURL: baseUrl }),
  openai: new OpenAI({ apiKey: key, baseURL: baseUrl }),
  cohere: new CohereClientV2({ token: key, environment: baseUrl }),
  /** The client of version 1. It removes a final `/v1` of the URL and adds `/v1/rerank`. */
  cohereV1: new CohereClient({ token: key, environment: `${baseUrl}/v1` })
})

export type Clients = ReturnType<typeof clientsWith>

export interface CompatibleGateway {
  readonly wireNames: WireNames.Preset
  readonly origin: string
  /** `origin` and `/api/v1`. */
  readonly baseUrl: string
  /** An ordinary key, whose workspace has 10 credits. */
  readonly key: string
  readonly managementKey: string
  /** Clients with the ordinary key. */
  readonly clients: Clients
  /** Clients with the management key. */
  readonly management: Clients
  readonly clientsWith: (key: string) => Clients
  /** Creates an ordinary key. `limit` is in credits. */
  readonly createKey: (options?: { readonly limit?: number }) => Promise<string>
  /**
   * Another gateway, with neutral wire names. It allows 2 requests per key and second, and bodies
   * of 64 KiB. Its keys are its own.
   */
  readonly strict: Pick<CompatibleGateway, "clientsWith" | "createKey">
}

const strictSettings = {
  MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "2",
  MODEL_GATEWAY_RATE_LIMIT_WINDOW: "1 second",
  MODEL_GATEWAY_BODY_LIMIT_RERANK: "64 KiB",
  MODEL_GATEWAY_BODY_LIMIT_TRANSCRIPTION_FILE: "64 KiB"
}

const baseUrlOf = ({ origin }: Gateway) => `${origin}/api/v1`

const keyIn = (body: unknown): string => {
  if (typeof body === "object" && body !== null && "key" in body && typeof body.key === "string") return body.key
  throw new Error(`No key in ${JSON.stringify(body)}`)
}

const keysOf = (gateway: Gateway): Pick<CompatibleGateway, "clientsWith" | "createKey"> => ({
  clientsWith: (key) => clientsWith(baseUrlOf(gateway), key),
  createKey: async (options = {}) => {
    const response = await fetch(`${baseUrlOf(gateway)}/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "compatibility", ...options })
    })
    return keyIn(await response.json())
  }
})

const compatible = (
  gateway: Gateway,
  wireNames: WireNames.Preset,
  strict: CompatibleGateway["strict"]
): CompatibleGateway => {
  const { key, managementKey, origin } = gateway
  const baseUrl = baseUrlOf(gateway)
  return {
    wireNames,
    origin,
    baseUrl,
    key,
    managementKey,
    clients: clientsWith(baseUrl, key),
    management: clientsWith(baseUrl, managementKey),
    ...keysOf(gateway),
    strict
  }
}

export interface Gateways {
  readonly all: ReadonlyArray<CompatibleGateway>
  readonly stop: () => Promise<void>
}

/** Starts one gateway for each set of wire names, each with an empty data folder. */
export const startGateways = async (): Promise<Gateways> => {
  const data = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const started: Array<Gateway> = []
  const begin = async (settings: Readonly<Record<string, string>>) => {
    const gateway = await startGateway(mkdtempSync(join(data, "gateway-")), settings)
    started.push(gateway)
    return gateway
  }
  const stop = async () => {
    await Promise.all(started.map((gateway) => gateway.stop()))
    rmSync(data, { recursive: true, force: true })
  }
  try {
    const [strict, ...gateways] = await Promise.all([
      begin(strictSettings),
      ...WireNames.presets.map(async (wireNames) => ({
        wireNames,
        gateway: await begin({ MODEL_GATEWAY_WIRE_NAMES: wireNames })
      }))
    ])
    const shared = keysOf(strict)
    return { all: gateways.map(({ gateway, wireNames }) => compatible(gateway, wireNames, shared)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}
