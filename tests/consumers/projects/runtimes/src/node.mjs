/** On Node, with its own `fetch`. */
import { createServer } from "node:http"
import { Readable } from "node:stream"
import { serve } from "./program.ts"

const handle = serve(process.env)

const answer = async (request, response) => {
  const { headers, method, url } = request
  const body = method === "POST" ? Readable.toWeb(request) : undefined
  const answered = await handle(new Request(`http://127.0.0.1${url}`, { method, headers, body, duplex: "half" }))
  response.writeHead(answered.status).end(await answered.text())
}

const server = createServer((request, response) => void answer(request, response))

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`))
