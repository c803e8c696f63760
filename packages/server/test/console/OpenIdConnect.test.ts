import { expect, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Logger, Redacted } from "effect"
import type * as OpenIdConnect from "../../src/console/OpenIdConnect.ts"
import { layer as gateway, TestGateway } from "../TestGateway.ts"
import { page, shownOf } from "./TestConsole.ts"
import * as TestProvider from "./TestProvider.ts"

/** The gateway as browsers see it. */
const origin = "https://gateway.example"

const redirectUri = `${origin}/console/session/openid-connect/callback`

const people: TestProvider.People = {
  ada: {
    name: "Ada Lovelace",
    email: "ada@example.com",
    role: ["staff", "operator", "viewer"],
    position: "viewer",
    workspaces: ["default"]
  },
  grace: { name: "Grace", role: "viewer", workspaces: ["default", "nowhere"] },
  alan: { name: "Alan", role: "staff" },
  edsger: { name: "Edsger", role: "admin", workspaces: ["default"] },
  radia: { name: "Radia", role: "admin" },
  donald: { name: "Donald", role: "viewer" },
  tony: { name: "Tony", role: "operator", workspaces: null },
  barbara: { name: "Barbara", role: "viewer", workspaces: ["nowhere"] }
}

class Identities extends Context.Service<Identities, TestProvider.TestProvider>()("test/Identities") {}

/** The refusals of these tests are answered at once. */
const failedAuthentications = { requests: 1000, window: Duration.minutes(1) }

/** What the gateway has logged. */
class Log extends Context.Service<Log, Array<string>>()("test/Log") {}

const logged = Layer.unwrap(
  Effect.sync(() => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push([message].flat().join(" ")))
    return Layer.merge(Logger.layer([logger]), Layer.succeed(Log, lines))
  })
)

const layer = (change: Partial<OpenIdConnect.Options> = {}, rate = failedAuthentications) =>
  Layer.unwrap(
    Effect.map(Identities, ({ issuer }) =>
      gateway({ failedAuthentications: rate }, undefined, undefined, {
        openIdConnect: {
          issuer,
          clientId: TestProvider.client.id,
          clientSecret: Redacted.make(TestProvider.client.secret),
          scopes: "openid profile email",
          roleClaim: "role",
          workspacesClaim: "workspaces",
          name: "Example",
          redirectUri,
          ...change
        }
      })
    )
  ).pipe(Layer.provideMerge(Layer.merge(logged, Layer.effect(Identities, TestProvider.make(people, redirectUri)))))

/** What a browser at the gateway's own address sends. */
const browser = (cookies: ReadonlyArray<string>, site = "none") => ({
  host: new URL(origin).host,
  "sec-fetch-site": site,
  cookie: cookies.join("; ")
})

const cookiesOf = (headers: { readonly "set-cookie"?: ReadonlyArray<string> | undefined }) =>
  (headers["set-cookie"] ?? []).map((cookie) => cookie.split(";")[0] ?? "")

/** Begins a sign-in, with the cookies that the browser has: where it leads, and the cookie. */
const beginWith = Effect.fnUntraced(function* (cookies: ReadonlyArray<string>) {
  const { ask } = yield* TestGateway
  const answer = yield* ask("/console/session/openid-connect", { key: null, headers: browser(cookies) })
  return { answer, url: String(answer.headers.location), cookies: cookiesOf(answer.headers) }
})

const begin = beginWith([])

/** Goes back to the gateway, as the provider's link does. */
const goBack = (url: string, cookies: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { ask } = yield* TestGateway
    const { pathname, search } = new URL(url)
    return yield* ask(pathname + search, { key: null, headers: browser(cookies, "cross-site") })
  })

const signInAs = (login: string, had: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const { signIn } = yield* Identities
    const { cookies, url } = yield* beginWith(had)
    return yield* goBack(yield* signIn(url, login), cookies)
  })

const session = (cookie: string) =>
  Effect.map(shownOf({ cookie, headers: { host: new URL(origin).host, origin } }), ({ session }) => session)

