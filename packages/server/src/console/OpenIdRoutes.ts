/**
 * `/console/session/openid-connect`: leads to the provider of identities, which leads back to
 * `callback` below it. Both are addresses that the browser shows, so what fails leads to the page,
 * which says why.
 */
import type { EnvelopeError } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { type HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as LogEvent from "../log/LogEvent.ts"
import * as OpenIdConnect from "./OpenIdConnect.ts"
import * as SameOrigin from "./SameOrigin.ts"
import * as SessionCookie from "./SessionCookie.ts"
import type { StartSession } from "./StartSession.ts"
import * as Token from "./Token.ts"

const path = `/console/${OpenIdConnect.href}`

const toPage = (location: string) => HttpServerResponse.redirect(location, { status: 303 })

/** Leads to the page. A reason is a word of ours: nobody can make the page show another text. */
const failed = (location: string) => (error: EnvelopeError) => {
  const reason = error.error.metadata?.["reason"]
  return Effect.as(
    LogEvent.log("console_sign_in_failed", error.error.message),
    toPage(`${location}#problem=${typeof reason === "string" ? reason : "unavailable"}`)
  )
}

/** Adds the routes. */
export const add = Effect.fnUntraced(function* (
  router: HttpRouter.HttpRouter,
  options: OpenIdConnect.Options,
  sessions: StartSession
) {
  const provider = OpenIdConnect.make(options)
  const random = yield* SecureRandom
  const cookie = yield* SessionCookie.make
  const isSecure = options.redirectUri.startsWith("https://")

  const refused = (error: EnvelopeError) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.andThen(sessions.refused(request, { kind: "oidc", message: error.error.message }), failed("../../")(error))
    )

  const begin = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const refusal = SameOrigin.refusalOf(request)
    if (refusal !== undefined) return yield* refusal
    const { plain: secret } = yield* Token.make(random)
    const url = yield* provider.begin(secret)
    // With the provider's link back, the browser does not send the cookie of its session.
    const former = sessions.formerOf(request)
    return cookie.setSignIn(request, isSecure, { secret, former })(HttpServerResponse.redirect(url, { status: 302 }))
  }).pipe(Effect.catchTags({ ServiceUnavailable: failed("../") }))

  const finish = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const begun = cookie.readSignIn(request)
    if (begun === undefined) return toPage("../../#problem=sign_in_expired")
    const search = request.url.slice(Math.max(0, request.url.indexOf("?")))
    const { label, role, subject, workspaces } = yield* provider.finish(begun.secret, search)
    const person = { kind: "oidc" as const, actor: `oidc:${subject}`, label, role, workspaces }
    const { plain } = yield* sessions.start(request, yield* sessions.ofPerson(person), begun.former)
    return cookie.setIn(request, isSecure, plain)(toPage("../../"))
  }).pipe(
    Effect.catchTags({
      Forbidden: refused,
      ServiceUnavailable: failed("../../"),
      Unauthorized: refused
    }),
    // The secret is of no use any more.
    Effect.flatMap((response) =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => cookie.clearSignIn(request)(response))
    )
  )

  yield* router.add("GET", path, begin)
  yield* router.add("GET", `${path}/callback`, finish)
})
