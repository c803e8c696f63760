import { reveal } from "@model-gateway/node/promise"
import { gateway, route } from "../../server.ts"

// Who may ask? Whoever gets a token spends your credits: check the session of your visitor here.
export const POST = route(async () => {
  const { expires_at, key } = await (await gateway()).createEphemeralKey({ operations: ["transcribe"] })
  return Response.json({ key: reveal(key), expires_at })
})
