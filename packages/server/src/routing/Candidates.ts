/**
 * Selects and orders the offers that may serve a request, from the caller's preferences, the
 * guardrail and the offers' capabilities.
 */
import { type BadRequest, Forbidden, type Issue, NotFound } from "@model-gateway/core/GatewayError"
import type { Preferences } from "@model-gateway/core/Routing"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { DataPolicy } from "@model-gateway/offers/DataPolicy"
import type { Kind, Offer } from "@model-gateway/offers/Offer"
import { perUnit, units } from "@model-gateway/offers/Pricing"
import { Effect } from "effect"
import { allowsModel, allowsProvider, type Guardrail } from "../access/Guardrail.ts"
import * as Issues from "../internal/Issues.ts"
import type * as Candidate from "./Candidate.ts"
import type { Entry, ModelCatalog } from "./ModelCatalog.ts"
import * as FreeTier from "./FreeTier.ts"
import * as AllowedProviderKeys from "./AllowedProviderKeys.ts"

/** Measurements of a candidate, once it has answered. */
export interface Observed {
  /** Seconds per response. */
  readonly latency: number
  /** Units of work (documents, seconds of audio) per second. */
  readonly throughput: number
}

/** Which offers a request allows. */
export interface Allowed {
  readonly preferences: typeof Preferences.Type | undefined
  readonly guardrail: Guardrail | null
}

/** How a request orders the offers. */
export interface Ranking<in O extends Offer> {
  readonly preferences: typeof Preferences.Type | undefined
  readonly observed: (candidate: Candidate.Candidate) => Observed | undefined
  /** The most that the request can cost at an offer. */
  readonly quote: (offer: O) => MicroCredits.MicroCredits
  /** What the offer ignores of the request, a sentence for each. Default: nothing. */
  readonly ignored?: ((offer: O) => ReadonlyArray<string>) | undefined
  /** The provider keys that the caller may use. Default: none. */
  readonly providerKeys?: AllowedProviderKeys.Keys | undefined
  /** Whether the caller's key is one of the {@link FreeTier}. Default: false. */
  readonly isFreeTier?: boolean | undefined
}

const notFound = (reason: string) => new NotFound({ error: { message: `resource not found: ${reason}` } })

const forbidden = (reason: string) => new Forbidden({ error: { message: `insufficient permissions: ${reason}` } })

/** Fails with a 403 if the guardrail forbids the model. Runs before the catalog is read. */
export const allowModel = (model: string, guardrail: Guardrail | null): Effect.Effect<void, Forbidden> =>
  guardrail !== null && !allowsModel(guardrail, model)
    ? Effect.fail(forbidden(`the guardrail "${guardrail.name}" of this key does not allow the model ${quoted(model)}`))
    : Effect.void

/** A caller-supplied name, truncated for use in a message. */
const quoted = (name: string): string => `"${name.length > 128 ? `${name.slice(0, 128)}…` : name}"`

/** The 404 for a model that is unknown. */
export const noSuchModel = (model: string): NotFound => notFound(`there is no model ${quoted(model)}`)

/** The 404 for a model that is unknown or of another kind. */
export const unknownModel = (catalog: ModelCatalog["Service"], kind: Kind, model: string): NotFound => {
  const kinds = catalog.kindsOf(model)
  return kinds.length === 0
    ? noSuchModel(model)
    : notFound(`${quoted(model)} is a ${kinds.join(" and ")} model, not a ${kind} model`)
}

/** Whether none of the offer's prices exceeds the limit for its unit. */
const isAffordable = ({ pricing }: Offer, preferences: typeof Preferences.Type | undefined): boolean => {
  const limits = preferences?.max_price
  if (limits === undefined) return true
  const prices = perUnit(pricing)
  return units.every((unit) => {
    const [price, limit] = [prices[unit], limits[unit]]
    return price === undefined || limit === undefined || price <= limit * MicroCredits.perCredit
  })
}

/** Whether the provider declares that it does not train on requests, nor keep them for good. */
const collectsNothing = ({ promptRetentionDays, retainsPrompts, training }: DataPolicy): boolean =>
  training === false && (retainsPrompts === false || promptRetentionDays !== undefined)

/**
 * The requirements of the preferences that an offer fulfills by what it declares. `lacks` completes
 * the sentence "no provider of the model …".
 */
const requirements: ReadonlyArray<{
  readonly isWanted: (preferences: typeof Preferences.Type) => boolean
  readonly isMet: (policy: DataPolicy) => boolean
  readonly lacks: string
}> = [
  {
    isWanted: ({ data_collection }) => data_collection === "deny",
    isMet: collectsNothing,
    lacks: 'declares that it does not collect data, as provider.data_collection "deny" requires'
  },
  {
    isWanted: ({ zdr }) => zdr === true,
    isMet: ({ retainsPrompts }) => retainsPrompts === false,
    lacks: "declares zero data retention, as provider.zdr requires"
  }
]

