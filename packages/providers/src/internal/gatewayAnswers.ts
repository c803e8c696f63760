/** What the answers of a gateway mean. */
import type { Job } from "@model-gateway/core/Video"
import { Effect, Option } from "effect"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model } from "@model-gateway/offers/Model"
import type { Credential } from "@model-gateway/offers/Offer"
import { flawOf } from "@model-gateway/offers/Pricing"
import { BadResponse, ProviderError } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type { JobHandle } from "@model-gateway/offers/Video"

/** A response that makes no sense. */
export const badResponse = (description: string) => new ProviderError({ reason: new BadResponse({ description }) })

/** More credits for one call are not a price but a mistake. */
const maxCredits = 1_000_000

/** What the upstream charged. If it does not say: what its price amounts to. */
export const costOf = (
  usage: { readonly cost?: number | null } | undefined,
  otherwise: MicroCredits.MicroCredits
): Effect.Effect<MicroCredits.MicroCredits, ProviderError> => {
  const credits = usage?.cost ?? undefined
  if (credits === undefined) return Effect.succeed(otherwise)
  const charged = credits < 0 || credits > maxCredits ? Option.none() : MicroCredits.fromCredits(credits)
  return Option.match(charged, {
    onNone: () => Effect.fail(badResponse("an impossible cost")),
    onSome: Effect.succeed
  })
}

/** The counts that the upstream stated. */
export const counts = (usage: { readonly [name: string]: number | undefined } = {}): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(usage).flatMap(([name, count]) => (name === "cost" || count === undefined ? [] : [[name, count]]))
  )

/** The maximum number of warnings of an upstream that are read. The service passes on no more. */
const maxWarnings = 100

/**
 * What the upstream says that it ignored: of each sentence, what a caller may read, with the id of
 * the model that the caller knows.
 */
export const warningsOf = (
  said: ReadonlyArray<string> = [],
  { publicId, upstreamId }: Model,
  secrets: ReadonlyArray<Credential["secret"]>
): { readonly warnings?: ReadonlyArray<string> } => {
  const renamed = (word: string) => (word === upstreamId ? publicId : word)
  const warnings = said.slice(0, maxWarnings).flatMap((sentence) => {
    const safe = SafeMessage.make(SafeMessage.withoutSecrets(sentence, secrets))
    return safe === undefined ? [] : [safe.split(" ").map(renamed).join(" ")]
  })
  return warnings.length === 0 ? {} : { warnings }
}

/** The job's id there. */
export const idOf = (handle: JobHandle): string => (typeof handle === "string" ? handle : "")

const notFinished = new Map<Job["status"], string>([
  ["cancelled", "the job was cancelled at the provider"],
  ["expired", "the job expired at the provider"]
])

/** The end of a job that has none, or undefined while it goes on. */
export const failureOf = ({ error = "", status, unsigned_urls = [] }: Job): string | undefined => {
  if (status === "failed") return SafeMessage.make(error) ?? "the provider could not make the video"
  if (status === "completed" && unsigned_urls.length === 0) return "the provider finished the job without a video"
  return notFinished.get(status)
}

/** More seconds of audio are not a length but a mistake. */
const maxSeconds = 10_000_000

/** Fails if a count cannot be, before a price is computed of it. */
export const checkCounts = (usage: { readonly [name: string]: number | undefined } = {}) => {
  const stated = counts(usage)
  const description = flawOf({ cost: MicroCredits.zero, usage: stated })
  if (description !== undefined) return Effect.fail(badResponse(description))
  return (stated["seconds"] ?? 0) > maxSeconds
    ? Effect.fail(badResponse("an impossible count of seconds"))
    : Effect.void
}
