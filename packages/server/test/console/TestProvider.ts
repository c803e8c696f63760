/** A provider of identities, and a browser that signs in there. */
import { Effect } from "effect"
import { createServer, type Server } from "node:http"
import Provider from "oidc-provider"

/** The people whom it knows, by their login. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** What a test needs of it. */
export interface TestProvider {
  readonly issuer: string
  /** Signs in a person at this URL, and returns where the provider sends the browser to. */
  readonly signIn: (url: string, login: string) => Effect.Effect<string>
  /** The same, for a person who leaves. */
  readonly leave: (url: string) => Effect.Effect<string>
}

export const client = { id: "model-gateway", secret: "the secret of the client" }

const listening = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.callback<void>((resume) => {
      server.closeAllConnections()
      server.close(() => resume(Effect.void))
    })
)

/** Follows the pages of the provider, with its cookies, until it leads elsewhere. */
const visit = async (issuer: string, url: string, onPage: (html: string) => Record<string, string> | string) => {
  const cookies = new Map<string, string>()
  let at = new URL(url)
  let form: Record<string, string> | undefined
  for (let steps = 0; steps < 20; steps++) {
    const response = await fetch(at, {
      redirect: "manual",
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" })
      },
      method: form === undefined ? "GET" : "POST",
      body: form === undefined ? null : new URLSearchParams(form).toString()
    })
    form = undefined
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location !== null) {
      at = new URL(location, at)
      if (at.origin !== issuer) return at.href
      continue
    }
    const html = await response.text()
    if (response.status !== 200) throw new Error(`${response.status} of ${at.href}: ${html.slice(0, 500)}`)
    const next = onPage(html)
    if (typeof next === "string") at = new URL(next, at)
    else {
      const [, action = ""] = /action="([^"]+)"/.exec(html) ?? []
      at = new URL(action, at)
      form = next
    }
  }
  throw new Error("the provider never led elsewhere")
}

/** Starts it. */
export const make = (people: People, redirectUri: string) =>
  Effect.gen(function* () {
    const server = yield* listening
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("no port")
    const issuer = `http://127.0.0.1:${address.port}`
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: "client_secret_basic"
        }
      ],
      cookies: { keys: ["a key of a test"] },
      // The ID token has those of `openid` only.
      claims: { openid: ["sub", "role"], profile: ["name", "position", "workspaces"], email: ["email"] },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) })
    })
    provider.on("server_error", (_context, error) => {
      throw error
    })
    const handle = provider.callback()
    server.on("request", (request, response) => void handle(request, response))
    const found: TestProvider = {
      issuer,
      signIn: (url, login) =>
        Effect.promise(() =>
          visit(issuer, url, (html) =>
            html.includes('name="login"') ? { prompt: "login", login, password: "any" } : { prompt: "consent" }
          )
        ),
      leave: (url) =>
        Effect.promise(() => visit(issuer, url, (html) => /href="([^"]+\/abort)"/.exec(html)?.[1] ?? "/no-abort"))
    }
    return found
  })
