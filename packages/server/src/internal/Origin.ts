/** The origin of a web page: scheme, host and port, exactly as browsers send it. */
import { Schema } from "effect"

/**
 * Apps that are not web pages have origins such as `capacitor://localhost`, which `URL` does not
 * normalize.
 */
const otherOrigin = /^[a-z][a-z\d+.-]*:\/\/[a-z\d.-]+(?::\d+)?$/

/** What is wrong with an origin, as a sentence. Undefined if it is valid. */
const problemOf = (origin: string): string | undefined => {
  // It would let any page on the web use a key that a user enters there.
  if (origin === "*") return "* would allow every page of the web: list the origins of your own pages"
  if (origin.includes("*")) return `${origin} is not an exact origin: list each host by itself`
  const normal = URL.canParse(origin) ? new URL(origin).origin : "null"
  if (normal === origin && normal !== "null") return undefined
  if (normal !== "null") return `${origin} is not an origin as browsers send it: write ${normal}`
  return otherOrigin.test(origin) ? undefined : `${origin} is not an origin such as https://app.example`
}

/** One exact origin. `*` is not allowed. */
export const Origin = Schema.String.check(Schema.makeFilter(problemOf))
