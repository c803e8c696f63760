/**
 * The lower bound: `node:http` that parses and sends the same JSON, without looking up keys,
 * ranking, counting or storing.
 */
import { createServer, type ServerResponse } from "node:http"
import { keyRecord } from "@model-gateway/testing/Samples"
import { listening } from "../child.ts"
import { rerankResponse } from "../client/messages.ts"

const answer = (response: ServerResponse, json: unknown): void => {
  const body = JSON.stringify(json)
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body)
}

const server = createServer((request, response) => {
  if (request.method === "GET") return answer(response, { data: keyRecord })
  const chunks: Array<Buffer> = []
  request
    .on("data", (chunk: Buffer) => chunks.push(chunk))
    .on("end", () => {
      const { model } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly model: string }
      answer(response, { ...rerankResponse, model })
    })
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") {
    listening({ port: address.port, apiKey: "none" }, () => process.exit())
  }
})
