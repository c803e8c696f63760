/**
 * Replaces the offers and the secrets of a service that runs. Requests in flight keep those that
 * they began with, and every later one uses the new ones.
 *
 * One reference holds all of it, so that a request never meets a part of the former settings and a
 * part of the new ones.
 */
import type { Offers } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer, Ref } from "effect"
import { GatewayServerConfig } from "./GatewayServerConfig.ts"
import { LiveSecrets, type Secrets } from "./LiveSecrets.ts"
import { type FileApis, FileProviders } from "./objects/FileProviders.ts"
import * as ModelCatalog from "./routing/ModelCatalog.ts"

/** What a reload replaces. */
export interface Reloaded {
  /** The offers of models, in order of preference. */
  readonly offers: Offers
  /** The providers on which callers may delete files with a provider key. Default: none. */
  readonly fileProviders?: FileApis | undefined
  /**
   * Makes the offer for video jobs whose model has changed since they were accepted, or is no
   * longer offered. Default: these jobs use the present offer of the model, or fail without one.
   */
  readonly makeVideoOffer?: ModelCatalog.MakeVideoOffer | undefined
  /** The secrets of the settings. */
  readonly secrets: Secrets
}

/** Replaces what the service offers, and its secrets. */
export class Reload extends Context.Service<Reload, (next: Reloaded) => Effect.Effect<void>>()(
  "@model-gateway/server/Reload"
) {}

interface Live {
  readonly catalog: ModelCatalog.ModelCatalog["Service"]
  readonly fileProviders: FileApis
  readonly secrets: Secrets
}

const liveOf = ({ fileProviders = {}, makeVideoOffer, offers, secrets }: Reloaded): Live => ({
  catalog: ModelCatalog.make(offers, makeVideoOffer),
  fileProviders,
  secrets
})

/**
 * The offers and secrets that can be replaced, which begin as these offers and the secrets of
 * {@link GatewayServerConfig}.
 */
export const layer = (first: Omit<Reloaded, "secrets">): Layer.Layer<Reload | ModelCatalog.ModelCatalog> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const live = yield* Ref.make(liveOf({ ...first, secrets: yield* GatewayServerConfig }))
      const current = () => Ref.getUnsafe(live)
      return Context.make(
        Reload,
        Effect.fn("Reload")((next: Reloaded) => Ref.set(live, liveOf(next)))
      ).pipe(
        Context.add(
          ModelCatalog.ModelCatalog,
          ModelCatalog.delegate(() => current().catalog)
        ),
        Context.add(FileProviders, () => current().fileProviders),
        Context.add(LiveSecrets, () => current().secrets)
      )
    })
  )
