/**
 * The path of a paid request, once for rerank, transcription and video: which offers may serve it,
 * in which order, what it may cost, and the call.
 *
 * The checks come in this order: the guardrail's models (403), the catalog (404), the guardrail's
 * providers (403), the routing preferences (404), the options for providers and what the offers
 * support (400), the credentials (404). Then {@link Admission} checks what the caller can pay. A
 * new check belongs here or there, and applies to all kinds of work.
 */
import type { BadRequest, Forbidden, NotFound } from "@model-gateway/core/GatewayError"
import type { Preferences } from "@model-gateway/core/Routing"
import type { Metadata as TraceMetadata } from "@model-gateway/core/Trace"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Credential, Ignoring, Offer } from "@model-gateway/offers/Offer"
import type { Charge } from "@model-gateway/offers/Pricing"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { type Context, type Duration, Effect, Exit } from "effect"
import { type Caller, callerOf } from "../access/Caller.ts"
import type { Candidate } from "../routing/Candidate.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as Candidates from "../routing/Candidates.ts"
import { type Entry, ModelCatalog } from "../routing/ModelCatalog.ts"
import * as AllowedProviderKeys from "../routing/AllowedProviderKeys.ts"
import type { ToError } from "../routing/ProviderFailures.ts"
import { type Answered, Router } from "../routing/Router.ts"
import * as Warnings from "../routing/Warnings.ts"
import { Admission, type JobAdmission, type PaidRequest, type Served, type ServedRequest } from "./Admission.ts"

/** An offer that takes requests of the type. */
type OfferFor<Request> = Offer & Ignoring<Request> & { readonly quote: (request: Request) => MicroCredits.MicroCredits }

/** What an offer answers a call with. */
interface Ran<Result> {
  readonly answer: Result
  readonly charge: Charge
}

/** An offer that answers with a result of the type. */
type ServingOffer<Request, Result> = OfferFor<Request> & {
  readonly run: (request: Request, credential: Credential) => Effect.Effect<Ran<Result>, ProviderError>
}

/** The fields that the requests of all kinds of work share. */
export interface Wanted {
  readonly model: string
  /** The routing preferences. */
  readonly provider?: typeof Preferences.Type | undefined
  readonly trace?: TraceMetadata | undefined
  readonly user?: string | undefined
}

/** A request, and the offers that guardrail and preferences allow for it. At least one. */
export interface Permitted<O extends Offer> {
  readonly caller: Caller
  readonly wanted: Wanted
  readonly offers: ReadonlyArray<O>
  /** The caller's provider keys. */
  readonly providerKeys: AllowedProviderKeys.Keys
}

/** A kind of paid work. */
export interface Kind<O extends Offer, Request> {
  readonly kind: PaidRequest<unknown>["operation"]
  /** Finds a model in the catalog. */
  readonly find: (model: string) => Entry<O> | undefined
  /**
   * What an offer ignores of a request, a sentence for each. Default: what the offer states itself.
   */
  readonly ignored?: (offer: O, request: Request) => ReadonlyArray<string>
}

/** A kind of work that is answered when it is done. */
export interface ServedKind<O extends Offer, Request, E> extends Kind<O, Request> {
  readonly kind: ServedRequest<unknown>["operation"]
  /** The time limit of an attempt at an offer that has none of its own. */
  readonly attemptTimeout: Duration.Duration
  /** The time limit of all attempts together. */
  readonly deadline: Duration.Duration
  readonly toError: ToError<E>
}

/** What offers have to support, and what they get. */
export interface Choice<O extends Offer, Request, E> {
  /** The offers that support the request, at least one. */
  readonly supporting: (offers: ReadonlyArray<O>) => Effect.Effect<ReadonlyArray<O>, E>
  /** The request as an offer receives it. */
  readonly requestFor: (offer: O) => Request
}

/** A request, as its kind of work understands it. */
export interface Work<O extends Offer, Request, A, E>
  extends Choice<O, Request, E>, Pick<PaidRequest<A>, "idempotencyKey" | "payload" | "encode" | "abridged"> {}

/** A request that is answered when its work is done. */
export interface ServedWork<O extends Offer, Request, Result, A, E> extends Work<O, Request, A, E> {
  readonly input: ServedRequest<A>["input"]
  /** Units of work in the request, for measuring throughput. */
  readonly units: number
  readonly toAnswer: (done: Done<O, Result>, cost: MicroCredits.MicroCredits) => A
}

