// A server on Hono: a search, an upload of audio, and a receiver of webhooks.
import { serve } from "@hono/node-server"
import { createClient, errorResponse, receiveUpload, receiveWebhook } from "@model-gateway/node/promise"
import { Hono } from "hono"
import { HTTPException } from "hono/http-exception"

const articles = ["Reset a forgotten password", "Change your billing address", "Close your account"]

const gateway = await createClient({ retryPolicy: { maxRetries: 1, deadline: "2 minutes" } })
const secret = process.env["WEBHOOK_SECRET"] ?? ""
/** In production, store them in the transaction of the work. */
const handled = new Set<string>()

const app = new Hono()

app.get("/api/search", async (c) => {
  const { model = "sandbox/bm25", q = "" } = c.req.query()
  const { signal } = c.req.raw
  const { results } = await gateway.rerank({ model, query: q, documents: articles, top_n: 2 }, { signal })
  return c.json(results.map(({ document }) => document.text))
})

// `c.req.parseBody()` would read the whole file into memory.
app.post("/api/transcripts", async (c) => {
  await using upload = await receiveUpload(c.req.raw)
  const { file, filename } = upload
  const { text } = await gateway.transcribe({ model: "sandbox/tones", file, filename }, { signal: c.req.raw.signal })
  return c.json({ text })
})

// Nothing may read the body before: `c.req.raw` has no second one.
app.post("/api/webhooks", async (c) => {
  const { event, id } = await receiveWebhook(c.req.raw, { secret })
  if (!handled.has(id)) console.log(event.type, event.data.id)
  handled.add(id)
  return c.body(null, 204)
})

app.onError((error, c) => {
  if (error instanceof HTTPException) return error.getResponse()
  const { headers, message, status } = errorResponse(error) ?? { status: 500, message: "Internal error", headers: {} }
  if (status >= 500) console.error(error)
  return c.json({ error: message }, status, headers)
})

const port = Number(process.env["PORT"] ?? 3000)
const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, (address) =>
  console.log(`Listening on http://127.0.0.1:${address.port}`)
)
process.once("SIGTERM", () => server.close(() => void gateway.close()))
