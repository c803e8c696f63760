/**
 * Provider passthrough: the entry of `provider.options` that an offer sends on to its provider.
 *
 * The entry is sent as it is, so that callers can use what a provider has and the contract has not.
 * Fields that change the price, the receiver, the credential or the form of the answer are refused
 * with a 400 that names them: the gateway has quoted the request, and has to read what comes back.
 * An adapter states in one declaration which those are, and which fields the provider documents.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { Effect, type Schema } from "effect"
import { invalidFields, type ProviderError } from "./ProviderError.ts"

/**
 * Why a field is not passed on.
 *
 * @category models
 * @since 0.1.0
 */
export type Refusal = "price" | "request" | "model" | "response" | "destination" | "credential" | "account"

const messages: Readonly<Record<Refusal, string>> = {
  price: "changes the price, so it cannot be passed on",
  request: "repeats what a field of the request says, so it cannot be passed on",
  model: "chooses another model, so it cannot be passed on",
  response: "changes the form of the provider's answer, which the gateway reads, so it cannot be passed on",
  destination: "says where results are sent, so it cannot be passed on",
  credential: "replaces the credential of the call, so it cannot be passed on",
  account: "reaches what others have stored at the provider, so it cannot be passed on"
}

/**
 * What an adapter states of the fields of its provider. Names are compared without case and
 * punctuation, because some services take `outputCount` for `output_count`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Declaration {
  /**
   * The fields that the provider documents and that are passed on, for lists of models. Others are
   * passed on too.
   */
  readonly documented: ReadonlyArray<string>
  /** The fields that are refused, besides those that are refused for every provider. */
  readonly refused: { readonly [R in Refusal]?: ReadonlyArray<string> }
}

/**
 * What an offer does with its provider's entry of `provider.options`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Passthrough {
  /** The fields that the provider documents and that are passed on. */
  readonly documented: ReadonlyArray<string>
  /** What is wrong with an entry. The path of an issue begins with `provider.options`. */
  readonly issues: (options: Schema.JsonObject) => ReadonlyArray<Issue>
}

/** What no provider gets from a caller, whatever its API. */
const refusedForAll: Declaration["refused"] = {
  model: ["deployment", "model", "model_id", "model_name", "model_version", "version"],
  price: ["batch_size", "n", "num_outputs", "output_count", "sample_count", "service_tier"],
  response: ["stream", "stream_options"],
  destination: [
    "base_url",
    "bucket",
    "destination",
    "endpoint",
    "notification_url",
    "notify_url",
    "output_gcs_uri",
    "output_path",
    "output_s3_uri",
    "output_uri",
    "output_url",
    "proxy",
    "s3_bucket",
    "storage_uri",
    "upload_url"
  ],
  credential: [
    "access_key",
    "access_token",
    "api_key",
    "api_token",
    "auth",
    "auth_token",
    "authorization",
    "bearer",
    "bearer_token",
    "credential",
    "credentials",
    "extra_headers",
    "headers",
    "key",
    "password",
    "secret",
    "secret_key",
    "token",
    "x_api_key"
  ]
}

/** Parts of the names of fields that say where the provider sends notifications. */
const callbacks = ["callback", "webhook"]

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")

const entriesOf = (refused: Declaration["refused"]): ReadonlyArray<readonly [string, Refusal]> =>
  (["price", "request", "model", "response", "destination", "credential", "account"] as const).flatMap((why) =>
    (refused[why] ?? []).map((name) => [plain(name), why] as const)
  )

/** Enough for a reader of the answer. An entry may have thousands of fields. */
const maxIssues = 21

/**
 * The passthrough of an offer. Fields are looked for at every depth of the entry. `further` finds
 * what else is wrong with an entry.
 *
 * @example
 * ```ts
 * import * as Passthrough from "@model-gateway/offers/Passthrough"
 *
 * const passthrough = Passthrough.make("acme", {
 *   documented: ["truncation"],
 *   refused: { request: ["query", "texts"], price: ["precision"] }
 * })
 * passthrough.issues({ truncation: false }) // []
 * passthrough.issues({ precision: "high" }) // one issue, at provider.options.acme.precision
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  provider: string,
  { documented, refused }: Declaration,
  further: (options: Schema.JsonObject, path: string) => ReadonlyArray<Issue> = () => []
): Passthrough => {
  // Made when a request needs it: a gateway has hundreds of offers, and few get options.
  let reasons: ReadonlyMap<string, Refusal> | undefined
  const reasonOf = (name: string): Refusal | undefined => {
    reasons ??= new Map([...entriesOf(refusedForAll), ...entriesOf(refused)])
    const searched = plain(name)
    return reasons.get(searched) ?? (callbacks.some((part) => searched.includes(part)) ? "destination" : undefined)
  }
  const issuesIn = (value: Schema.Json, path: string, found: Array<Issue>): ReadonlyArray<Issue> => {
    if (typeof value !== "object" || value === null || found.length >= maxIssues) return found
    for (const [name, member] of Object.entries(value)) {
      const reason = Array.isArray(value) ? undefined : reasonOf(name)
      if (reason === undefined) issuesIn(member, `${path}.${name}`, found)
      else found.push({ path: `${path}.${name}`, message: messages[reason] })
    }
    return found
  }
  const root = `provider.options.${provider}`
  return { documented, issues: (options) => [...issuesIn(options, root, []), ...further(options, root)] }
}

/**
 * Fails if the offer refuses the request's options. The service asks for the issues before it
 * reserves money; an adapter checks them again before it calls the upstream.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (
  { issues }: Passthrough,
  { options }: { readonly options?: Schema.JsonObject }
): Effect.Effect<void, ProviderError> => {
  const [first, ...others] = options === undefined ? [] : issues(options)
  return first === undefined ? Effect.void : Effect.fail(invalidFields([first, ...others]))
}
