/** The scanner of JSON bodies, with the limits of every body of a caller. */
import * as JsonScanner from "@model-gateway/offers/JsonScanner"

/** Limits of every body, whatever its operation. */
export const limits: JsonScanner.Limits = {
  // The contract's limit plus some for the fields around it.
  depth: 128,
  entries: 10_000,
  values: 100_000
}

/** Options of a scan. */
export type Options = Omit<JsonScanner.Options, "limits">

/** Makes the scanner of one body. */
export const make = (options: Options): JsonScanner.JsonScanner => JsonScanner.make({ ...options, limits })
