/** Composes the sample for a browser: clients, session and video store. */
import { BrowserGateway } from "@model-gateway/browser"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { Effect, Layer, ManagedRuntime } from "effect"
import { ManagementGateway } from "../Program.ts"
import { wireNames } from "../WireNames.ts"
import { baseUrl } from "./baseUrl.ts"
import * as BlobVideoStore from "./BlobVideoStore.ts"
import * as Session from "./Session.ts"

/** A person is waiting, so it gives up sooner than the default policy. */
const retryPolicy = RetryPolicy.make({ maxRetries: 2, deadline: "2 minutes", maxRetryAfter: "3 seconds" })

/** The client with the short-lived key. */
const ordinary = Layer.unwrap(
  Effect.map(Session.Session, ({ token }) =>
    BrowserGateway.layer({ baseUrl, credential: token, retryPolicy, wireNames })
  )
)

/**
 * The client with the management key that a person entered. There are no short-lived management
 * keys, so the page keeps this key in memory until it is closed or reloaded.
 */
const management = Layer.effect(ManagementGateway, Gateway.Gateway).pipe(
  Layer.provide(
    Layer.unwrap(
      Effect.map(Session.Session, ({ managementKey }) =>
        BrowserGateway.layer({ baseUrl, credential: managementKey, dangerouslyAllowLongLivedKey: true, retryPolicy })
      )
    )
  )
)

const layer = Layer.mergeAll(ordinary, management, BlobVideoStore.layer).pipe(Layer.provideMerge(Session.layer))

/** Runs all Effects of the page. */
export const runtime = ManagedRuntime.make(layer)

/** The services that an Effect of the page can use. */
export type Services = Layer.Success<typeof layer>