it.layer(layer(), { excludeTestServices: true })("a sign-in by OpenID Connect", (it) => {
  it.effect("is a way that the page is told", () =>
    Effect.gen(function* () {
      expect(yield* shownOf()).toMatchObject({
        status: 200,
        session: null,
        reason: "signed_out",
        ways: [{ kind: "oidc", name: "Example", href: "session/openid-connect" }, { kind: "key" }, { kind: "link" }]
      })
    })
  )

  it.effect("begins with state, nonce and a challenge, and a cookie that comes back with the provider's link", () =>
    Effect.gen(function* () {
      const { answer, url } = yield* begin
      const { searchParams } = new URL(url)
      expect(answer.status).toBe(302)
      for (const name of ["state", "nonce", "code_challenge"]) {
        expect([name, searchParams.get(name)?.length]).toEqual([name, 43])
      }
      expect([searchParams.get("code_challenge_method"), searchParams.get("redirect_uri")]).toEqual([
        "S256",
        redirectUri
      ])
      expect(answer.headers["set-cookie"]?.[0]).toMatch(
        /^__Host-model-gateway-sign-in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
      // A page of another origin does not begin it.
      const { ask } = yield* TestGateway
      const other = yield* ask("/console/session/openid-connect", { key: null, headers: browser([], "cross-site") })
      expect(other.status).toBe(403)
    })
  )

  it.effect("gives a person the role of the claim, and the records the person's name", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const answer = yield* signInAs("ada")
      expect([answer.status, answer.headers.location]).toEqual([303, "../../"])
      const [cookie = "", cleared] = answer.headers["set-cookie"] ?? []
      expect(cookie).toMatch(/^__Host-model-gateway-console=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
      expect(cleared).toMatch(/^__Host-model-gateway-sign-in=; Max-Age=0/)
      const [token = ""] = cookiesOf(answer.headers)
      expect(yield* session(token)).toMatchObject({
        kind: "oidc",
        label: "Ada Lovelace (ada@example.com)",
        role: "operator",
        workspace_ids: [workspace.id]
      })
      const headers = { host: new URL(origin).host, origin }
      const made = yield* page("/console/api/keys", { cookie: token, headers, body: { name: "k" } })
      expect(made.status).toBe(201)
      const { ask, managementKey: key } = yield* TestGateway
      for (const action of ["createKey", "signIn"]) {
        const audit = yield* ask(`/api/v1/audit?action=${action}&actor=oidc:ada`, { key })
        expect(audit.text).toContain('"actor_label":"Ada Lovelace (ada@example.com)"')
      }
    })
  )

  it.effect("ends the session that the browser had, whose cookie does not come with the provider's link", () =>
    Effect.gen(function* () {
      const [first = ""] = cookiesOf((yield* signInAs("grace")).headers)
      const [second = ""] = cookiesOf((yield* signInAs("ada", [first])).headers)
      expect(yield* session(first)).toBeNull()
      expect(yield* session(second)).toMatchObject({ label: "Ada Lovelace (ada@example.com)" })
      // One that fails, or that is not finished, ends nothing.
      yield* signInAs("alan", [second])
      yield* beginWith([second])
      expect(yield* session(second)).not.toBeNull()
    })
  )

  it.effect("quotes the link back in the log without characters that a terminal obeys", () =>
    Effect.gen(function* () {
      const { cookies, url } = yield* begin
      const back = new URL(redirectUri)
      back.searchParams.set("state", new URL(url).searchParams.get("state") ?? "")
      back.searchParams.set("iss", (yield* Identities).issuer)
      back.searchParams.set("error", "server_error")
      back.searchParams.set("error_description", "bad\nforged line\u001b[31m")
      expect((yield* goBack(back.href, cookies)).headers.location).toBe("../../#problem=sign_in_failed")
      const line = (yield* Log).find((text) => text.includes("forged line"))
      expect(line).toMatch(/^A sign-in by OpenID Connect failed: /)
      expect(line).not.toMatch(/\p{Cc}/u)
    })
  )

  it.effect("restricts a person to the workspaces of the claim that exist", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const [cookie = ""] = cookiesOf((yield* signInAs("grace")).headers)
      expect(yield* session(cookie)).toMatchObject({
        role: "viewer",
        workspace_ids: [workspace.id]
      })
    })
  )

  it.effect("restricts no admin, who needs no workspaces", () =>
    Effect.gen(function* () {
      const [cookie = ""] = cookiesOf((yield* signInAs("radia")).headers)
      expect(yield* session(cookie)).toMatchObject({ role: "admin", workspace_ids: null })
    })
  )

  it.effect("leads to the page with a reason if the person may not, or has not signed in", () =>
    Effect.gen(function* () {
      const problemOf = (answer: { readonly headers: { readonly location?: string | undefined } }) =>
        answer.headers.location
      expect(problemOf(yield* signInAs("alan"))).toBe("../../#problem=no_role")
      const { ask, managementKey: key } = yield* TestGateway
      const refused = yield* ask("/api/v1/audit?action=refuseSignIn", { key })
      expect(refused.text).toContain("Alan has no role for the console")
      expect(problemOf(yield* signInAs("edsger"))).toBe("../../#problem=no_role")
      expect(problemOf(yield* signInAs("barbara"))).toBe("../../#problem=no_workspace")
      expect(problemOf(yield* signInAs("donald"))).toBe("../../#problem=no_workspace")
      expect(problemOf(yield* signInAs("tony"))).toBe("../../#problem=no_workspace")
      const { leave, signIn } = yield* Identities
      const { cookies, url } = yield* begin
      expect(problemOf(yield* goBack(yield* leave(url), cookies))).toBe("../../#problem=sign_in_failed")

      // The link back works in the browser that began, with its own state, and once.
      const mine = yield* begin
      const back = yield* signIn(mine.url, "ada")
      expect(problemOf(yield* goBack(back, []))).toBe("../../#problem=sign_in_expired")
      expect(problemOf(yield* goBack(back, (yield* begin).cookies))).toBe("../../#problem=sign_in_failed")
      const forged = new URL(back)
      forged.searchParams.set("code", "forged")
      expect(problemOf(yield* goBack(forged.href, mine.cookies))).toBe("../../#problem=sign_in_failed")
      const answer = yield* goBack(back, mine.cookies)
      expect(problemOf(answer)).toBe("../../")
      expect(problemOf(yield* goBack(back, mine.cookies))).toBe("../../#problem=sign_in_failed")
    })
  )
})

