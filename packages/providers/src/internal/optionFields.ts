/** `provider.options` as fields of a form. */
import type { Issue } from "@model-gateway/core/GatewayError"
import * as FormBody from "@model-gateway/offers/FormBody"
import type { Schema } from "effect"

/** The names become fields of a form. */
export const nameIssues = (options: Schema.JsonObject, path: string): ReadonlyArray<Issue> =>
  Object.keys(options).every(FormBody.isFieldName)
    ? []
    : [{ path, message: "Expected names that can be fields of a form" }]

/** Text as it is, anything else as JSON text. */
export const textOf = (value: Schema.Json): string => (typeof value === "string" ? value : JSON.stringify(value))

/** A list repeats its field. Null leaves it out. */
export const repeated = (options: Schema.JsonObject = {}): ReadonlyArray<readonly [name: string, value: string]> =>
  Object.entries(options).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((item: Schema.Json) =>
      item === null ? [] : [[name, textOf(item)] as const]
    )
  )

/** The fields, of which those that the options have too are left out. */
export const withOptions = (
  own: FormBody.Form["fields"],
  options: FormBody.Form["fields"]
): FormBody.Form["fields"] => {
  const replaced = new Set(options.map(([name]) => name))
  return [...own.filter(([name]) => !replaced.has(name)), ...options]
}
