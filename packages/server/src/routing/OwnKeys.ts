/**
 * Which provider keys of its own a request may use, and what they change about its candidates.
 *
 * Keys of the caller come before the gateway's own credentials, those marked as fallback after
 * them. A key can also exclude the gateway's own credentials of its provider.
 */
import type { Offer } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer } from "effect"
import type { Caller } from "../access/Caller.ts"
import { isOwn, type OwnKey, ProviderKeys } from "../access/ProviderKeys.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Candidate from "./Candidate.ts"

/** The keys that the caller may use, in the order to try. */
export type Own = ReadonlyArray<OwnKey>

/** The keys that the callers of requests may use. */
export class OwnKeys extends Context.Service<
  OwnKeys,
  {
    /** Those of a workspace. Default: the caller's own. */
    readonly of: (caller: Caller, workspaceId?: string) => Effect.Effect<Own>
  }
>()("@model-gateway/server/routing/OwnKeys") {}

const isFor =
  ({ key }: Caller) =>
  ({ allowedKeys, allowedUsers }: OwnKey): boolean =>
    allowedKeys?.includes(key.hash) !== false &&
    (allowedUsers === null || (key.creatorUserId !== null && allowedUsers.includes(key.creatorUserId)))

/** Reads the keys of the caller's workspace. */
export const layer: Layer.Layer<OwnKeys, never, ProviderKeys> = Layer.effect(
  OwnKeys,
  Effect.map(ProviderKeys, ({ usable }) =>
    OwnKeys.of({
      of: (caller, workspaceId = caller.key.workspaceId) =>
        Effect.map(orUnavailable(usable(workspaceId)), (keys) =>
          keys.length === 0 ? keys : keys.filter(isFor(caller))
        )
    })
  )
)

const isForModel = ({ allowedModels }: OwnKey, { publicId }: Offer): boolean =>
  allowedModels?.includes(publicId) !== false

const matches = (key: OwnKey, offer: Offer): boolean => key.provider === offer.provider && isForModel(key, offer)

/** Whether the offer may be called with the gateway's own credential. */
const allowsGateway = (own: Own, offer: Offer): boolean =>
  !own.some((key) => key.provider === offer.provider && (key.isByokOnly || (key.isRequired && isForModel(key, offer))))

/** The offer with each of the caller's keys for it. */
const withOwn = <O extends Offer>(own: Own, offer: O): ReadonlyArray<Candidate.Candidate<O>> =>
  own.flatMap((key) =>
    key.credential !== undefined && matches(key, offer) ? [{ offer, credential: key.credential }] : []
  )

/**
 * The candidates for the offers, in groups: every candidate of a group is tried before those of the
 * next one.
 */
export const groupsOf = <O extends Offer>(
  offers: ReadonlyArray<O>,
  own: Own
): ReadonlyArray<ReadonlyArray<Candidate.Candidate<O>>> => {
  if (own.length === 0) return [offers.flatMap(Candidate.ofGateway)]
  const first = own.filter(({ isFallback }) => !isFallback)
  const last = own.filter(({ isFallback }) => isFallback)
  return [
    offers.flatMap((offer) => withOwn(first, offer)),
    offers.filter((offer) => allowsGateway(own, offer)).flatMap(Candidate.ofGateway),
    offers.flatMap((offer) => withOwn(last, offer))
  ].filter((group) => group.length > 0)
}

/** Whether one of the offers can be called with a credential of the gateway or of the caller. */
export const isUsable = (offers: ReadonlyArray<Offer>, own: Own): boolean =>
  offers.some(
    (offer) => (offer.credential !== undefined && allowsGateway(own, offer)) || own.some((key) => matches(key, offer))
  )

/** Whether one of the offers can be called with a key of the caller, which costs it no credits. */
export const hasOwn = (offers: ReadonlyArray<Offer>, own: Own): boolean =>
  offers.some((offer) => own.some((key) => matches(key, offer)))

/** Whether the candidate's call is billed to the caller by the provider. */
export const isByok = ({ credential }: Candidate.Candidate): boolean => isOwn(credential)
