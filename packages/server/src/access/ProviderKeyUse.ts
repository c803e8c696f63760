/**
 * Remembers how provider keys were used last, and writes it to the database once a minute, so that
 * no request waits for it.
 */
import type { Credential } from "@model-gateway/offers/Offer"
import { Context, type Duration, Effect, Layer } from "effect"
import * as Background from "../internal/Background.ts"
import { keyIdOf, ProviderKeys, type Use } from "./ProviderKeys.ts"

/** Records the end of a call, if its credential is a provider key. */
export type Record = (credential: Pick<Credential, "id">, use: Use) => void

/** What records the calls of this process. Default: nothing does. */
export const ProviderKeyUse = Context.Reference<Record>("@model-gateway/server/access/ProviderKeyUse", {
  defaultValue: () => () => {}
})

/** The maximum number of keys whose use waits to be written. The use of further ones is lost. */
export const maxWaiting = 10_000

/** Records calls, and writes them at an interval (default: 1 minute) and when the layer closes. */
export const layer = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, ProviderKeys> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const keys = yield* ProviderKeys
      let waiting = new Map<string, Use>()
      const write = Effect.suspend(() => {
        const uses = waiting
        waiting = new Map()
        if (uses.size === 0) return Effect.void
        return Effect.onError(keys.used(uses), () =>
          Effect.sync(() => {
            for (const [id, use] of uses) {
              if (!waiting.has(id) && waiting.size < maxWaiting) waiting.set(id, use)
            }
          })
        )
      })
      yield* Effect.addFinalizer(() => Effect.ignore(write))
      return Layer.merge(
        Layer.succeed(ProviderKeyUse, (credential, use) => {
          const id = keyIdOf(credential)
          if (id !== undefined && (waiting.has(id) || waiting.size < maxWaiting)) waiting.set(id, use)
        }),
        Background.layer({
          work: write,
          every: options?.every ?? "1 minute",
          failure: "The last uses of provider keys could not be written"
        })
      )
    })
  )
