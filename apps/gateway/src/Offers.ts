/**
 * Which models the executable offers: those of the settings file, the built-in ones of every
 * upstream that is set, then the sandbox's.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { InvalidModel } from "@model-gateway/providers/Adapter"
import { adapters } from "@model-gateway/providers/Adapters"
import type { Model } from "@model-gateway/providers/Model"
import type { Offer } from "@model-gateway/providers/Offer"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { Duration, Effect, Layer } from "effect"
import { Failure } from "./Failure.ts"
import type { Loaded } from "./LoadSettings.ts"
import * as ModelOffers from "./ModelOffers.ts"
import { Offered, type Upstream } from "./Offered.ts"
import type { Settings } from "./Settings.ts"
import * as Upstreams from "./Upstreams.ts"

/** The built-in models of an upstream: those of its adapter, if it is the adapter's own. */
const builtInsOf = ({ adapter, name, timeLimit }: Upstream): ReadonlyArray<Model> => {
  if (name !== adapter.name) return []
  return timeLimit === undefined ? adapter.models : adapter.models.map((model) => ({ ...model, timeLimit }))
}

/** The longest wait of an upstream: no shorter than that of any of its models. */
const longestOf = (models: ReadonlyArray<Model>): Duration.Duration =>
  models.reduce((longest, { timeLimit = Duration.zero }) => Duration.max(longest, timeLimit), Duration.minutes(5))

const make = Effect.fnUntraced(function* (loaded: Loaded, settings: Settings["upstreams"]) {
  const upstreams = yield* Upstreams.all(loaded, settings)
  const configured = yield* ModelOffers.all(loaded, upstreams)
  const replaced = new Set(Object.keys(loaded.file.modelSettings.models ?? {}))
  const isKept = ({ publicId }: { readonly publicId: string }) => !replaced.has(publicId)

  const builtIn: Array<Offer> = []
  const made = new Map<Model, Offer>()
  for (const upstream of upstreams) {
    const { adapter, baseUrl, credential, name } = upstream
    const added = configured.filter((each) => each.upstream === upstream).map(({ model }) => model)
    const models = [...builtInsOf(upstream).filter(isKept), ...added]
    const offers = yield* Effect.mapError(
      adapter.offers({ name, baseUrl, credential, timeLimit: longestOf(models) }, models),
      (error) => invalid(error, configured)
    )
    const start = offers.length - added.length
    builtIn.push(...offers.slice(0, start).filter(isKept))
    for (const [index, model] of added.entries()) {
      const offer = offers[start + index]
      if (offer !== undefined) made.set(model, offer)
    }
  }
  const sandbox = yield* Sandbox.make()
  yield* checkTurnedOff(loaded, [...adapters.flatMap(({ models }) => models), ...sandbox])
  const offers = [...configured.flatMap(({ model }) => made.get(model) ?? []), ...builtIn, ...sandbox.filter(isKept)]
  return Offered.of({ upstreams, offers })
})

/** The failure for a model that its adapter cannot offer. */
const invalid = ({ message, model }: InvalidModel, configured: ReadonlyArray<ModelOffers.ModelOffer>): Failure => {
  const found = configured.find((each) => each.model === model)
  return new Failure({
    message: `${found?.source ?? `The built-in model ${model.publicId}`} cannot be offered: ${message}.`
  })
}

/** Fails if a model without offers is none that could be turned off by that. */
const checkTurnedOff = (
  { file: { modelSettings, sourceOf } }: Loaded,
  builtIn: ReadonlyArray<{ readonly publicId: string }>
): Effect.Effect<void, Failure> => {
  const wrong = Object.entries(modelSettings.models ?? {}).find(
    ([id, { offers }]) => offers.length === 0 && !builtIn.some(({ publicId }) => publicId === id)
  )
  return wrong === undefined
    ? Effect.void
    : Effect.fail(
        new Failure({
          message: `${sourceOf(["models", wrong[0]])} has no offers, and there is no built-in model with this id to turn off.`
        })
      )
}

/**
 * The offers that the settings give. They share connections, which the layer keeps open.
 *
 * Offers without a credential of the gateway are for callers with a provider key of their own. They
 * are left out while callers cannot have one.
 */
export const layer = (loaded: Loaded, settings: Settings["upstreams"]): Layer.Layer<Offered, Failure> =>
  Layer.effect(
    Offered,
    Effect.map(make(loaded, settings), ({ offers, upstreams }) =>
      Offered.of({ upstreams, offers: offers.filter(({ credential }) => credential !== undefined) })
    )
  ).pipe(Layer.provide(NodeHttpClient.layerUndici))
