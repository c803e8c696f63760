/** On Node, with its own `fetch`. */
import { createServer } from "node:http"
import { Readable } from "node:stream"
import { serve } from "./program.ts"

const handle = serve(process.env)

const server = createServer(async (request, response) => {
  const { headers, method, url } = request
  const body = method === "POST" ? Readable.toWeb(request) : undefined
  const answer = await handle(new Request(`http://127.0.0.1${url}`, { method, headers, body, duplex: "half" }))
  response.writeHead(answer.status).end(await answer.text())
})

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`))
