import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as SafeMessage from "../src/SafeMessage.ts"

describe("SafeMessage", () => {
  it("keeps documented messages that speak of the input", () => {
    const messages = [
      // Cohere
      "invalid request: list of documents must not be empty",
      "unknown field: parameter 'max_chunks_per_doc' is not a valid field",
      // OpenAI
      "Invalid file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']",
      "26214400: Maximum content size limit (26214400) exceeded (26228102 bytes read)",
      "response_format 'verbose_json' is not compatible with model 'gpt-4o-transcribe-api-ev3'. Use 'json' or 'text' instead.",
      "Audio file is too short. Minimum audio length is 0.1 seconds.",
      "This model's maximum context length is 8192 tokens, however you requested 10000 tokens.",
      // Voyage and Text Embeddings Inference
      "The number of documents cannot exceed 1000.",
      "Input validation error: `inputs` must have less than 512 tokens. Given: 1044",
      "batch size 33 > maximum allowed batch size 32",
      // Google, Runway, Replicate, fal
      "The number value 1337 for durationSeconds is out of bound. Please provide a value between 4 and 8, inclusive.",
      "Validation of body failed: ratio: Invalid enum value. Expected '1280:720' | '720:1280', received '16:9'",
      "- input.duration: Must be less than or equal to 10",
      "documents.0: Input should be a valid string",
      "model 'jina-reranker-v2-base-multilingual' ranks text only",
      "the audio may take the time into account"
    ]
    assert.deepStrictEqual(
      messages.map((message) => SafeMessage.make(message)),
      messages
    )
  })

  it("says nothing of messages about the operator's account", () => {
    const messages = [
      "Incorrect API key provided: sk-proj-********************cdef. You can find your API key at https://platform.openai.com/account/api-keys.",
      "You exceeded your current quota, please check your plan and billing details.",
      "Rate limit reached for whisper-1 in organization org-Zx81AbcDef23 on requests per min.",
      "Project `proj_abc123` does not have access to model `gpt-4o-transcribe`. Your organization must be verified.",
      "API key not valid. Please pass a valid API key.",
      "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.",
      "You do not have enough credits to run this task.",
      "Please add or update your payment method at https://dashboard.cohere.com/billing?tab=payment to continue",
      "You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.",
      "Imagen API is only accessible to billed users at this time: Billing",
      "Your account is not authorized to use model rerank-2.5",
      "The key ending in 5Q10 has no access to the model",
      "Traceback (most recent call last): File /usr/src/app/server.py, line 3",
      "",
      " \n ",
      "https://api.example.com/v1/jobs/1",
      "0123456789abcdef0123456789abcdef"
    ]
    assert.deepStrictEqual(
      messages.filter((message) => SafeMessage.make(message) !== undefined),
      []
    )
  })

  it("keeps every word of a message that is known to be about the input, and no account of the operator", () => {
    const harmless = [
      "documents.0.credits: extra fields not permitted",
      "Unknown parameter: 'quota'.",
      "documents.0.account is required, and 'team' must be a string",
      "query: 'billing and payments' has more than 512 tokens",
      "language: the audio speaks of accounts, subscriptions and permissions in one sentence"
    ]
    assert.deepStrictEqual(
      harmless.map((message) => [SafeMessage.make(message), SafeMessage.ofInput(message)]),
      harmless.map((message) => [undefined, message])
    )
    const account = [
      "Incorrect API key provided: sk-proj-********************cdef.",
      "You exceeded your current quota, please check your plan and billing details.",
      "Rate limit reached for whisper-1 in organization org-Zx81AbcDef23 on requests per min.",
      "Your organization must be verified to use the model `gpt-transcribe`.",
      "User is locked. Reason: Exhausted balance. Top up your balance.",
      "You do not have enough credits to run this task.",
      "Please add or update your payment method to continue",
      "You have insufficient credit to run this model.",
      "Your account is not authorized to use model rerank-2.5",
      "Your current account balance is negative.",
      "The key ending in 5Q10 has no access to the model",
      "The organization acme-corp has been disabled",
      "Organization Acme Corp must be verified to use this model",
      "Invalid value for 'model': project acme-prod-eu has no access",
      "Model access is denied for account 12345678901",
      "Maximum monthly spend reached for this account",
      "Traceback (most recent call last): File /usr/src/app/server.py, line 3"
    ]
    assert.deepStrictEqual(
      account.filter((message) => (SafeMessage.ofInput(message) ?? SafeMessage.make(message)) !== undefined),
      []
    )
    assert.strictEqual(SafeMessage.ofInput("credits: see https://example.com/a"), "credits: see <redacted>")
  })

  it("removes keys, addresses, ids and files from the others", () => {
    const messages: ReadonlyArray<readonly [string, string]> = [
      ["cannot read https://cdn.example.com/a.png?signature=abc: 404", "cannot read <redacted> 404"],
      ["cannot read 'gs://bucket/a.png'", "cannot read '<redacted>'"],
      ["worker tei-0.rerank.svc.cluster.local:8080 rejected it", "worker <redacted> rejected it"],
      [
        "10.0.12.7:3000 and localhost:8000 and [fd00::1]:80 refused",
        "<redacted> and <redacted> and <redacted> refused"
      ],
      ["write to help@voyageai.com", "write to <redacted>"],
      ["unexpected value sk-ab12", "unexpected value <redacted>"],
      ["unexpected value gsk_abcdEFGH", "unexpected value <redacted>"],
      ["unexpected value jina_abcd", "unexpected value <redacted>"],
      ["unexpected value ab****yz", "unexpected value <redacted>"],
      ["invalid audio (request req_011CSHoEeqs5C35K2UUqR7Fy)", "invalid audio (request <redacted>)"],
      ["invalid audio (request 4f1c2b3a-0d5e-4f6a-8b7c-9d0e1f2a3b4c)", "invalid audio (request <redacted>)"],
      ["invalid audio for org-abc123 of projects/123456", "invalid audio for <redacted> of <redacted>"],
      ["invalid audio 5d41402abc4b2a76b9719d911017c592", "invalid audio <redacted>"],
      ["invalid audio dGhpcyBpcyBhIHNlY3JldCB0b2tlbjEyMw==", "invalid audio <redacted>"],
      ["invalid audio 123456789012345", "invalid audio <redacted>"],
      ["cannot open /usr/src/app/uploads/a.wav", "cannot open <redacted>"],
      ["two\nlines\u0000and\u202e more", "two lines and more"]
    ]
    assert.deepStrictEqual(
      messages.map(([message]) => SafeMessage.make(message)),
      messages.map(([, safe]) => safe)
    )
  })

  it("returns at most 500 characters, and cuts no key in two", () => {
    const key = "abc123".repeat(6)
    assert.strictEqual(SafeMessage.make("y".repeat(5000)), `${"y".repeat(499)}…`)
    assert.notInclude(SafeMessage.make(`${"word ".repeat(98)}${key}`), "abc")
  })

  it("takes time in proportion to the length of the message", () => {
    const size = 65_536
    const hostile = ["a", "a.", "a-", "*", "a*", "://", "a@", "1.", "/tmp", "sk-", "org-", "[:", "=", "a1"]
    for (const part of hostile) {
      assert.isAtMost(SafeMessage.make(part.repeat(size / part.length))?.length ?? 0, 500, part)
    }
  })

  it("removes parts of 6 or more characters of every secret, in any case", () => {
    const secrets = ["q9Lm2xTzV7aBcDeF", "kurz"].map((secret) => Redacted.make(secret))
    const messages = [
      ["no model for q9Lm2x", "no model for <redacted>"],
      ["no model for q9Lm2 and BcDeF", "no model for q9Lm2 and BcDeF"],
      ["the value M2XTZV is wrong, LM2XTZ, too", "the value <redacted> is wrong, <redacted>, too"],
      ["q9Lm2xTzV7aBcDeF", "<redacted>"],
      ["q9Lm2xTzV7aBcDeFq9Lm2xTzV7aBcDeF.", "<redacted>."],
      ["a kurz word, aBcDeF", "a <redacted> word, <redacted>"],
      ["İ q9Lm2x", "İ <redacted>"],
      ["nothing", "nothing"],
      ["", ""]
    ] as const
    for (const [message, safe] of messages) assert.strictEqual(SafeMessage.withoutSecrets(message, secrets), safe)
    assert.strictEqual(SafeMessage.withoutSecrets("a".repeat(10_000), secrets), "a".repeat(8192))
    assert.strictEqual(SafeMessage.withoutSecrets("q9Lm2x", [undefined, Redacted.make("")]), "q9Lm2x")
  })

  it("redacts an unexpected message, and keeps its other words", () => {
    const messages = [
      ["connect ECONNREFUSED 127.0.0.1:6379", "connect ECONNREFUSED <redacted>"],
      [
        "the credentials postgres://user:secret@db.example.com/x are wrong,\nas is mg_sk_4gT6hVq8ZxW2rN5mB7cJ9kL3pQ1sD0fY8aE4u",
        "the credentials <redacted> are wrong, as is <redacted>"
      ],
      ["Cannot read properties of undefined (reading 'id')", "Cannot read properties of undefined (reading 'id')"],
      ["", ""]
    ] as const
    for (const [message, safe] of messages) assert.strictEqual(SafeMessage.redact(message), safe)
    assert.strictEqual(SafeMessage.redact("word ".repeat(200)).length, 500)
  })
})
