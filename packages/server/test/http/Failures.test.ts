import { BadRequest, TooManyRequests } from "@model-gateway/core/GatewayError"
import { describe, expect, it } from "@effect/vitest"
import { MultipartError } from "effect/http/Multipart"
import * as Failures from "../../src/http/Failures.ts"
import { all } from "../../src/http/Routes.ts"
import { StorageError } from "../../src/storage/sql/StorageError.ts"
import { operation } from "../TestEnvelope.ts"

const statusOf = (name: string, error: unknown): number =>
  Failures.restrictToContract(operation(name), Failures.classify(error)).failure.status

const storage = new StorageError({ operation: "test", message: "The disk is full.", retryable: false })

/** The six operations' sets, as the specification's table has them. */
const specified: Readonly<Record<string, ReadonlyArray<number>>> = {
  deleteFile: [401, 403, 404, 429, 500, 502, 503],
  currentKey: [401, 500],
  rerank: [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529],
  transcribe: [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529],
  submitVideo: [400, 401, 402, 403, 404, 413, 429, 500],
  assignKeys: [400, 401, 403, 404, 500]
}

describe("the closed sets", () => {
  it("are those of the specification", () => {
    for (const [name, statuses] of Object.entries(specified)) {
      expect([name, [...operation(name).errors].toSorted((a, b) => a - b)]).toEqual([name, statuses])
    }
  })

  it("restrict whatever a handler fails with", () => {
    for (const { errors, name } of all) {
      for (let status = 400; status < 600; status++) {
        const closed = Failures.restrictToContract(operation(name), {
          failure: { status, message: "a message" },
          unexpected: false
        })
        expect([name, status, errors.has(closed.failure.status)]).toEqual([name, status, true])
      }
    }
  })

  it("have a place for a database that does not answer: 503, or else 500, and never 401", () => {
    for (const error of [storage]) {
      for (const { errors, name } of all)
        expect([name, statusOf(name, error)]).toEqual([name, errors.has(503) ? 503 : 500])
    }
  })

  it("turn a status outside the set into a 500 that is logged", () => {
    const limited = new TooManyRequests({ error: { message: "rate limit exceeded" } })
    const closed = Failures.restrictToContract(operation("currentKey"), Failures.classify(limited))
    expect([closed.failure.status, closed.failure.message, closed.unexpected]).toEqual([
      500,
      "internal server error",
      true
    ])
  })

  it("give the reason in a 404 where there is no 400", () => {
    const { failure } = Failures.restrictToContract(
      operation("deleteFile"),
      Failures.classify(new BadRequest({ error: { message: "invalid request parameters: file_id: too long" } }))
    )
    expect([failure.status, failure.message]).toEqual([404, "resource not found: file_id: too long"])
  })
})

describe("classify", () => {
  it("tells a full disk from a body cut short", () => {
    const full = MultipartError.fromReason("InternalError", Object.assign(new Error("no space"), { code: "ENOSPC" }))
    expect(statusOf("transcribe", full)).toBe(503)
    expect(statusOf("transcribe", MultipartError.fromReason("InternalError", new Error("premature end")))).toBe(400)
    expect(statusOf("transcribe", MultipartError.fromReason("InternalError", { _tag: "ReachedLimit" }))).toBe(413)
  })

  it("makes a 500 of a defect", () => {
    expect(Failures.classify(new Error("a bug"))).toMatchObject({ failure: { status: 500 }, unexpected: true })
    expect(Failures.classify("not even an error")).toMatchObject({ failure: { status: 500 }, unexpected: true })
  })
})

describe("what is logged of an error", () => {
  it("quotes nothing that was parsed", () => {
    expect(Failures.describe(new SyntaxError('Unexpected token "mg_sk_secret" is not valid JSON'))).toBe("SyntaxError")
    expect(Failures.describe({ secret: "mg_sk_secret" })).toBe("a defect that is not an Error (object)")
    expect(Failures.describe(storage)).toBe("test: The disk is full.")
  })
})
