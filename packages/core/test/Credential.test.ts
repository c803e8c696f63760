import { describe, expect, it } from "@effect/vitest"
import { type ClientError, Gateway, GatewayConfig, RetryPolicy } from "@model-gateway/core"
import * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { Cause, Data, Effect, Logger, Redacted, Schedule } from "effect"
import { inspect } from "node:util"
import * as Stub from "./stub.ts"

const gateway = Gateway.Gateway

const policy = (maxRetries: number) =>
  Effect.provideService(
    RetryPolicy.RetryPolicy,
    RetryPolicy.make({ maxRetries, schedule: () => Schedule.spaced("0 millis") })
  )

const currentKey = Effect.flatMap(gateway, (client) => client.currentKey)

const rerank = Effect.flatMap(gateway, (client) => client.rerank({ model: "m", query: "q", documents: ["d"] }))

/** A credential Effect with a new token every time, and what it was told about the rejected one. */
const rotating = () => {
  const refused: Array<string | undefined> = []
  const credential = Effect.gen(function* () {
    const token = yield* GatewayConfig.RefusedToken
    refused.push(token === undefined ? undefined : Redacted.value(token))
    return Redacted.make(`token_${refused.length}`)
  })
  return { refused, credential }
}

const tokens = (stub: ReturnType<typeof Stub.make>) => stub.sent.map(({ headers }) => headers["authorization"])

describe("after a 401", () => {
  it.effect("the credential Effect runs once more with the rejected token, also without retries", () => {
    const { credential, refused } = rotating()
    const stub = Stub.make((_, number) => (number === 1 ? Stub.failure(401) : Stub.json({ data: Stub.keyRecord })))
    return Effect.gen(function* () {
      expect(yield* currentKey).toEqual(Stub.keyRecord)
      expect(refused).toEqual([undefined, "token_1"])
      expect(tokens(stub)).toEqual(["Bearer token_1", "Bearer token_2"])
    }).pipe(stub.run({ credential }), policy(0))
  })

  it.effect("the repeated call is not one of the policy's retries", () => {
    const stub = Stub.make((_, number) => (number === 1 ? Stub.failure(401) : Stub.failure(503)))
    return Effect.gen(function* () {
      expect(yield* Effect.flip(currentKey)).toMatchObject({ status: 503, attempts: 4 })
      expect(tokens(stub)).toEqual(["Bearer token_1", "Bearer token_2", "Bearer token_2", "Bearer token_2"])
    }).pipe(stub.run({ credential: rotating().credential }), policy(2))
  })

  it.effect("a second 401 fails the call", () => {
    const { credential, refused } = rotating()
    const stub = Stub.make(() => Stub.failure(401))
    return Effect.gen(function* () {
      expect(yield* Effect.flip(currentKey)).toMatchObject({ _tag: "Unauthorized", attempts: 2 })
      expect(refused).toHaveLength(2)
    }).pipe(stub.run({ credential }), policy(3))
  })

  it.effect("the same token again, or none, fails the call with the 401", () =>
    Effect.gen(function* () {
      let asked = 0
      const gone = Effect.suspend(() => (asked++ === 0 ? Effect.succeed(Redacted.make("t")) : Effect.fail("gone")))
      for (const credential of [Redacted.make("t"), Effect.succeed(Redacted.make("t")), gone]) {
        const stub = Stub.make(() => Stub.failure(401))
        const error = yield* Effect.flip(currentKey).pipe(stub.run({ credential }), policy(3))
        expect(error).toMatchObject({ _tag: "Unauthorized", attempts: 1 })
        expect(stub.sent).toHaveLength(1)
      }
    })
  )
})

