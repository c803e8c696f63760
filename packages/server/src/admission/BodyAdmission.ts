/**
 * Admits the body of a request whose caller is authorized: the step between authorization and
 * handler. Before it reads a large body, it checks whether the caller has anything left to spend.
 */
import { RequestBody } from "@model-gateway/core/unstable/RequestBody"
import { Effect, Layer } from "effect"
import { currentCaller } from "../access/Caller.ts"
import type { BodyMemory } from "../http/BodyMemory.ts"
import * as BodyGuard from "../http/BodyGuard.ts"
import * as Failures from "../http/Failures.ts"
import * as UnknownParameters from "../http/UnknownParameters.ts"
import * as AllowedProviderKeys from "../routing/AllowedProviderKeys.ts"
import { Admission } from "./Admission.ts"

/** The step, over the admission of paid work. */
export const layer: Layer.Layer<RequestBody, never, Admission | BodyMemory | AllowedProviderKeys.AllowedProviderKeys> =
  Layer.effect(
    RequestBody,
    Effect.gen(function* () {
      const { requireCredits } = yield* Admission
      const allowedKeys = yield* AllowedProviderKeys.AllowedProviderKeys
      const guard = yield* BodyGuard.make({
        // A caller with a provider key may need no credits. The body says which model.
        admitLarge: (idempotencyKey) =>
          Effect.flatMap(currentCaller, (caller) =>
            Effect.flatMap(allowedKeys.of(caller), (providerKeys) =>
              providerKeys.length === 0 ? requireCredits(caller, idempotencyKey) : Effect.void
            )
          )
      })
      return RequestBody.of((httpEffect, { endpoint }) =>
        Failures.unencoded(UnknownParameters.refuse(endpoint, guard(endpoint, httpEffect)))
      )
    })
  )
