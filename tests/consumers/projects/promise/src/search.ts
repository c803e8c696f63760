/**
 * A program with plain async/await. `node src/search.ts <seconds>` gives up after that many
 * seconds, or at Ctrl+C. The process ends by itself, because `close` ends the client's connections.
 * On Node 24, `await using` closes the client, too.
 */
import { createClient, PaymentRequired, TimeoutError, TransportError, Unauthorized } from "@model-gateway/node/promise"

const [seconds = "10"] = process.argv.slice(2)
const stop = new AbortController()
process.once("SIGINT", () => stop.abort(new Error("interrupted")))
const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(Number(seconds) * 1000)])

const gateway = await createClient()
try {
  const documents = ["Billing", "Reset a forgotten password"]
  const { results } = await gateway.rerank(
    { model: "sandbox/bm25", query: "forgotten password", documents },
    { signal }
  )
  console.log(results[0]?.document.text)
} catch (error) {
  process.exitCode = 1
  if (error instanceof PaymentRequired) console.error("Add credits.")
  else if (error instanceof Unauthorized) console.error("Check MODEL_GATEWAY_API_KEY.")
  else if (error instanceof TimeoutError || error instanceof TransportError) console.error(error.message)
  else console.error(String(error))
} finally {
  await gateway.close()
}
