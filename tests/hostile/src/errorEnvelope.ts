/** Checks the error envelope of a response. */
import { type Answer, fieldOf, jsonOf } from "./client.ts"

/** What is missing in the error envelope, or undefined if it is complete. */
export const problemWith = (answer: Answer): string | undefined => {
  const json = jsonOf(answer)
  if (json === undefined) return "the body is no JSON"
  if (fieldOf(json, "error", "code") !== answer.status) return "error.code is not the status"
  const message = fieldOf(json, "error", "message")
  if (typeof message !== "string" || message === "") return "error.message is missing"
  const id = fieldOf(json, "service_metadata", "request_id")
  if (typeof id !== "string" || id === "") return "service_metadata.request_id is missing"
  if (answer.headers["x-request-id"] !== id) return "x-request-id is not the request id of the body"
  if (fieldOf(json, "user_id") === undefined) return "user_id is missing"
  return undefined
}
