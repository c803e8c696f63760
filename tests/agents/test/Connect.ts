/** Clients of the protocol's own SDK, connected to the server in each way that it can be reached. */
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { fileURLToPath } from "node:url"
import { inject, onTestFinished } from "vitest"

/** The executable `model-gateway-mcp`. */
export const main = fileURLToPath(
  new URL("dist/internal/main.js", import.meta.resolve("@model-gateway/mcp/package.json"))
)

export interface Options {
  readonly key: string
  readonly maxCredits?: number
  readonly audioFolder?: string
}

export interface Way {
  readonly transport: "stdio" | "http"
  /** The newest revision with sessions, or the one without. */
  readonly revision: "2025-11-25" | "2026-07-28"
}

/** Over stdio the revisions differ less, so one of them is enough there. */
export const ways: ReadonlyArray<Way> = [
  { transport: "stdio", revision: "2025-11-25" },
  { transport: "http", revision: "2025-11-25" },
  { transport: "http", revision: "2026-07-28" }
]

const stdio = ({ audioFolder, key, maxCredits }: Options) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [
      main,
      ...(maxCredits === undefined ? [] : ["--max-credits", `${maxCredits}`]),
      ...(audioFolder === undefined ? [] : ["--audio-folder", audioFolder])
    ],
    env: {
      MODEL_GATEWAY_BASE_URL: `${inject("gateway").origin}/api/v1`,
      MODEL_GATEWAY_API_KEY: key,
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? ""
    }
  })

/** A client's side of /mcp. */
export const http = (headers: Readonly<Record<string, string>>) =>
  new StreamableHTTPClientTransport(new URL(`${inject("gateway").origin}/mcp`), { requestInit: { headers } })

const overHttp = ({ key, maxCredits }: Options) =>
  http({
    authorization: `Bearer ${key}`,
    ...(maxCredits === undefined ? {} : { "model-gateway-max-credits": `${maxCredits}` })
  })

/** A client that is closed at the end of the test. */
export const connect = async ({ revision, transport }: Way, options: Options): Promise<Client> => {
  const negotiation: ClientOptions =
    revision === "2026-07-28" ? { versionNegotiation: { mode: { pin: revision } } } : {}
  const client = new Client({ name: "agent", version: "1.0.0" }, negotiation)
  await client.connect(transport === "stdio" ? stdio(options) : overHttp(options))
  onTestFinished(() => client.close())
  return client
}
