/** The composition for a browser: the same program, and what it does not know of where it runs. */
import { BrowserGateway } from "@model-gateway/browser"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { Effect, Layer, ManagedRuntime } from "effect"
import { ManagementGateway } from "../Program.ts"
import { wireNames } from "../WireWords.ts"
import * as BlobVideoStore from "./BlobVideoStore.ts"
import * as Session from "./Session.ts"

/** Somebody waits and looks on: give up sooner than a server would. */
const retryPolicy = RetryPolicy.make({ maxRetries: 2, deadline: "2 minutes", maxRetryAfter: "3 seconds" })

/** By the short-lived key. */
const ordinary = Layer.unwrap(
  Effect.map(Session.Session, ({ token }) => BrowserGateway.layer({ credential: token, retryPolicy, wireNames }))
)

/**
 * Calls with the management key that a person typed into this page. There is no ephemeral
 * management key, so the page keeps this one in memory until it is closed or reloaded.
 */
const management = Layer.effect(ManagementGateway, Gateway.Gateway).pipe(
  Layer.provide(
    Layer.unwrap(
      Effect.map(Session.Session, ({ managementKey }) =>
        BrowserGateway.layer({ credential: managementKey, dangerouslyAllowLongLivedKey: true, retryPolicy })
      )
    )
  )
)

const layer = Layer.mergeAll(ordinary, management, BlobVideoStore.layer).pipe(Layer.provideMerge(Session.layer))

/** Runs everything that the page does; it lives as long as the page. */
export const runtime = ManagedRuntime.make(layer)

/** What an Effect of the page may ask for. */
export type Services = Layer.Success<typeof layer>
