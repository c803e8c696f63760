/**
 * Starts the server as the configuration in the README does, with the installed executable in place
 * of `npx`, and calls a tool.
 */
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Schema } from "effect"
import { readFileSync } from "node:fs"

const readme = readFileSync("node_modules/@model-gateway/mcp/README.md", "utf8")
const Server = Schema.Struct({
  command: Schema.Literal("npx"),
  args: Schema.TupleWithRest(Schema.Tuple([Schema.Literal("-y"), Schema.Literal("@model-gateway/mcp")]), [
    Schema.String
  ])
})
const Configuration = Schema.Struct({ mcpServers: Schema.Struct({ "model-gateway": Server }) })
const { mcpServers } = Schema.decodeSync(Schema.fromJsonString(Configuration))(
  /```json\n([\s\S]*?)```/.exec(readme)?.[1] ?? ""
)

const { MODEL_GATEWAY_API_KEY = "", MODEL_GATEWAY_BASE_URL = "", PATH = "" } = process.env
const client = new Client({ name: "consumer", version: "1.0.0" })
await client.connect(
  new StdioClientTransport({
    command: "node_modules/.bin/model-gateway-mcp",
    args: mcpServers["model-gateway"].args.slice(2),
    env: { MODEL_GATEWAY_API_KEY, MODEL_GATEWAY_BASE_URL, PATH }
  })
)
const { tools } = await client.listTools()
console.log(tools.map(({ name }) => name).join(" "))
const documents = ["Billing", "Reset a forgotten password"]
const ranked = await client.callTool({
  name: "rerank",
  arguments: { model: "sandbox/bm25", query: "forgotten password", documents, top_n: 1 }
})
console.log(JSON.stringify(ranked.structuredContent))
await client.close()
