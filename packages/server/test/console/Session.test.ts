import { expect, it } from "@effect/vitest"
import * as AuditLog from "@model-gateway/core/AuditLog"
import { Duration, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { ConsoleLinks } from "../../src/console/ConsoleLinks.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { cookieOf, failureOf, page, pageHeaders, shownOf, signIn } from "./TestConsole.ts"

const Session = Schema.fromJsonString(
  Schema.Struct({
    kind: Schema.String,
    label: Schema.String,
    role: Schema.String,
    workspace_ids: Schema.NullOr(Schema.Array(Schema.String)),
    expires_at: Schema.String,
    idle_expires_at: Schema.String,
    reauthenticated_at: Schema.String
  })
)

const decode = Schema.decodeUnknownSync(Session)

const Created = Schema.fromJsonString(
  Schema.Struct({ key: Schema.String, data: Schema.Struct({ hash: Schema.String }) })
)

/** A new management key. */
const managementKey = (role: "viewer" | "operator" | "admin", workspaceIds: ReadonlyArray<string> | null = null) =>
  Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const { key, plain } = yield* (yield* KeyStore).create({
      organizationId: workspace.organizationId,
      workspaceId: workspace.id,
      name: `key of a ${role}`,
      isManagement: true,
      role,
      workspaceIds
    })
    return { hash: key.hash, key: Redacted.value(plain) }
  })

/** The token of a new link. */
const link = (role: "viewer" | "operator" | "admin", lifetime = 60_000) =>
  Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const { plain } = yield* (yield* ConsoleLinks).create({
      organizationId: workspace.organizationId,
      workspaceId: workspace.id,
      role,
      workspaceIds: null,
      lifetime,
      by: "operator"
    })
    return Redacted.value(plain)
  })

