/**
 * The server that all clients call, in its own process. It reads the whole request and sends the
 * same JSON to everyone.
 */
import { createServer } from "node:http"
import { listening } from "../child.ts"
import { rerankResponse, transcriptionResponse } from "./messages.ts"

const rerank = Buffer.from(JSON.stringify(rerankResponse))
const transcription = Buffer.from(JSON.stringify(transcriptionResponse))

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const body = request.url?.endsWith("/rerank") === true ? rerank : transcription
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body)
  })
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") {
    listening({ port: address.port, apiKey: "" }, () => process.exit())
  }
})
