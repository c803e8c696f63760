/**
 * Which provider keys a request may use, and what they change about its candidates.
 *
 * Keys of the caller come before the gateway's own credentials, those marked as fallback after
 * them. A key can also exclude the gateway's own credentials of its provider.
 */
import type { Offer } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer } from "effect"
import type { Caller } from "../access/Caller.ts"
import { isProviderKey, type UsableProviderKey, ProviderKeys } from "../access/ProviderKeys.ts"
import * as Candidate from "./Candidate.ts"

/** The keys that the caller may use, in the order to try. */
export type Keys = ReadonlyArray<UsableProviderKey>

/** The keys that the callers of requests may use. */
export class AllowedProviderKeys extends Context.Service<
  AllowedProviderKeys,
  {
    /** Those of a workspace. Default: the caller's own. */
    readonly of: (caller: Caller, workspaceId?: string) => Effect.Effect<Keys>
  }
>()("@model-gateway/server/routing/AllowedProviderKeys") {}

const isFor =
  ({ key }: Caller) =>
  ({ allowedKeys, allowedUsers }: UsableProviderKey): boolean =>
    allowedKeys?.includes(key.hash) !== false &&
    (allowedUsers === null || (key.creatorUserId !== null && allowedUsers.includes(key.creatorUserId)))

/** Reads the keys of the caller's workspace. */
export const layer: Layer.Layer<AllowedProviderKeys, never, ProviderKeys> = Layer.effect(
  AllowedProviderKeys,
  Effect.map(ProviderKeys, ({ usable }) =>
    AllowedProviderKeys.of({
      of: (caller, workspaceId = caller.key.workspaceId) =>
        Effect.mapEager(Effect.catchEager(usable(workspaceId), Effect.die), (keys) =>
          keys.length === 0 ? keys : keys.filter(isFor(caller))
        )
    })
  )
)

const isForModel = ({ allowedModels }: UsableProviderKey, { publicId }: Offer): boolean =>
  allowedModels?.includes(publicId) !== false

const matches = (key: UsableProviderKey, offer: Offer): boolean =>
  key.provider === offer.provider && isForModel(key, offer)

/** Whether the offer may be called with the gateway's own credential. */
const allowsGateway = (keys: Keys, offer: Offer): boolean =>
  !keys.some((key) => key.provider === offer.provider && (key.isByokOnly || (key.isRequired && isForModel(key, offer))))

/** The offer with each provider key for it. */
const withKeys = <O extends Offer>(keys: Keys, offer: O): ReadonlyArray<Candidate.Candidate<O>> =>
  keys.flatMap((key) =>
    key.credential !== undefined && matches(key, offer) ? [{ offer, credential: key.credential }] : []
  )

/**
 * The candidates for the offers, in groups: every candidate of a group is tried before those of the
 * next one.
 */
export const groupsOf = <O extends Offer>(
  offers: ReadonlyArray<O>,
  keys: Keys
): ReadonlyArray<ReadonlyArray<Candidate.Candidate<O>>> => {
  if (keys.length === 0) return [offers.flatMap(Candidate.ofGateway)]
  const first = keys.filter(({ isFallback }) => !isFallback)
  const last = keys.filter(({ isFallback }) => isFallback)
  return [
    offers.flatMap((offer) => withKeys(first, offer)),
    offers.filter((offer) => allowsGateway(keys, offer)).flatMap(Candidate.ofGateway),
    offers.flatMap((offer) => withKeys(last, offer))
  ].filter((group) => group.length > 0)
}

/** Whether one of the offers can be called with a credential of the gateway or of the caller. */
export const isUsable = (offers: ReadonlyArray<Offer>, keys: Keys): boolean =>
  offers.some(
    (offer) => (offer.credential !== undefined && allowsGateway(keys, offer)) || keys.some((key) => matches(key, offer))
  )

/** Whether one of the offers can be called with a provider key, which costs no credits. */
export const hasKeyFor = (offers: ReadonlyArray<Offer>, keys: Keys): boolean =>
  offers.some((offer) => keys.some((key) => matches(key, offer)))

/** Whether the candidate's call is billed to the caller by the provider. */
export const usesProviderKey = ({ credential }: Candidate.Candidate): boolean => isProviderKey(credential)