it.layer(layer({ wireNames: "openrouter", corsOrigins: ["https://app.example"] }, undefined, undefined, {}), {
  excludeTestServices: true
})("a session of the console", (it) => {
  it.effect("starts with a management key, which the browser then forgets", () =>
    Effect.gen(function* () {
      const { managementKey: key, port } = yield* TestGateway
      const answer = yield* page("/console/session", { body: { key } })
      expect(answer.status).toBe(200)
      expect(answer.headers["cache-control"]).toBe("no-store")
      const [cookie = ""] = answer.headers["set-cookie"] ?? []
      expect(cookie).toMatch(
        new RegExp(`^model-gateway-console-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`)
      )
      const session = decode(answer.text)
      expect([session.kind, session.role, session.workspace_ids]).toEqual(["key", "admin", null])
      const start = Date.parse(session.reauthenticated_at)
      expect([Date.parse(session.expires_at) - start, Date.parse(session.idle_expires_at) - start]).toEqual([
        8 * 3_600_000,
        30 * 60_000
      ])
      expect(answer.text).not.toContain(key)
      const shown = yield* page("/console/session", { cookie: cookieOf(answer) })
      expect(JSON.parse(shown.text)).toEqual({ session })
    })
  )

  it.effect("has a cookie that only HTTPS has, unless the browser is on this machine", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const at = (origin: string) =>
        page("/console/session", { body: { key }, headers: { origin, host: new URL(origin).host } })
      expect((yield* at("https://gateway.example")).headers["set-cookie"]?.[0]).toMatch(
        /^__Host-model-gateway-console=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/
      )
      expect((yield* at("https://localhost:9000")).headers["set-cookie"]?.[0]).toContain("; Secure")
      expect((yield* at("http://[::1]:9000")).headers["set-cookie"]?.[0]).toMatch(/^model-gateway-console-9000=/)
      const insecure = yield* at("http://192.168.1.5:8787")
      expect(failureOf(insecure)).toMatchObject({ status: 403, reason: "needs_https" })
      expect(insecure.headers["set-cookie"]).toBeUndefined()
    })
  )

  it.effect("does not start with another key, another body, or a text that is no key", () =>
    Effect.gen(function* () {
      const { managementKey: key, ordinaryKey } = yield* TestGateway
      const start = (body: object) => Effect.map(page("/console/session", { body }), failureOf)
      const ordinary = yield* start({ key: ordinaryKey })
      expect(ordinary).toMatchObject({ status: 403, reason: "ordinary_key" })
      expect(ordinary.message).toContain("Use a management key")
      expect(yield* start({ key: "mg_mk_mistyped" })).toMatchObject({ status: 401, reason: "invalid_credential" })
      const disabled = yield* managementKey("admin")
      const { organizationId } = (yield* TestGateway).workspace
      yield* (yield* KeyStore).update(organizationId, disabled.hash, { disabled: true })
      expect((yield* start({ key: disabled.key })).message).toBe("invalid API key: it is disabled")
      for (const body of [{}, { key, token: "a" }, { key: 1 }, []]) expect((yield* start(body)).status).toBe(400)
      const large = yield* page("/console/session", { body: { key: "k".repeat(5000) } })
      expect(large.status).toBe(413)
    })
  )

  it.effect("is not started, used or ended by a page of another origin", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, port } = yield* TestGateway
      const cookie = yield* signIn({ key })
      const own = pageHeaders(port)
      const others: ReadonlyArray<Record<string, string>> = [
        { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
        { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" },
        // A browser that does not send `Sec-Fetch-Site`.
        { origin: "https://evil.example" },
        { origin: "null" },
        { origin: `https://127.0.0.1:${port}.evil.example` }
      ]
      const { "sec-fetch-site": _site, ...withoutSite } = own
      for (const other of others) {
        for (const [method, path] of [
          ["POST", "/console/session"],
          ["DELETE", "/console/session"],
          ["POST", "/console/api/keys"]
        ] as const) {
          const headers = { ...withoutSite, ...other, cookie }
          const answer = yield* ask(path, {
            method,
            key: null,
            headers,
            // Node sends the body of a DELETE without its length.
            body: method === "DELETE" ? undefined : JSON.stringify({ key, name: "k" })
          })
          const { reason, status } = failureOf(answer)
          expect([method, path, other, status, reason]).toEqual([method, path, other, 403, "cross_origin"])
        }
      }
      const { "x-model-gateway-console": _header, ...withoutHeader } = own
      const { origin: _origin, ...withoutOrigin } = own
      for (const headers of [withoutHeader, withoutOrigin]) {
        const answer = yield* ask("/console/api/keys", {
          method: "POST",
          key: null,
          headers: { ...headers, cookie },
          body: '{"name":"k"}'
        })
        expect(failureOf(answer)).toMatchObject({ status: 403, reason: "cross_origin" })
      }
      const read = { cookie, "sec-fetch-site": "cross-site" }
      expect((yield* ask("/console/api/keys", { key: null, headers: read })).status).toBe(403)
      // A link that the user opens has no origin.
      const opened = { cookie, "sec-fetch-site": "none" }
      expect((yield* ask("/console/api/keys", { key: null, headers: opened })).status).toBe(200)
      // No page of a listed origin either, which may call the API with a key.
      const cors = yield* ask("/console/api/keys", {
        method: "OPTIONS",
        key: null,
        headers: { origin: "https://app.example", "access-control-request-method": "POST" }
      })
      expect(cors.status).toBe(403)
      expect(cors.headers["access-control-allow-origin"]).toBeUndefined()
      expect((yield* shownOf({ cookie })).session).not.toBeNull()
    })
  )

  it.effect("is for /console/api only, and a key for /api/v1 only", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const cookie = yield* signIn({ key })
      expect((yield* page("/console/api/keys", { cookie })).status).toBe(200)
      expect(failureOf(yield* page("/api/v1/keys", { cookie })).status).toBe(401)
      const withKey = yield* ask("/console/api/keys", { key })
      expect(failureOf(withKey)).toMatchObject({ status: 401, reason: "signed_out" })
      // Nor does a key change who is signed in.
      const viewer = yield* signIn({ key: (yield* managementKey("viewer")).key })
      const both = yield* page("/console/api/keys", {
        cookie: viewer,
        headers: { authorization: `Bearer ${key}` },
        body: { name: "k" }
      })
      expect(both.status).toBe(403)
      // The token of the session is no key.
      const [, token = ""] = cookie.split("=")
      expect((yield* ask("/api/v1/keys", { key: token })).status).toBe(401)
    })
  )

  it.effect("makes what the same management key makes at /api/v1, in neutral words", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const cookie = yield* signIn({ key })
      const created = yield* page("/console/api/keys", { cookie, body: { name: "from the console" } })
      expect(created.status).toBe(201)
      expect(created.headers["cache-control"]).toBe("no-store")
      const { data, key: plain } = Schema.decodeUnknownSync(Created)(created.text)
      expect((yield* ask("/api/v1/key", { key: plain })).status).toBe(200)
      const audit = yield* page(`/console/api/audit?target=${data.hash}`, { cookie })
      expect(audit.text).toContain('"action":"createKey"')
      expect((yield* page("/console/api/key", { cookie })).status).toBe(200)
      // The operator has chosen other words for clients.
      const missing = yield* page("/console/api/keys/unknown", { cookie })
      expect(envelopeOf(missing).error.code).toBe(missing.status)
      expect((yield* ask("/api/v1/keys/unknown", { key })).text).toContain("openrouter_metadata")
      // A spending operation stays closed, as for the key.
      expect((yield* page("/console/api/rerank", { cookie, body: {} })).status).toBe(403)
      expect((yield* page("/console/api/no-such", { cookie })).status).toBe(404)
      expect((yield* page("/console/api/keys", { cookie, method: "PUT" })).status).toBe(405)
    })
  )

  it.effect("gets an ephemeral key for a key that it sees, with the role operator", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const { key: parent } = yield* (yield* KeyStore).create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: "for the playground"
      })
      const path = `/console/api/keys/${parent.hash}/ephemeral`
      const cookie = yield* signIn({ token: yield* link("operator") })
      const made = yield* page(path, { cookie, body: { expires_in: 60, operations: ["rerank"] } })
      expect(made.status).toBe(201)
      const { key } = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ key: Schema.String })))(made.text)
      const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
      expect((yield* post("/api/v1/rerank", rerank, { key })).status).toBe(200)
      expect((yield* ask("/api/v1/videos", { key })).status).toBe(403)
      const viewer = yield* signIn({ token: yield* link("viewer") })
      expect((yield* page(path, { cookie: viewer, body: {} })).status).toBe(403)
    })
  )

  it.effect("repeats the answer of the same Idempotency-Key, with the same secret", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const cookie = yield* signIn({ key })
      const create = (cookie: string) =>
        page("/console/api/keys", { cookie, body: { name: "once" }, headers: { "idempotency-key": "console-1" } })
      const first = yield* create(cookie)
      expect((yield* create(cookie)).text).toBe(first.text)
      expect(first.status).toBe(201)
      // The secret in the answer is derived from the session.
      const other = yield* create(yield* signIn({ key }))
      expect([other.status, issuePaths(other)]).toEqual([400, ["idempotency-key"]])
      expect(other.text).toContain("the first request was not part of this sign-in to the console")
    })
  )

  it.effect("is stored as a hash", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const [, token = ""] = (yield* signIn({ key })).split("=")
      const used = yield* link("viewer")
      const sql = yield* SqlClient
      const rows = [...(yield* sql`SELECT * FROM console_sessions`), ...(yield* sql`SELECT * FROM console_links`)]
      const text = JSON.stringify(rows)
      expect(rows.length).toBeGreaterThan(1)
      for (const secret of [token, used, key]) expect(text).not.toContain(secret)
    })
  )

  it.effect("has the role of its key, and ends when the key is disabled or deleted", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const keys = yield* KeyStore
      const { hash, key } = yield* managementKey("viewer")
      const cookie = yield* signIn({ key })
      expect((yield* page("/console/api/keys", { cookie })).status).toBe(200)
      const write = () => page("/console/api/keys", { cookie, body: { name: "k" } })
      expect((yield* write()).status).toBe(403)
      yield* keys.update(workspace.organizationId, hash, { role: "admin" })
      expect((yield* write()).status).toBe(201)
      yield* keys.update(workspace.organizationId, hash, { disabled: true })
      expect(failureOf(yield* page("/console/api/keys", { cookie }))).toEqual({
        status: 401,
        reason: "session_ended",
        message: "the session has ended: its key is disabled. Sign in again"
      })
      yield* keys.update(workspace.organizationId, hash, { disabled: false })
      expect(yield* shownOf({ cookie })).toMatchObject({ status: 200, session: null, reason: "session_ended" })
      const rotated = yield* signIn({ key })
      const { plain } = yield* keys.rotate(workspace.organizationId, hash, { grace: 0 })
      expect((yield* shownOf({ cookie: rotated })).message).toContain("has another secret")
      const again = yield* signIn({ key: Redacted.value(plain) })
      yield* keys.remove(workspace.organizationId, hash)
      expect((yield* shownOf({ cookie: again })).session).toBeNull()
    })
  )

  it.effect("must be recent where a secret is shown, a key changes, credits are added or something is deleted", () =>
    Effect.gen(function* () {
      const { managementKey: key, workspace } = yield* TestGateway
      const sql = yield* SqlClient
      let cookie = yield* signIn({ key })
      const created = yield* page("/console/api/keys", { cookie, body: { name: "k" } })
      const { hash } = Schema.decodeUnknownSync(Created)(created.text).data
      const destination = { type: "webhook", name: "d", config: { url: "https://hook.example/" } }
      const dangerous = [
        ["POST", "/keys", { name: "l" }],
        ["PATCH", `/keys/${hash}`, { limit: null }],
        ["POST", `/keys/${hash}/rotate`, {}],
        ["POST", "/observability/destinations", destination],
        ["POST", `/workspaces/${workspace.id}/credits`, { amount: 1 }],
        ["DELETE", `/keys/${hash}`, undefined]
      ] as const
      const send = ([method, path, body]: (typeof dangerous)[number]) =>
        page(`/console/api${path}`, { method, body, cookie })
      yield* sql`UPDATE console_sessions SET created_at = created_at - ${15 * 60_000 + 1}`
      for (const each of dangerous) {
        expect([each, failureOf(yield* send(each))]).toMatchObject([each, { status: 403, reason: "reauthenticate" }])
      }
      // What can be undone does not ask.
      const body = { description: "d" }
      const renamed = yield* page(`/console/api/workspaces/${workspace.id}`, { method: "PATCH", cookie, body })
      expect(renamed.status).toBe(200)
      const renewed = yield* page("/console/session", { cookie, body: { key } })
      cookie = cookieOf(renewed)
      for (const each of dangerous) expect([each, (yield* send(each)).status < 300]).toEqual([each, true])
      // A role that is too low is said first: to sign in again would not help.
      const viewer = yield* signIn({ key: (yield* managementKey("viewer")).key })
      yield* sql`UPDATE console_sessions SET created_at = created_at - ${15 * 60_000 + 1}`
      const forbidden = failureOf(yield* page("/console/api/keys", { cookie: viewer, body: { name: "k" } }))
      expect([forbidden.status, forbidden.reason]).toEqual([403, undefined])
    })
  )

  it.effect("ends with DELETE, and with the next sign-in of the browser", () =>
    Effect.gen(function* () {
      const { managementKey: key, port } = yield* TestGateway
      const cookie = yield* signIn({ key })
      const renewed = yield* page("/console/session", { body: { key }, cookie })
      expect(yield* shownOf({ cookie })).toMatchObject({ session: null, reason: "session_ended" })
      const current = cookieOf(renewed)
      expect((yield* shownOf({ cookie: current })).session).not.toBeNull()
      const out = yield* page("/console/session", { method: "DELETE", cookie: current })
      expect(out.status).toBe(204)
      expect(out.headers["set-cookie"]).toContainEqual(
        `model-gateway-console-${port}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict`
      )
      expect((yield* shownOf({ cookie: current })).session).toBeNull()
      expect((yield* page("/console/session", { method: "DELETE", cookie: current })).status).toBe(204)
    })
  )

  it.effect("starts once with the token of a link, with the role of the link", () =>
    Effect.gen(function* () {
      const token = yield* link("viewer")
      const answer = yield* page("/console/session", { body: { token } })
      expect(decode(answer.text)).toMatchObject({ kind: "link", role: "viewer", workspace_ids: null })
      const cookie = cookieOf(answer)
      expect((yield* page("/console/api/keys", { cookie })).status).toBe(200)
      expect((yield* page("/console/api/key", { cookie })).status).toBe(200)
      expect((yield* page("/console/api/keys", { cookie, body: { name: "k" } })).status).toBe(403)
      const again = failureOf(yield* page("/console/session", { body: { token } }))
      expect(again).toMatchObject({ status: 401, reason: "invalid_credential" })
      expect(again.message).toMatch(/^the link was used at .*Z, and it works once\. The command/)
      const expired = yield* link("viewer", 0)
      expect(failureOf(yield* page("/console/session", { body: { token: expired } })).message).toMatch(
        /^the link expired at .*Z\. The command "model-gateway console link" prints another one\.$/
      )
      expect(failureOf(yield* page("/console/session", { body: { token: "x".repeat(43) } })).status).toBe(401)
    })
  )

  it.effect("of a link is in the audit log in words", () =>
    Effect.gen(function* () {
      const cookie = yield* signIn({ token: yield* link("admin") })
      const created = yield* page("/console/api/keys", { cookie, body: { name: "by a link" } })
      const { hash } = Schema.decodeUnknownSync(Created)(created.text).data
      const audit = yield* page(`/console/api/audit?target=${hash}`, { cookie })
      expect(audit.text).toMatch(/"actor_label":"one-time link of [\d-]+T[\d:.]+Z"/)
      const credits = yield* page("/console/api/workspaces/default/credits", { cookie, body: { amount: 1, note: "n" } })
      expect(credits.status).toBe(200)
    })
  )
})