/** The work that an offer has done. */
export interface Done<O extends Offer, Result> {
  /** The generation id. */
  readonly id: string
  readonly offer: O
  readonly result: Result
  readonly charge: Charge
  /** What offer and upstream ignored of the request. */
  readonly warnings: Warnings.Warnings
}

/** The candidates for a job, in the order to try. */
export type JobCandidates<O extends Offer> = readonly [Candidate<O>, ...ReadonlyArray<Candidate<O>>]

/** The steps up to the candidates. */
const makeChoice = Effect.fnUntraced(function* <Request, O extends OfferFor<Request>>(
  { find, kind, ignored = (offer, request) => offer.ignored?.(request) ?? [] }: Kind<O, Request>,
  observed: Candidates.Ranking<O>["observed"]
) {
  const admission = yield* Admission
  const catalog = yield* ModelCatalog
  const allowedKeys = yield* AllowedProviderKeys.AllowedProviderKeys

  const permitIn = Effect.fnUntracedEager(function* (
    context: Context.Context<never>,
    wanted: Wanted
  ): Effect.fn.Return<Permitted<O>, BadRequest | Forbidden | NotFound> {
    const caller = yield* callerOf(context)
    const { model, provider: preferences } = wanted
    const record = RequestContext.of(context)
    if (record !== undefined) record.model = model
    yield* Candidates.allowModel(model, caller.guardrail)
    const entry = find(model)
    if (entry === undefined) return yield* Candidates.unknownModel(catalog, kind, model)
    const offers = yield* Candidates.allowed(entry, { preferences, guardrail: caller.guardrail })
    yield* Candidates.checkOptions(offers, preferences)
    return { caller, wanted, offers, providerKeys: yield* allowedKeys.of(caller) }
  })

  /** Finds the offers that the caller may use for the request, whatever is in it. */
  const permit = (wanted: Wanted) => Effect.withFiber(({ context }) => permitIn(context, wanted))

  /**
   * Fails if the caller cannot pay, whatever the price will be. For requests that take work before
   * their price is known.
   */
  const requirePayable = ({ caller, offers, providerKeys, wanted }: Permitted<O>, idempotencyKey: string | undefined) =>
    AllowedProviderKeys.hasKeyFor(offers, providerKeys)
      ? Effect.void
      : admission.requirePayable(caller, wanted.model, offers, idempotencyKey)

  /** The candidates, in the order to try, and their quotes. */
  const rank = Effect.fnUntracedEager(function* <E>(
    { caller, offers, providerKeys, wanted }: Permitted<O>,
    { requestFor, supporting }: Choice<O, Request, E>
  ) {
    const quote = (offer: O) => offer.quote(requestFor(offer))
    const candidates = yield* Candidates.ranked(yield* supporting(offers), {
      preferences: wanted.provider,
      observed,
      providerKeys,
      isFreeTier: caller.key.isFreeTier,
      quote,
      ignored: (offer) => ignored(offer, requestFor(offer))
    })
    return { candidates, quote, quotes: Candidates.quotesOf(candidates, quote) }
  })

  /** The candidates, in the order to try, and the request as admission takes it. */
  const choose = <A, E>(permitted: Permitted<O>, work: Work<O, Request, A, E>) =>
    Effect.mapEager(rank(permitted, work), ({ candidates, quotes }) => {
      const { caller, wanted } = permitted
      const { abridged, encode, idempotencyKey, payload } = work
      const { model, trace, user } = wanted
      return { candidates, paid: { caller, model, quotes, idempotencyKey, payload, encode, abridged, trace, user } }
    })

  return { permit, requirePayable, rank, choose, ignored }
})

const usable = <O extends Offer>(candidates: ReadonlyArray<Candidate<O>>, isByokOnly: boolean) =>
  isByokOnly ? candidates.filter(AllowedProviderKeys.usesProviderKey) : candidates

