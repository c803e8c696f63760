import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Duration } from "effect"
import * as Errors from "../src/ProviderError.ts"

describe("ProviderError", () => {
  it("speaks with its reason's words", () => {
    assert.strictEqual(Errors.invalidRequest("the audio is empty").message, "the audio is empty")
    assert.strictEqual(
      new Errors.ProviderError({ reason: new Errors.Unauthorized() }).message,
      "the provider rejected its credentials"
    )
  })

  it("another provider is asked when the fault is the provider's, not when it is the request's", () => {
    const wait = { retryAfter: Duration.seconds(2) }
    const canFallBack = (reason: Errors.Reason) => new Errors.ProviderError({ reason }).canFallBack
    const providers: ReadonlyArray<Errors.Reason> = [
      new Errors.InputTooLarge({ message: "at most 100 documents" }),
      new Errors.UnknownModel({ model: "m" }),
      new Errors.Unauthorized(),
      new Errors.OutOfCredit(),
      new Errors.RateLimited(wait),
      new Errors.Overloaded({}),
      new Errors.Unavailable({}),
      new Errors.Timeout(),
      new Errors.BadResponse({ description: "no results" })
    ]
    assert.deepStrictEqual(
      providers.filter((reason) => !canFallBack(reason)),
      []
    )
    assert.strictEqual(canFallBack(new Errors.InvalidRequest({ message: "no" })), false)
    assert.strictEqual(canFallBack(new Errors.Simulated({ status: 503, ...wait })), false)
  })

  it("names every reason by a tag", () => {
    expectTypeOf<Errors.Reason["_tag"]>().toEqualTypeOf<
      | "InvalidRequest"
      | "InputTooLarge"
      | "UnknownModel"
      | "Unauthorized"
      | "OutOfCredit"
      | "RateLimited"
      | "Overloaded"
      | "Unavailable"
      | "Timeout"
      | "BadResponse"
      | "Simulated"
    >()
  })
})
