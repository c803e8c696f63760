/** What `providerOptions` of a call add to its request. */
import type { JSONObject, JSONValue, SharedV4Warning } from "@ai-sdk/provider"
import type { Exchange } from "./exchange.ts"

/** The provider's name in `providerOptions`, `providerMetadata` and references of files. */
export const name = "modelGateway"

type ProviderOptions = Readonly<Record<string, JSONObject>> | undefined

const isObject = (value: JSONValue | undefined): value is JSONObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The options of this provider. The service validates them. */
export const own = (options: ProviderOptions): JSONObject => options?.[name] ?? {}

/**
 * The fields of a request: the options of this provider, and those of all others as
 * `provider.options`, of which the gateway sends a provider its own.
 */
export const fields = (options: ProviderOptions): JSONObject => {
  const { [name]: ours = {}, ...others } = options ?? {}
  if (Object.keys(others).length === 0) return ours
  const provider = isObject(ours["provider"]) ? ours["provider"] : {}
  const named = isObject(provider["options"]) ? provider["options"] : {}
  return { ...ours, provider: { ...provider, options: { ...others, ...named } } }
}

/** The sentences of the service as warnings. */
export const warningsOf = (warnings: ReadonlyArray<string> | undefined): Array<SharedV4Warning> =>
  (warnings ?? []).map((message) => ({ type: "other", message }))

/** The headers of the response, if there was one. */
export const headersOf = ({ responseHeaders }: Exchange): { headers?: Record<string, string> } =>
  responseHeaders === undefined ? {} : { headers: responseHeaders }

/** The id to quote when a request is reported. */
export const requestIdOf = ({ responseHeaders }: Exchange): string | undefined => responseHeaders?.["x-request-id"]
