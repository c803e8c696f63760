import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Duration } from "effect"
import * as Errors from "../src/ProviderError.ts"

describe("ProviderError", () => {
  it("has the message of its reason", () => {
    assert.strictEqual(Errors.invalidRequest("the audio is empty").message, "the audio is empty")
    assert.strictEqual(
      new Errors.ProviderError({ reason: new Errors.Unauthorized() }).message,
      "the provider rejected its credentials"
    )
  })

  it("another provider is tried if the provider failed, and not if the request is invalid", () => {
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
      new Errors.ConnectionLost(),
      new Errors.BadResponse({ description: "no results" })
    ]
    assert.deepStrictEqual(
      providers.filter((reason) => !canFallBack(reason)),
      []
    )
    assert.strictEqual(canFallBack(new Errors.InvalidRequest({ message: "no" })), false)
    assert.strictEqual(canFallBack(new Errors.Simulated({ status: 503, ...wait })), false)
  })

  it("has a tag for every reason", () => {
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
      | "ConnectionLost"
      | "BadResponse"
      | "Simulated"
    >()
  })
})