it.layer(layer({ roleClaim: "position", workspacesClaim: undefined }), { excludeTestServices: true })(
  "a role in the user information only",
  (it) => {
    it.effect("counts, and without a claim for workspaces nobody is restricted", () =>
      Effect.gen(function* () {
        const [cookie = ""] = cookiesOf((yield* signInAs("ada")).headers)
        expect(yield* session(cookie)).toMatchObject({ role: "viewer", workspace_ids: null })
      })
    )
  }
)

it.layer(layer({}, { ...failedAuthentications, requests: 1 }), { excludeTestServices: true })(
  "a guessed link back",
  (it) => {
    it.effect("is answered later, as other failed sign-ins are", () =>
      Effect.gen(function* () {
        const guess = Effect.gen(function* () {
          const { cookies, url } = yield* begin
          const state = new URL(url).searchParams.get("state")
          const { issuer } = yield* Identities
          const sent = Date.now()
          yield* goBack(`${redirectUri}?code=guessed&state=${state}&iss=${encodeURIComponent(issuer)}`, cookies)
          return Date.now() - sent
        })
        expect(yield* guess).toBeLessThan(1500)
        expect(yield* guess).toBeGreaterThan(1900)
      })
    )
  }
)

it.layer(layer({ issuer: "http://127.0.0.1:1" }), { excludeTestServices: true })("without its provider", (it) => {
  it.effect("leads to the page, and a key still signs in", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      expect((yield* begin).url).toBe("../#problem=unavailable")
      expect((yield* page("/console/session", { body: { key } })).status).toBe(200)
      expect((yield* shownOf()).reason).toBe("signed_out")
    })
  )
})
