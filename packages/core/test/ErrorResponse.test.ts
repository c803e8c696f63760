import { ClientError, ErrorResponse, GatewayError, Transcription, Webhook } from "@model-gateway/core"
import { describe, expect, it } from "vitest"

const call = { operation: "transcribe", attempts: 1 }

/** The error of this status, as the client makes it. */
const ofStatus = (status: number) => {
  const error = GatewayError.ofStatus<GatewayError.GatewayError>(Transcription.transcribeOperation.error, status, {
    message: "the gateway's words"
  })
  if (error === undefined) throw new Error(`no error with status ${status}`)
  return Object.assign(error, call)
}

const answerTo = (error: unknown) => {
  const answer = ErrorResponse.fromError(error)
  if (answer === undefined) throw new Error("no answer")
  return answer
}

describe("the answer to an error", () => {
  it.each([
    [400, 400],
    [401, 500],
    [402, 500],
    [403, 500],
    [404, 404],
    [413, 413],
    [429, 429],
    [500, 502],
    [502, 502],
    [503, 503],
    [504, 504],
    [524, 504],
    [529, 503]
  ] as const)("of status %i has status %i", (status, expected) => {
    const { message, status: answered } = answerTo(ofStatus(status))
    expect(answered).toBe(expected)
    // What the gateway says of other failures concerns the operator of the server.
    expect(message === "the gateway's words").toBe(expected < 500)
    expect(message).toMatch(/./)
  })

  it("of the client says whether the gateway was reached, was late or made no sense", () => {
    const transport = (reason: "connection" | "credential" | "request") =>
      new ClientError.TransportError({ ...call, reason, underlying: undefined })
    const errors = [
      transport("connection"),
      transport("credential"),
      transport("request"),
      new ClientError.TimeoutError({ ...call, limit: "attempt", milliseconds: 1 }),
      new ClientError.InvalidResponse({ ...call, status: 200, requestId: undefined, description: "no JSON" })
    ]
    expect(errors.map((error) => answerTo(error).status)).toEqual([503, 500, 500, 504, 502])
  })

  it("of a webhook blames the sender, unless the secret is wrong", () => {
    const of = (reason: Webhook.WebhookError["reason"]) =>
      answerTo(new Webhook.WebhookError({ reason, message: "the reason" }))
    expect(of("signature")).toEqual({ status: 400, message: "the reason", headers: {} })
    expect(of("secret")).toEqual({ status: 500, message: "The request failed.", headers: {} })
  })

  it("has the request id, and the seconds to wait as a whole number", () => {
    const limited = new GatewayError.TooManyRequests({
      error: { code: 429, message: "rate limit exceeded", metadata: { retry_after: 1.2 } },
      service_metadata: { request_id: "req_1" }
    })
    expect(answerTo(limited).headers).toEqual({ "retry-after": "2", "x-request-id": "req_1" })
    expect(answerTo(ofStatus(429)).headers).toEqual({})
  })

  it("has only headers that a server can send, whatever the gateway sent", () => {
    const headersOf = (retry_after: number, request_id: string) =>
      answerTo(
        new GatewayError.TooManyRequests({
          error: { code: 429, message: "m", metadata: { retry_after } },
          service_metadata: { request_id }
        })
      ).headers
    expect(headersOf(-3, "req_1\r\nset-cookie: a=b")).toEqual({ "retry-after": "0" })
    expect(headersOf(1e300, "ü")).toEqual({ "retry-after": "9007199254740991" })
  })

  it("does not exist for other errors", () => {
    expect(ErrorResponse.fromError(new Error("mine"))).toBeUndefined()
    expect(ErrorResponse.fromError(undefined)).toBeUndefined()
  })
})
