/** One attempt at one provider, as events and the request log report it. */
import { Effect, Schema } from "effect"

/**
 * Whether the provider bills an attempt. `unknown`: it received the request, and its answer did not
 * arrive, or not whole.
 */
export const Billed = Schema.Literals(["yes", "no", "unknown"])

/** One attempt at one provider. */
export const Attempt = Schema.Struct({
  provider: Schema.String,
  /**
   * `Success`, the reason of the failure, `Interrupted` if the caller disconnected or the gateway
   * stopped, or `CircuitOpen` if the provider was not called.
   */
  outcome: Schema.String,
  /** The HTTP status of the provider's answer. Absent on a success, and if there was no answer. */
  status: Schema.optionalKey(Schema.Int),
  seconds: Schema.Finite,
  /** Default: `unknown`, for events of earlier releases. */
  billed: Billed.pipe(Schema.withDecodingDefaultKey(Effect.succeed("unknown" as const))),
  /** True if it was made with a provider key of the caller. Otherwise absent. */
  is_byok: Schema.optionalKey(Schema.Boolean),
  /** When it began, in epoch milliseconds. Only the attempts of video jobs have it. */
  started_at: Schema.optionalKey(Schema.Finite)
})

/** One attempt at one provider. */
export type Attempt = typeof Attempt.Type

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(Attempt)))

/** Reads the attempts that {@link toJson} wrote. */
export const fromJson = (json: string | null): ReadonlyArray<Attempt> => (json === null ? [] : decode(json))

/** Attempts as a column of text. Null if there are none. */
export const toJson = (attempts: ReadonlyArray<Attempt>): string | null =>
  attempts.length === 0 ? null : JSON.stringify(attempts)
