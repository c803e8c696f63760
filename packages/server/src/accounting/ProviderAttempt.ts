/** One attempt at one provider, as events and the request log report it. */
import { Effect, Option, Schema } from "effect"
import * as Table from "../storage/sql/Table.ts"

/**
 * Whether the provider bills an attempt. `unknown`: it received the request, and its answer did not
 * arrive, or not whole.
 */
export const Billed = Schema.Literals(["yes", "no", "unknown"])

/** The latest time that `Date` has, in epoch milliseconds. */
const latestTime = 8.64e15

/** One attempt at one provider. */
export const ProviderAttempt = Schema.Struct({
  provider: Schema.String,
  /**
   * `Success`, the reason of the failure, `Interrupted` if the caller disconnected or the gateway
   * stopped, or `CircuitOpen` if the provider was not called.
   */
  outcome: Schema.String,
  /** The HTTP status of the provider's answer. Absent on a success, and if there was no answer. */
  status: Schema.optionalKey(Schema.Int),
  seconds: Schema.Finite,
  /** Default: `unknown`. */
  billed: Billed.pipe(Schema.withDecodingDefaultKey(Effect.succeed("unknown" as const))),
  /** True if it was made with a provider key. Otherwise absent. */
  is_byok: Schema.optionalKey(Schema.Boolean),
  /** When it began, in epoch milliseconds. Only the attempts of video jobs have it. */
  started_at: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: latestTime })))
})

/** One attempt at one provider. */
export type ProviderAttempt = typeof ProviderAttempt.Type

const decodeList = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Array(Schema.Unknown)))
const decode = Schema.decodeUnknownOption(ProviderAttempt)

/**
 * Reads the attempts that {@link toJson} wrote. One that cannot be read is left out: the request
 * that it belongs to stays readable.
 */
export const fromJson = (json: string | null): ReadonlyArray<ProviderAttempt> =>
  json === null
    ? []
    : Option.getOrElse(decodeList(json), () => []).flatMap((attempt) => Option.toArray(decode(attempt)))

/** Attempts as a column of text. Null if there are none. */
export const toJson = (attempts: ReadonlyArray<ProviderAttempt>): string | null =>
  attempts.length === 0 ? null : JSON.stringify(attempts)

/** A column of attempts; see {@link fromJson} and {@link toJson}. */
export const Column = Table.stored(Schema.NullOr(Schema.String), Schema.Array(Schema.toType(ProviderAttempt)), {
  read: fromJson,
  write: toJson
})
