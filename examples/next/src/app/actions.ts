"use server"

import { reveal } from "@model-gateway/node/promise"
import { gateway } from "./server.ts"

/** A short-lived key for videos. As for the route of tokens, check the session of your visitor here. */
export const createVideoKey = async (): Promise<string> => {
  const { key } = await (await gateway()).createEphemeralKey({ operations: ["submitVideo", "getVideo"] })
  return reveal(key)
}
