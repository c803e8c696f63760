import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Caller, CurrentCaller } from "../../src/access/Caller.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { Idempotency } from "../../src/admission/Idempotency.ts"
import * as IdempotentRequest from "../../src/admission/IdempotentRequest.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { databases } from "../TestDatabases.ts"

const callerOf = Effect.gen(function* () {
  const made = yield* (yield* WorkspaceStore).bootstrap()
  if (made === null) return yield* Effect.die(new Error("the database was used before"))
  return yield* (yield* KeyStore).authenticate(made.ordinaryKey)
})

/** A request of that caller with the key `once`. */
const request = <E>(caller: Caller, work: Effect.Effect<string, E>) =>
  Effect.flatMap(Idempotency, (idempotency) =>
    IdempotentRequest.once(
      idempotency,
      { operation: "test", idempotencyKey: "once", payload: Effect.succeed(["the same"]), encode: (answer) => answer },
      (keep: IdempotentRequest.Keep<string>) => Effect.tap(work, keep.store)
    )
  ).pipe(Effect.provideService(CurrentCaller, caller))

describe.each(databases)("on $name", ({ layer }) => {
  it.effect("a caller who hangs up at any moment leaves the key free for the next try", () =>
    Effect.gen(function* () {
      const caller = yield* callerOf
      // From before the claim is written, over while it is, to long after.
      for (let turns = 0; turns < 40; turns++) {
        const hanging = yield* Effect.forkChild(request(caller, Effect.never), { startImmediately: true })
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
        yield* Fiber.interrupt(hanging)
      }
      const response = yield* request(caller, Effect.succeed(`"answered"`))
      expect(response.status).toBe(200)
      expect(response.headers["idempotent-replayed"]).toBeUndefined()
      expect((yield* request(caller, Effect.succeed(`"again"`))).headers["idempotent-replayed"]).toBe("true")
    }).pipe(Effect.provide(layer))
  )
})
