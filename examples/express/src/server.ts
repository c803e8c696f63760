// A server on Express: a search, an upload of audio, and a receiver of webhooks.
import { createClient, errorResponse, receiveUpload, receiveWebhook } from "@model-gateway/node/promise"
import express, { type ErrorRequestHandler, type Response } from "express"

const articles = ["Reset a forgotten password", "Change your billing address", "Close your account"]

const gateway = await createClient({ retryPolicy: { maxRetries: 1, deadline: "2 minutes" } })
const secret = process.env["WEBHOOK_SECRET"] ?? ""
/** In production, store them in the transaction of the work. */
const handled = new Set<string>()

/** Ends a call when its caller has gone. */
const signalOf = (res: Response): AbortSignal => {
  const controller = new AbortController()
  res.once("close", () => controller.abort())
  return controller.signal
}

const app = express()

// Before `express.json()`: JSON that was parsed does not verify.
app.post("/api/webhooks", async (req, res) => {
  const { event, id } = await receiveWebhook(req, { secret })
  if (!handled.has(id)) console.log(event.type, event.data.id)
  handled.add(id)
  res.status(204).end()
})

app.use(express.json())

app.get("/api/search", async (req, res) => {
  const { model, q } = req.query
  const { results } = await gateway.rerank(
    {
      model: typeof model === "string" ? model : "sandbox/bm25",
      query: typeof q === "string" ? q : "",
      documents: articles,
      top_n: 2
    },
    { signal: signalOf(res) }
  )
  res.json(results.map(({ document }) => document.text))
})

app.post("/api/transcripts", async (req, res) => {
  // Before the upload is awaited: a response that has closed emits no other `close`.
  const signal = signalOf(res)
  await using upload = await receiveUpload(req)
  const { file, filename } = upload
  const { text } = await gateway.transcribe({ model: "sandbox/tones", file, filename }, { signal })
  res.json({ text })
})

// Express itself would answer with `error.status`: with the gateway's 401 if this server's key is
// wrong.
const onError: ErrorRequestHandler = (error, _req, res, next) => {
  const answer = errorResponse(error)
  if (answer === undefined || res.headersSent) return next(error)
  const { headers, message, status } = answer
  if (status >= 500) console.error(error)
  res.status(status).set(headers).json({ error: message })
}
app.use(onError)

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = server.address()
  console.log(`Listening on http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`)
})
process.once("SIGTERM", () => server.close(() => void gateway.close()))