const declaring = <O extends Offer>(
  entry: Entry<O>,
  offers: ReadonlyArray<O>,
  preferences: typeof Preferences.Type | undefined
): Effect.Effect<ReadonlyArray<O>, NotFound> => {
  let left = offers
  for (const { isMet, isWanted, lacks } of requirements) {
    if (preferences === undefined || !isWanted(preferences)) continue
    left = left.filter(({ dataPolicy }) => dataPolicy !== undefined && isMet(dataPolicy))
    if (left.length === 0) return Effect.fail(notFound(`no provider of the model ${quoted(entry.id)} ${lacks}`))
  }
  return Effect.succeed(left)
}

/**
 * The offers that guardrail and preferences allow; at least one. Fails with a 403 if the guardrail
 * allows none, and with a 404 if the preferences match none.
 */
export const allowed = <O extends Offer>(
  entry: Entry<O>,
  { guardrail, preferences }: Allowed
): Effect.Effect<ReadonlyArray<O>, Forbidden | NotFound> => {
  if (preferences === undefined && guardrail === null) return Effect.succeed(entry.offers)
  const permitted = entry.offers.filter(({ provider }) => guardrail === null || allowsProvider(guardrail, provider))
  if (permitted.length === 0 && guardrail !== null) {
    return Effect.fail(
      forbidden(`the guardrail "${guardrail.name}" of this key allows no provider of the model ${quoted(entry.id)}`)
    )
  }
  const wanted = permitted.filter(
    (offer) =>
      preferences?.only?.includes(offer.provider) !== false &&
      preferences?.ignore?.includes(offer.provider) !== true &&
      isAffordable(offer, preferences)
  )
  return wanted.length === 0
    ? Effect.fail(notFound(`no provider of the model ${quoted(entry.id)} matches the routing preferences`))
    : declaring(entry, wanted, preferences)
}

const withoutCredential = (offers: ReadonlyArray<Offer>): NotFound => {
  const providers = [...new Set(offers.map(({ provider }) => provider))].join(" or ")
  const model = quoted(offers[0]?.publicId ?? "")
  return notFound(
    `the gateway has no credential for the model ${model} at any provider. Store a provider key for ${providers} with POST /byok, or ask the operator of the gateway for the model`
  )
}

/** The offers that ignore nothing of the request, if the preferences require it. At least one. */
const usingAll = <O extends Offer>(
  offers: ReadonlyArray<O>,
  { ignored, preferences }: Ranking<O>
): Effect.Effect<ReadonlyArray<O>, NotFound> => {
  if (preferences?.require_parameters !== true || ignored === undefined) return Effect.succeed(offers)
  let first: string | undefined
  const left = offers.filter((offer) => {
    const [sentence] = ignored(offer)
    first ??= sentence
    return sentence === undefined
  })
  return left.length > 0
    ? Effect.succeed(left)
    : Effect.fail(
        notFound(
          `no provider of the model ${quoted(offers[0]?.publicId ?? "")} uses every parameter of the request, as provider.require_parameters requires${first === undefined ? "" : `. ${first}`}`
        )
      )
}

/** The provider keys, of which those whose owner declares that data is retained cannot be used. */
const usable = (
  keys: AllowedProviderKeys.Keys,
  preferences: typeof Preferences.Type | undefined
): AllowedProviderKeys.Keys =>
  preferences?.zdr === true
    ? keys.map((key) => (key.declaredZdr === false ? { ...key, credential: undefined } : key))
    : keys

type Comparator = (a: Candidate.Candidate, b: Candidate.Candidate) => number

/** Candidates without measurements come first; otherwise they would never be measured. */
const byObservation =
  (observed: Ranking<never>["observed"], figure: (observed: Observed) => number): Comparator =>
  (a, b) => {
    const [x, y] = [observed(a), observed(b)]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1
    return figure(x) - figure(y)
  }

/** Of candidates with the same price, the faster one comes first. */
const comparator = <O extends Offer>({
  observed,
  preferences,
  quote
}: Ranking<O>): ((a: Candidate.Candidate<O>, b: Candidate.Candidate<O>) => number) => {
  const byLatency = byObservation(observed, ({ latency }) => latency)
  switch (preferences?.sort) {
    case "price":
      return (a, b) => quote(a.offer) - quote(b.offer) || byLatency(a, b)
    case "latency":
      return byLatency
    case "throughput":
      return byObservation(observed, ({ throughput }) => -throughput)
    case null:
    case undefined:
      return () => 0
  }
}

