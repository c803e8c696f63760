// The clients of the page. They call the gateway itself, with short-lived keys from this server.
import * as BrowserClient from "@model-gateway/browser/BrowserClient"
import * as Settings from "@model-gateway/browser/Settings"
import * as TokenSource from "@model-gateway/browser/TokenSource"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { createVideoKey } from "./actions.ts"

/** Gets its keys from `POST /api/token`. */
export const transcriptions = ManagedRuntime.make(BrowserClient.layerSettings(Settings.fromMeta))

/** Gets its keys from a server action. Each is replaced when the gateway rejects it. */
export const videos = ManagedRuntime.make(
  Layer.unwrap(
    Effect.gen(function* () {
      const { base_url } = yield* Settings.fromMeta
      const acquire = Effect.map(Effect.tryPromise(createVideoKey), (key) => ({
        key: Redacted.make(key),
        lifetime: undefined
      }))
      const { token } = yield* TokenSource.make(acquire)
      return BrowserClient.layer({ baseUrl: base_url, credential: token })
    })
  )
)
