/**
 * The address of a request. Parsing a URL was measured as a twentieth of a call's processor time
 * (`pnpm bench`). A client calls few URLs, so those without a query are parsed once.
 */
import { Option } from "effect"
import { HttpClientRequest } from "effect/http"

/** As undici takes it. */
export interface Address {
  readonly origin: string
  readonly path: string
}

const maxParsed = 100

const parsed = new Map<string, Address>()

const parse = (request: HttpClientRequest.HttpClientRequest): Address | undefined => {
  const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
  return url === undefined ? undefined : { origin: url.origin, path: url.pathname + url.search }
}

/** Returns undefined if the URL is invalid. */
export const addressOf = (request: HttpClientRequest.HttpClientRequest): Address | undefined => {
  if (request.urlParams.params.length > 0) return parse(request)
  const known = parsed.get(request.url)
  if (known !== undefined) return known
  const address = parse(request)
  if (address === undefined) return undefined
  // URLs of files and videos are many.
  if (parsed.size >= maxParsed) parsed.clear()
  parsed.set(request.url, address)
  return address
}
