/** Background purges do not delay the start. */
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Accounting, layerBackground } from "../../../src/accounting/Accounting.ts"
import * as Idempotency from "../../../src/admission/Idempotency.ts"
import * as EphemeralKeys from "../../../src/access/EphemeralKeys.ts"
import { layer } from "../../TestStorage.ts"

it.effect("a purge that never ends does not delay the start", () =>
  Effect.gen(function* () {
    const idempotency = { ...(yield* Idempotency.Idempotency), purge: Effect.never }
    const ephemeralKeys = { ...(yield* EphemeralKeys.EphemeralKeys), purge: Effect.never }
    const accounting = { ...(yield* Accounting), reap: Effect.never }
    const background = Layer.mergeAll(
      Idempotency.layerBackground().pipe(Layer.provide(Layer.succeed(Idempotency.Idempotency, idempotency))),
      EphemeralKeys.layerBackground().pipe(Layer.provide(Layer.succeed(EphemeralKeys.EphemeralKeys, ephemeralKeys))),
      layerBackground().pipe(Layer.provide(Layer.succeed(Accounting, accounting)))
    )
    const starting = yield* Effect.forkChild(Layer.build(background), { startImmediately: true })
    for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow
    expect(starting.pollUnsafe()?._tag).toBe("Success")
  }).pipe(Effect.provide(layer))
)
