/**
 * Refuses the query of a request to an operation that has no parameters, if the operation refuses
 * unknown ones. Where an operation has some, its schema does that.
 */
import * as Contract from "@model-gateway/core/Operation"
import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import * as Issues from "../internal/Issues.ts"

/** The longest name that is shown. */
const maxName = 256

const issuesOf = (query: Readonly<Record<string, unknown>>) =>
  Object.keys(query).map((name) => ({ path: name.slice(0, maxName), message: "Unknown parameter" }))

/** Runs the effect unless the request has a parameter and the endpoint has none. */
export const refuse = <A, E, R>(
  endpoint: HttpApiEndpoint.Top,
  httpEffect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (endpoint.query !== undefined || Contract.of(endpoint)?.unknownFields !== "refused") return httpEffect
  return Effect.withFiber((fiber) => {
    const issues = issuesOf(Context.getUnsafe(fiber.context, HttpServerRequest.ParsedSearchParams))
    return issues.length === 0 ? httpEffect : Effect.die(Issues.invalid(issues))
  })
}