describe("the token of a paid call", () => {
  for (const status of [408, 502, 504, 524] as const) {
    it.effect(`stays the same after a ${status}, which may come from a proxy although the work was done`, () => {
      const stub = Stub.make((_, number) => (number < 3 ? Stub.failure(status) : Stub.json(Stub.ranking)))
      return Effect.gen(function* () {
        yield* rerank
        expect(tokens(stub)).toEqual(["Bearer token_1", "Bearer token_1", "Bearer token_1"])
      }).pipe(stub.run({ credential: rotating().credential }), policy(3))
    })
  }

  it.effect("is not replaced after a 401 if an earlier attempt may have done the work", () => {
    const stub = Stub.make((_, number) => (number === 1 ? "cut" : Stub.failure(401)))
    return Effect.gen(function* () {
      expect(yield* Effect.flip(rerank)).toMatchObject({ _tag: "Unauthorized", attempts: 2 })
      expect(tokens(stub)).toEqual(["Bearer token_1", "Bearer token_1"])
    }).pipe(stub.run({ credential: rotating().credential }), policy(3))
  })
})

it.effect("requests of the credential Effect are not taken for attempts of the call", () => {
  const seen: Array<unknown> = []
  const credential = Effect.gen(function* () {
    seen.push(yield* RetryPolicy.CurrentAttempt, yield* UploadMonitor.UploadMonitor)
    return Redacted.make("t")
  })
  const stub = Stub.make(() => Stub.json({ data: Stub.keyRecord }))
  return Effect.gen(function* () {
    yield* currentKey
    expect(seen).toEqual([undefined, undefined])
  }).pipe(stub.run({ credential }))
})

class VaultError extends Data.TaggedError("VaultError")<{ readonly url: string }> {
  override readonly message = `cannot reach ${this.url}`
}

class SignedOut extends Data.TaggedError("SignedOut") {
  readonly [GatewayConfig.ShownError] = true
  override readonly message = "sign in first"
}

/** All that a program may print of an error. */
const printed = Effect.fnUntraced(function* (error: ClientError.TransportError) {
  const lines: Array<string> = []
  const log = (logger: Logger.Logger<unknown, string>) =>
    Logger.layer([Logger.map(logger, (line) => void lines.push(line))], { mergeWithExisting: false })
  for (const logger of [Logger.formatLogFmt, Logger.formatJson, Logger.formatSimple]) {
    yield* Effect.logError("failed", error, Cause.fail(error)).pipe(Effect.provide(log(logger)))
  }
  return [
    error.message,
    String(error),
    error.stack,
    JSON.stringify(error),
    inspect(error, { depth: Infinity, showHidden: true }),
    Cause.pretty(Cause.fail(error)),
    ...lines
  ].join("\n")
})

describe("a credential Effect that fails", () => {
  const secret = "hunter2"
  const failures: { readonly [name: string]: unknown } = {
    "an Error": new Error(`no token from https://user:${secret}@vault.test`),
    "an Error with a cause": new Error("no token", { cause: new Error(secret) }),
    "a tagged error": new VaultError({ url: `https://user:${secret}@vault.test` }),
    "a text": secret,
    "an object": { secret }
  }

  for (const [name, failure] of Object.entries(failures)) {
    it.effect(`with ${name} shows nothing of it`, () => {
      const stub = Stub.make(() => Stub.json({}))
      return Effect.gen(function* () {
        const error = yield* Effect.flip(currentKey)
        if (error._tag !== "TransportError") throw new Error(`unexpected ${error._tag}`)
        expect(error).toHaveProperty("underlying", undefined)
        const text = yield* printed(error)
        expect(text).toContain("currentKey: nothing was sent, because the credential is not available")
        expect(text).not.toContain(secret)
      }).pipe(stub.run({ credential: Effect.fail(failure) }))
    })
  }

  it.effect("with a marked error quotes it", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(currentKey)
      expect(error).toMatchObject({
        _tag: "TransportError",
        message: "currentKey: nothing was sent, because the credential is not available: sign in first"
      })
      expect("underlying" in error && error.underlying).toBeInstanceOf(SignedOut)
    }).pipe(stub.run({ credential: Effect.fail(new SignedOut()) }))
  })
})
