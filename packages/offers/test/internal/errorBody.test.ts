import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { readErrorBody } from "../../src/internal/errorBody.ts"

const read = (body: unknown) => {
  const { codes, message, retryAfter } = readErrorBody(typeof body === "string" ? body : JSON.stringify(body))
  return [message, codes, retryAfter === undefined ? undefined : Duration.toSeconds(retryAfter)]
}

describe("readErrorBody", () => {
  it("reads the forms that upstreams document", () => {
    const googleError = {
      code: 400,
      message: "API key not valid.",
      status: "INVALID_ARGUMENT",
      details: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.074824224s" },
        { "@type": "type.googleapis.com/google.rpc.LocalizedMessage", message: "localized" }
      ]
    }
    const bodies: ReadonlyArray<readonly [unknown, string | undefined, ReadonlyArray<string>, number?]> = [
      // Cohere
      [{ id: "1", message: "invalid api token" }, "invalid api token", []],
      // OpenAI, Groq
      [
        { error: { message: "You exceeded your current quota.", type: "insufficient_quota", param: null, code: null } },
        "You exceeded your current quota.",
        ["insufficient_quota"]
      ],
      [
        { error: { message: "Incorrect API key.", type: "invalid_request_error", code: "invalid_api_key" } },
        "Incorrect API key.",
        ["invalid_api_key", "invalid_request_error"]
      ],
      // Anthropic
      [
        { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } },
        "invalid x-api-key",
        ["error", "authentication_error"]
      ],
      // Google
      [{ error: googleError }, "API key not valid.", ["INVALID_ARGUMENT", "API_KEY_INVALID"], 34.074],
      [[{ error: googleError }], "API key not valid.", ["INVALID_ARGUMENT", "API_KEY_INVALID"], 34.074],
      // Text Embeddings Inference
      [{ error: "batch size 33 > 32", error_type: "Validation" }, "batch size 33 > 32", ["Validation"]],
      // Jina, Voyage, fal
      [{ detail: "Insufficient balance" }, "Insufficient balance", []],
      [
        {
          detail: [
            { loc: ["body", "documents", 0], msg: "Input should be a valid string", type: "string_type", input: "x" },
            { loc: ["body", "query"], msg: "Field required", type: "missing" }
          ]
        },
        "documents.0: Input should be a valid string; query: Field required",
        ["string_type", "missing"]
      ],
      // Replicate
      [
        { title: "Request was throttled", detail: "Your rate limit resets in ~3s.", status: 429, retry_after: 3 },
        "Your rate limit resets in ~3s.",
        [],
        3
      ],
      [{ title: "Insufficient credit", status: 402 }, "Insufficient credit", []],
      // Runway
      [
        { error: "Validation of body failed", issues: [{ path: ["ratio"], message: "Invalid", code: "invalid" }] },
        "Validation of body failed: ratio: Invalid",
        []
      ],
      // Deepgram
      [
        { err_code: "INVALID_AUTH", err_msg: "Invalid credentials.", request_id: "1" },
        "Invalid credentials.",
        ["INVALID_AUTH"]
      ],
      // Others
      [{ errors: [{ message: "one", code: "first" }, "two"] }, "one; two", ["first"]],
      [{ detail: { error: { message: "deep" } } }, "deep", []]
    ]
    for (const [body, message, codes, seconds] of bodies) {
      const [said, words, wait] = read(body)
      assert.deepStrictEqual([said, words], [message, codes])
      assert.strictEqual(typeof wait === "number" ? Math.floor(wait * 1000) / 1000 : wait, seconds)
    }
  })

  it("reads nothing from anything else", () => {
    const deep: unknown = JSON.parse(`${'{"error":'.repeat(1000)}1${"}".repeat(1000)}`)
    for (const body of ["", "<html>", '"text"', "null", "1", {}, [], { message: 5 }, { error: null }, deep]) {
      assert.deepStrictEqual(read(body), [undefined, [], undefined])
    }
    const strange = { code: "two words", type: "https://example.com/problem", retry_after: -1, retryDelay: "1e9s" }
    assert.deepStrictEqual(read(strange), [undefined, [], undefined])
  })
})
