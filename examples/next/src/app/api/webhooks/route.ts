import { receiveWebhook } from "@model-gateway/node/promise"
import { route } from "../../server.ts"

/** In production, store them in the transaction of the work. */
const handled = new Set<string>()

export const POST = route(async (request) => {
  const { event, id } = await receiveWebhook(request, { secret: process.env["WEBHOOK_SECRET"] ?? "" })
  if (!handled.has(id)) console.log(event.type, event.data.id)
  handled.add(id)
  return new Response(null, { status: 204 })
})
