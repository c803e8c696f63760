// A server on Fastify whose routes run Effects: a search, an upload of audio, and a receiver of
// webhooks.
import { ErrorResponse, Rerank, RetryPolicy, Transcription, Webhook } from "@model-gateway/core"
import { NodeGateway, NodeUpload } from "@model-gateway/node"
import { Effect, ManagedRuntime } from "effect"
import Fastify, { type FastifyReply } from "fastify"

const articles = ["Reset a forgotten password", "Change your billing address", "Close your account"]

const retryPolicy = RetryPolicy.make({ maxRetries: 1, deadline: "2 minutes" })
/** One for all requests: it has the connections and the retry budget. */
const runtime = ManagedRuntime.make(NodeGateway.layerConfig({ retryPolicy }))
const secret = process.env["WEBHOOK_SECRET"] ?? ""
/** In production, store them in the transaction of the work. */
const handled = new Set<string>()

/** Ends a call when its caller has gone. `request.signal` is aborted as soon as a body was read. */
const signalOf = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController()
  reply.raw.once("close", () => controller.abort())
  return controller.signal
}

const app = Fastify()
app.addHook("onClose", () => runtime.dispose())

const querystring = { type: "object", properties: { model: { type: "string" }, q: { type: "string" } } }

app.get<{ Querystring: { readonly model?: string; readonly q?: string } }>(
  "/api/search",
  { schema: { querystring } },
  async (request, reply) => {
    const { model = "sandbox/bm25", q = "" } = request.query
    const search = Rerank.rerank({ model, query: q, documents: articles, top_n: 2 })
    const { results } = await runtime.runPromise(search, { signal: signalOf(reply) })
    return results.map(({ document }) => document.text)
  }
)

// Leaves the form to `NodeUpload`. Without a parser, Fastify answers 415.
app.addContentTypeParser("multipart/form-data", (_request, _body, done) => done(null))

app.post("/api/transcripts", (request, reply) => {
  const transcribe = Effect.gen(function* () {
    const { file, filename } = yield* NodeUpload.fromRequest(request.raw)
    const { text } = yield* Transcription.transcribe({ model: "sandbox/tones", file, filename })
    return { text }
  })
  return runtime.runPromise(Effect.scoped(transcribe), { signal: signalOf(reply) })
})

// In a scope of its own, because the parser is for this route only: JSON that was parsed does not
// verify.
app.register(async (scope) => {
  scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body))
  scope.post("/api/webhooks", async (request, reply) => {
    const { event, id } = await runtime.runPromise(Webhook.fromRequest(request, { secret }))
    if (!handled.has(id)) console.log(event.type, event.data.id)
    handled.add(id)
    return reply.code(204).send()
  })
})

// Fastify itself would answer with the gateway's status: with its 401 if this server's key is
// wrong.
app.setErrorHandler((error, _request, reply) => {
  const answer = ErrorResponse.fromError(error)
  if (answer === undefined) throw error
  const { headers, message, status } = answer
  if (status >= 500) console.error(error)
  return reply.code(status).headers(headers).send({ error: message })
})

const address = await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" })
console.log(`Listening on ${address}`)
process.once("SIGTERM", () => void app.close())