const failedAuthentications = { requests: 1000, window: Duration.minutes(1) }

it.layer(layer({ failedAuthentications }, undefined, undefined, {}), { excludeTestServices: true })(
  "the audit log of the console",
  (it) => {
    const entries = (query: string) =>
      Effect.gen(function* () {
        const { ask, managementKey: key } = yield* TestGateway
        const answer = yield* ask(`/api/v1/audit?${query}`, { key })
        return Schema.decodeUnknownSync(Schema.fromJsonString(AuditLog.ListResponse))(answer.text).data
      })

    it.effect("has each sign-in and sign-out, with the way, the session and the address", () =>
      Effect.gen(function* () {
        const { hash, key } = yield* managementKey("operator", [(yield* TestGateway).workspace.id])
        const cookie = yield* signIn({ key })
        yield* page("/console/session", { method: "DELETE", cookie })
        yield* page("/console/session", { method: "DELETE", cookie })
        const [out, start, ...others] = yield* entries(`actor=${hash}`)
        expect(others).toEqual([])
        expect(start).toMatchObject({
          action: "signIn",
          actor_role: "operator",
          address: "127.0.0.1",
          target_kind: "console_session",
          before: null,
          after: { kind: "key", workspace_ids: [(yield* TestGateway).workspace.id] }
        })
        expect(start?.request_id).toMatch(/^req_/)
        expect(start?.target_id).toMatch(/^[\da-f]{8}-/)
        expect(out).toMatchObject({
          action: "signOut",
          target_id: start?.target_id,
          actor_label: start?.actor_label,
          address: "127.0.0.1",
          before: { kind: "key" },
          after: null
        })
      })
    )

    it.effect("has each link, with who made it, and who signed in with it", () =>
      Effect.gen(function* () {
        const token = yield* link("viewer")
        yield* signIn({ token })
        const [made] = yield* entries("action=createConsoleLink")
        expect(made).toMatchObject({ actor: "operator", address: null, target_kind: "console_link" })
        expect(made?.after).toMatchObject({ role: "viewer", workspace_ids: null })
        expect(JSON.stringify(made)).not.toContain(token)
        const [used] = yield* entries(`action=signIn&actor=${made?.target_id}`)
        expect(used).toMatchObject({ actor_role: "viewer", after: { kind: "link" } })
      })
    )

    it.effect("has the first 10 refused sign-ins of an hour, so that nobody can push changes out of it", () =>
      Effect.gen(function* () {
        const { ordinaryKey } = yield* TestGateway
        const secrets = [{ key: ordinaryKey }, { token: yield* link("viewer", 0) }, { key: "mg_mk_mistyped" }]
        for (const body of secrets) yield* page("/console/session", { body })
        for (let i = 0; i < 9; i++) yield* page("/console/session", { body: { token: "x".repeat(43) } })
        const refused = yield* entries("action=refuseSignIn")
        expect(refused).toHaveLength(10)
        const [last, ...before] = refused
        expect(last?.after).toMatchObject({ kind: "link", further_ones_omitted: true })
        expect(JSON.stringify(before)).not.toContain("further_ones_omitted")
        expect(before.slice(-3)).toMatchObject([
          { actor: "unknown", address: "127.0.0.1", after: { kind: "key" } },
          { actor: "unknown", after: { kind: "link" } },
          {
            actor: KeyFormat.hashKey(ordinaryKey),
            actor_label: `${ordinaryKey.slice(0, 6)}…${ordinaryKey.slice(-3)}`,
            actor_role: "none"
          }
        ])
        expect(before.at(-2)?.after?.["message"]).toMatch(/^the link expired at /)
        for (const body of secrets) {
          for (const secret of Object.values(body)) expect(JSON.stringify(refused)).not.toContain(secret)
        }
      })
    )
  }
)

it.layer(layer(), { excludeTestServices: true })("a console that is switched off", (it) => {
  it.effect("says how to switch it on, everywhere", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const asked = [
        yield* ask("/console", { key: null }),
        yield* ask("/console/", { key: null }),
        yield* ask("/console/requests", { key: null }),
        yield* page("/console/session", { body: { key } }),
        yield* page("/console/api/keys")
      ]
      for (const answer of asked) {
        const { message, ...failure } = failureOf(answer)
        expect(failure).toEqual({ status: 404, reason: "console_off" })
        expect(message).toContain("--console on")
      }
    })
  )
})