/** Makes the path of requests that are answered when their work is done. */
export const makeServed = Effect.fnUntraced(function* <
  Request,
  Result extends { readonly warnings?: ReadonlyArray<string> },
  O extends ServingOffer<Request, Result>,
  E
>(served: ServedKind<O, Request, E>) {
  const admission = yield* Admission
  const router = yield* Router
  const { choose, ignored, permit, requirePayable } = yield* makeChoice<Request, O>(served, router.observed)
  const { attemptTimeout, deadline, kind, toError } = served

  const servedBy = <A, E2>(
    { requestFor, toAnswer }: ServedWork<O, Request, Result, A, E2>,
    id: string,
    { answer: { answer: result, charge }, candidate }: Answered<Ran<Result>, O>
  ): Served<A> => {
    const { offer } = candidate
    const warnings = Warnings.ofSentences(ignored(offer, requestFor(offer)), result.warnings)
    return {
      answer: (cost) => toAnswer({ id, offer, result, charge, warnings }, cost),
      outcome: {
        ...charge,
        provider: offer.provider,
        upstreamModel: offer.upstreamId,
        isByok: AllowedProviderKeys.usesProviderKey(candidate)
      }
    }
  }

  /** Chooses the offers, reserves, calls, charges and answers. */
  const serve = <A, E2>(permitted: Permitted<O>, work: ServedWork<O, Request, Result, A, E2>) =>
    Effect.flatMapEager(choose(permitted, work), ({ candidates, paid }) =>
      admission.serve({ ...paid, operation: kind, input: work.input }, ({ id, isByokOnly }) =>
        Effect.map(
          router.route({
            owner: paid.caller.key.hash,
            candidates: usable(candidates, isByokOnly),
            units: work.units,
            attemptTimeout,
            deadline,
            call: ({ credential, offer }) => offer.run(work.requestFor(offer), credential)
          }),
          ({ attempts, exit }) => ({
            attempts,
            exit: Exit.mapBoth(exit, {
              onSuccess: (answered) => servedBy(work, id, answered),
              onFailure: (failure) => toError(failure, attempts)
            })
          })
        )
      )
    )

  return { permit, requirePayable, serve }
})

/** Jobs are not timed like requests, so they can be sorted by price only. */
const unobserved = () => undefined

/** Makes the path of requests whose work continues as a job after the answer. */
export const makeAccepted = Effect.fnUntraced(function* <Request, O extends OfferFor<Request>>(
  accepted: Kind<O, Request>
) {
  const admission = yield* Admission
  const { choose, permit } = yield* makeChoice<Request, O>(accepted, unobserved)
  const { kind } = accepted

  /** Chooses the offers, and has `submit` write the job as {@link JobAdmission} says. */
  const accept = <A, E, E2, R>(
    permitted: Permitted<O>,
    work: Work<O, Request, A, E>,
    submit: (candidates: JobCandidates<O>, admission: JobAdmission<A>) => Effect.Effect<A, E2, R>
  ) =>
    Effect.flatMap(choose(permitted, work), ({ candidates, paid }) =>
      admission.accept({ ...paid, operation: kind, status: 202 }, (job) => {
        const [first, ...others] = usable(candidates, job.isByokOnly)
        return first === undefined ? Effect.die(new Error("The job has no candidate")) : submit([first, ...others], job)
      })
    )

  return { permit, accept }
})

/** Makes the path of a request up to its candidates, to say what it would cost. */
export const makeEstimated = Effect.fnUntraced(function* <Request, O extends OfferFor<Request>>(
  kind: Kind<O, Request>
) {
  const router = yield* Router
  const { ignored, permit, rank } = yield* makeChoice<Request, O>(kind, router.observed)

  return Effect.fnUntraced(function* <E>(wanted: Wanted, choice: Choice<O, Request, E>) {
    const { candidates, quote, quotes } = yield* rank(yield* permit(wanted), choice)
    return {
      model: wanted.model,
      max_cost: MicroCredits.toCredits(quotes.gateway ?? MicroCredits.zero),
      offers: candidates.map((candidate) => ({
        provider: candidate.offer.provider,
        upstream_model: candidate.offer.upstreamId,
        max_cost: MicroCredits.toCredits(quote(candidate.offer)),
        is_byok: AllowedProviderKeys.usesProviderKey(candidate),
        ...Warnings.ofSentences(ignored(candidate.offer, choice.requestFor(candidate.offer)))
      }))
    }
  })
})