/**
 * The candidates to try, in order; only the first one without fallbacks. At least one: fails with a
 * 404 if every offer ignores a parameter that the preferences require it to use, or if there is a
 * credential for none of the offers.
 *
 * First come the providers of the caller's `order`, then the others by the caller's `sort`. What
 * these leave open is decided by the operator's order: the one in which the catalog lists the
 * offers. The caller's provider keys come before the gateway's credentials, whatever the order.
 */
export const ranked = <O extends Offer>(
  offers: ReadonlyArray<O>,
  ranking: Ranking<O>
): Effect.Effect<ReadonlyArray<Candidate.Candidate<O>>, NotFound> =>
  Effect.flatMapEager(usingAll(offers, ranking), (offers) => ordered(offers, ranking))

const ordered = <O extends Offer>(
  offers: ReadonlyArray<O>,
  ranking: Ranking<O>
): Effect.Effect<ReadonlyArray<Candidate.Candidate<O>>, NotFound> => {
  const all = AllowedProviderKeys.groupsOf(offers, usable(ranking.providerKeys ?? [], ranking.preferences))
  const groups = ranking.isFreeTier === true ? FreeTier.allowed(all) : all
  const candidates = groups.flat()
  if (candidates.length === 0) return Effect.fail(withoutCredential(offers))
  const { preferences } = ranking
  if (preferences === undefined || candidates.length === 1) return Effect.succeed(candidates)
  const order = preferences.order ?? []
  const place = ({ offer }: Candidate.Candidate): number => {
    const index = order.indexOf(offer.provider)
    return index === -1 ? order.length : index
  }
  const compare = comparator(ranking)
  const sorted = groups.flatMap((group) => group.toSorted((a, b) => place(a) - place(b) || compare(a, b)))
  return Effect.succeed(preferences.allow_fallbacks === false ? sorted.slice(0, 1) : sorted)
}

/**
 * The offers whose models support the request, so that nothing is reserved for one that none
 * supports. If none does, a 400 that lists what the first one does not support; `reason` replaces
 * the summary in its message. Filter before {@link ranked}: without fallbacks, only one is left
 * after it.
 */
export const supporting = <O extends Offer>(
  offers: ReadonlyArray<O>,
  unsupported: (offer: O) => ReadonlyArray<Issue>,
  reason?: string
): Effect.Effect<ReadonlyArray<O>, BadRequest> => {
  let first: ReadonlyArray<Issue> | undefined
  const able = offers.filter((offer) => {
    const issues = unsupported(offer)
    first ??= issues
    return issues.length === 0
  })
  return able.length === 0 ? Effect.fail(Issues.invalid(first ?? [], reason)) : Effect.succeed(able)
}

/**
 * Fails with a 400 if one of the offers refuses its provider's entry of `provider.options`, even if
 * another provider could serve the request: the caller has to know of it. Runs before anything is
 * reserved.
 */
export const checkOptions = (
  offers: ReadonlyArray<Offer>,
  preferences: typeof Preferences.Type | undefined
): Effect.Effect<void, BadRequest> => {
  if (preferences?.options === undefined) return Effect.void
  const given = new Map(Object.entries(preferences.options))
  const issues = offers.flatMap(({ passthrough, provider }) => passthrough?.issues(given.get(provider) ?? {}) ?? [])
  return issues.length === 0 ? Effect.void : Effect.fail(Issues.invalid(issues))
}

/** The most that a request can cost, by who pays for it. Undefined: there is no such candidate. */
export interface Quotes {
  /** With a credential of the gateway. */
  readonly gateway: MicroCredits.MicroCredits | undefined
  /** With a provider key. */
  readonly byok: MicroCredits.MicroCredits | undefined
  /** Whether an offer with a credential of the gateway counts toward the key's free requests. */
  readonly isFree: boolean
  /** Whether an offer with a credential of the gateway has a price. */
  readonly isPriced: boolean
}

/** The quotes without the gateway's credentials. */
export const byokOnly = ({ byok }: Quotes): Quotes => ({ gateway: undefined, byok, isFree: false, isPriced: false })

/** The largest quotes of the candidates. They are reserved before the first call. */
export const quotesOf = <O extends Offer>(
  candidates: ReadonlyArray<Candidate.Candidate<O>>,
  quote: (offer: O) => MicroCredits.MicroCredits
): Quotes => {
  const largest = (some: ReadonlyArray<Candidate.Candidate<O>>) =>
    some.length === 0 ? undefined : MicroCredits.make(Math.max(0, ...some.map(({ offer }) => quote(offer))))
  const byok = candidates.filter((candidate) => AllowedProviderKeys.usesProviderKey(candidate))
  const others = candidates.filter((candidate) => !AllowedProviderKeys.usesProviderKey(candidate))
  return {
    gateway: largest(others),
    byok: largest(byok),
    isFree: others.some(({ offer }) => offer.isFree),
    isPriced: others.some(({ offer }) => !FreeTier.costsNothing(offer))
  }
}
