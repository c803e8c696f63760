import { expect, it } from "@effect/vitest"
import type { Role } from "@model-gateway/core/Identifiers"
import { Effect, Redacted, Schema } from "effect"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { ProviderKeys } from "../../src/access/ProviderKeys.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { includesRole } from "../../src/access/Permission.ts"
import { all } from "../../src/http/Routes.ts"
import { RejectedRequests } from "../../src/requests/RejectedRequests.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const roles: ReadonlyArray<Role> = ["viewer", "operator", "admin"]

const Made = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const idOf = ({ text }: { readonly text: string }): string => Schema.decodeUnknownSync(Made)(text).data.id

const keyOf = ({ text }: { readonly text: string }) =>
  Schema.decodeUnknownSync(
    Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ hash: Schema.String }), key: Schema.String }))
  )(text)

const unknownId = "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd"

/** A management key of the default workspace. */
const managing = Effect.fnUntraced(function* (role: Role, workspaceIds: ReadonlyArray<string> | null = null) {
  const { workspace } = yield* TestGateway
  const { key, plain } = yield* (yield* KeyStore).create({
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    name: role,
    isManagement: true,
    role,
    workspaceIds
  })
  return { hash: key.hash, key: Redacted.value(plain) }
})

const messageOf = (answer: Parameters<typeof envelopeOf>[0]): string => envelopeOf(answer).error.message

it.layer(layer(), { excludeTestServices: true })("the role of a management key", (it) => {
  it.effect("decides which operations it may call, and the 403 names the role that is needed", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      for (const role of roles) {
        const { key } = yield* managing(role)
        for (const { access, method, name, path, role: needed } of all) {
          if (access === "ordinary key" || (access === "any key" && name === "uploadFile" && role !== "viewer"))
            continue
          // Nothing has these ids, so nothing is changed.
          const url = path.replaceAll(/:\w+/g, unknownId)
          const body =
            method === "GET" || method === "DELETE"
              ? {}
              : { body: "[", headers: { "content-type": "application/json" } }
          const answer = yield* ask(url, { key, method, ...body })
          const expected = includesRole(role, needed)
            ? undefined
            : `insufficient permissions: this needs the role ${needed}, and the key has the role ${role}`
          const refused = answer.status === 403 ? messageOf(answer) : undefined
          expect([name, role, refused]).toEqual([name, role, expected])
          inSet(name, answer)
        }
      }
      // The restriction to workspaces is a matter of each operation.
      const { key } = yield* managing("viewer", [workspace.id])
      for (const { access, method, name, path, role, scope } of all) {
        if (access !== "management key" || method !== "GET" || role !== "viewer") continue
        const answer = yield* ask(path.replaceAll(/:\w+/g, unknownId), { key })
        const isClosed = answer.status === 403 && messageOf(answer).includes("restricted to some workspaces")
        expect([name, isClosed]).toEqual([name, scope === "organization"])
      }
      expect((yield* post("/api/v1/workspaces", { name: "n", slug: "n" }, { key })).status).toBe(403)
    })
  )

  it.effect("is admin unless it is given, is shown, and can be changed", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const create = (body: object) => post("/api/v1/keys", { name: "k", ...body }, { key })
      const admin = yield* create({ is_management_key: true })
      expect(JSON.parse(admin.text)).toMatchObject({ data: { role: "admin", workspace_ids: null } })
      expect((yield* create({})).text).not.toContain(`"role"`)
      const ids = [workspace.id.toUpperCase(), workspace.id]
      const made = yield* create({ is_management_key: true, role: "viewer", workspace_ids: ids })
      const shown = { role: "viewer", workspace_ids: [workspace.id] }
      expect(JSON.parse(made.text)).toMatchObject({ data: shown })
      const { data, key: viewer } = keyOf(made)
      for (const path of [`/api/v1/keys/${data.hash}`, "/api/v1/key"]) {
        expect(JSON.parse((yield* ask(path, { key: viewer })).text)).toMatchObject({ data: shown })
      }
      const change = (body: object) => post(`/api/v1/keys/${data.hash}`, body, { key, method: "PATCH" })
      const operator = yield* change({ role: "operator", workspace_ids: null })
      expect(JSON.parse(operator.text)).toMatchObject({ data: { role: "operator", workspace_ids: null } })
      expect((yield* post("/api/v1/keys", { name: "made" }, { key: viewer })).status).toBe(201)
    })
  )

  it.effect("is a 400 that names the field for another key, and for a list that it cannot have", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const create = (body: object) => post("/api/v1/keys", { name: "k", ...body }, { key })
      const workspace_ids = [workspace.id]
      const management = { is_management_key: true }
      for (const [body, path] of [
        [{ role: "viewer" }, "role"],
        [{ role: "admin" }, "role"],
        [{ workspace_ids }, "workspace_ids"],
        [{ ...management, workspace_ids }, "workspace_ids"],
        [{ ...management, role: "viewer", workspace_ids: [] }, "workspace_ids"],
        [{ ...management, role: "viewer", workspace_ids: [unknownId] }, "workspace_ids"],
        [{ ...management, role: "owner" }, "role"]
      ] as const) {
        const answer = yield* create(body)
        expect([body, answer.status, issuePaths(answer)]).toEqual([body, 400, [path]])
      }
      const { data } = keyOf(yield* create({}))
      const patch = (body: object) => post(`/api/v1/keys/${data.hash}`, body, { key, method: "PATCH" })
      expect(issuePaths(yield* patch({ role: "viewer" }))).toEqual(["role"])
      expect(issuePaths(yield* patch({ workspace_ids }))).toEqual(["workspace_ids"])
      const viewer = yield* managing("viewer", [workspace.id])
      const path = `/api/v1/keys/${viewer.hash}`
      expect(issuePaths(yield* post(path, { role: "admin" }, { key, method: "PATCH" }))).toEqual(["workspace_ids"])
      expect((yield* ask(path, { key })).text).toContain(`"role":"viewer"`)
    })
  )

  it.effect("is never exceeded by a key that it creates or changes", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const { id: other } = yield* (yield* WorkspaceStore).create(workspace.organizationId, { name: "o", slug: "o-1" })
      const own = [workspace.id]
      const everywhere = yield* managing("operator")
      const restricted = yield* managing("operator", own)
      const create = (key: string, body: object) =>
        Effect.map(
          post("/api/v1/keys", { name: "k", is_management_key: true, ...body }, { key }),
          ({ status }) => status
        )
      expect(yield* create(everywhere.key, {})).toBe(403)
      expect(yield* create(everywhere.key, { role: "admin" })).toBe(403)
      expect(yield* create(everywhere.key, { role: "operator" })).toBe(201)
      expect(yield* create(everywhere.key, { role: "viewer", workspace_ids: [other] })).toBe(201)
      expect(yield* create(restricted.key, { role: "operator" })).toBe(403)
      expect(yield* create(restricted.key, { role: "operator", workspace_ids: null })).toBe(403)
      expect(yield* create(restricted.key, { role: "operator", workspace_ids: [...own, other] })).toBe(400)
      expect(yield* create(restricted.key, { role: "operator", workspace_ids: own })).toBe(201)

      const patch = (key: string, hash: string, body: object) =>
        Effect.map(post(`/api/v1/keys/${hash}`, body, { key, method: "PATCH" }), ({ status }) => status)
      const admin = yield* managing("admin")
      const viewer = yield* managing("viewer", own)
      for (const { hash, key } of [everywhere, restricted]) {
        // Neither its own, nor that of another key, nor one that has more than it.
        expect(yield* patch(key, hash, { role: "admin", workspace_ids: null })).toBe(403)
        expect(yield* patch(key, viewer.hash, { role: "admin", workspace_ids: null })).toBe(403)
        expect(yield* patch(key, admin.hash, { role: "viewer" })).toBe(403)
        expect(yield* patch(key, admin.hash, { disabled: true })).toBe(403)
        expect((yield* ask(`/api/v1/keys/${admin.hash}`, { key, method: "DELETE" })).status).toBe(403)
      }
      expect(yield* patch(restricted.key, restricted.hash, { workspace_ids: null })).toBe(403)
      expect(yield* patch(restricted.key, everywhere.hash, { name: "mine" })).toBe(403)
      expect(yield* patch(restricted.key, viewer.hash, { role: "operator" })).toBe(200)
      expect((yield* ask("/api/v1/keys", { key: admin.key })).status).toBe(200)
    })
  )
})

it.layer(layer(), { excludeTestServices: true })("a management key of some workspaces", (it) => {
  it.effect("sees and changes only what is in them", () =>
    Effect.gen(function* () {
      const { ask, managementKey: admin, workspace } = yield* TestGateway
      const { organizationId } = workspace
      const workspaces = yield* WorkspaceStore
      const config = { url: "https://hooks.example/marker" }
      /** What a workspace can have, named by its slug. */
      const fill = Effect.fnUntraced(function* (slug: string) {
        const { id } = yield* workspaces.create(organizationId, { name: `${slug}-name`, slug })
        const scope = { workspace_id: id }
        const send = (path: string, body: object) =>
          Effect.tap(post(`/api/v1/${path}`, body, { key: admin }), ({ status, text }) =>
            Effect.sync(() => expect([path, status < 300, text]).toEqual([path, true, text]))
          )
        yield* send(`workspaces/${id}/credits`, { amount: 5 })
        const { data, key } = keyOf(yield* send("keys", { name: `${slug}-key`, ...scope }))
        const guardrail = idOf(yield* send("guardrails", { name: `${slug}-guardrail`, ...scope }))
        yield* send(`guardrails/${guardrail}/assignments/keys`, { key_hashes: [data.hash] })
        const { id: byok } = yield* (yield* ProviderKeys).create({
          organizationId,
          workspaceId: id,
          provider: "cohere",
          secret: Redacted.make("sk-1234567890")
        })
        const destination = idOf(
          yield* send("observability/destinations", { name: `${slug}-destination`, type: "webhook", config, ...scope })
        )
        const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
        const paid = yield* post("/api/v1/rerank", rerank, { key })
        expect(paid.status).toBe(200)
        yield* (yield* RejectedRequests).write(
          [
            {
              id: `019ab1c2-3d4e-7f50-8123-${id.slice(-12)}`,
              requestId: `${slug}-rejected`,
              createdAt: 1,
              operation: "rerank",
              status: 402,
              address: "a",
              durationMs: 1,
              omitted: 0,
              organizationId,
              workspaceId: id,
              keyHash: data.hash
            }
          ],
          []
        )
        return { id, hash: data.hash, key, guardrail, byok, destination, request: String(paid.headers["x-request-id"]) }
      })
      const mine = yield* fill("mine")
      const third = yield* fill("third")
      const hers = yield* fill("hers")
      // A key of another workspace may have a guardrail of this one.
      const guest = keyOf(yield* post("/api/v1/keys", { name: "guest", workspace_id: hers.id }, { key: admin })).data
      yield* post(`/api/v1/guardrails/${mine.guardrail}/assignments/keys`, { key_hashes: [guest.hash] }, { key: admin })
      const { key } = yield* managing("operator", [mine.id, third.id])
      const { key: viewer } = yield* managing("viewer", [mine.id])

      const read = (path: string, key: string) => Effect.map(ask(`/api/v1${path}`, { key }), ({ text }) => text)
      const has = (text: string, { byok, destination, guardrail, hash, id, request }: typeof hers): boolean =>
        [byok, destination, guardrail, hash, id, request].some((value) => text.includes(value))
      for (const path of [
        "/keys?limit=1000",
        "/guardrails",
        "/guardrails/assignments/keys",
        "/workspaces",
        "/generations",
        "/requests/rejected",
        "/activity?group_by=workspace",
        "/activity?interval=day&group_by=key",
        "/activity?interval=hour&group_by=workspace",
        "/activity?interval=range&group_by=workspace&status=completed"
      ]) {
        const everything = yield* read(path, admin)
        expect([path, has(everything, hers), has(everything, mine)]).toEqual([path, true, true])
        const restricted = yield* read(path, key)
        expect([path, has(restricted, hers), has(restricted, mine), has(restricted, third)]).toEqual([
          path,
          false,
          true,
          true
        ])
        const narrow = yield* read(path, viewer)
        expect([path, has(narrow, hers), has(narrow, mine), has(narrow, third)]).toEqual([path, false, true, false])
      }
      // Without a workspace, the lists of one workspace are those of the first.
      for (const path of ["/byok", "/observability/destinations", "/credits/ledger"]) {
        const listed = yield* read(path, key)
        expect([path, has(listed, mine), has(listed, hers)]).toEqual([path, true, false])
      }
      expect(JSON.parse(yield* read("/credits", key))).toEqual({
        data: { total_credits: 10, total_usage: 0.002 }
      })
      expect(JSON.parse(yield* read("/credits", viewer))).toEqual({ data: { total_credits: 5, total_usage: 0.001 } })
      expect(JSON.parse(yield* read("/guardrails/assignments/keys?limit=1", key))).toMatchObject({
        data: [{ guardrail_id: mine.guardrail }],
        total_count: 2
      })
      expect(JSON.parse(yield* read("/guardrails?limit=1&offset=1", key))).toMatchObject({
        data: [{ id: mine.guardrail }],
        total_count: 2
      })

      for (const path of [
        "/guardrails",
        `/guardrails/${mine.guardrail}`,
        `/guardrails/${mine.guardrail}/assignments/keys`
      ]) {
        expect([path, (yield* read(path, key)).includes(guest.hash)]).toEqual([path, false])
        expect([path, (yield* read(path, admin)).includes(guest.hash)]).toEqual([path, true])
      }

      // By its id, what is elsewhere does not exist.
      const unseen: Array<readonly [method: string, path: string, body?: object]> = [
        ["GET", `/keys/${hers.hash}`],
        ["PATCH", `/keys/${hers.hash}`, { name: "taken" }],
        ["DELETE", `/keys/${hers.hash}`],
        ["GET", `/keys?parent_hash=${hers.hash}`],
        ["GET", `/guardrails/${hers.guardrail}`],
        ["PATCH", `/guardrails/${hers.guardrail}`, { name: "taken" }],
        ["DELETE", `/guardrails/${hers.guardrail}`],
        ["GET", `/guardrails/${hers.guardrail}/assignments/keys`],
        ["POST", `/guardrails/${hers.guardrail}/assignments/keys`, { key_hashes: [mine.hash] }],
        ["POST", `/guardrails/${hers.guardrail}/assignments/keys/remove`, { key_hashes: [hers.hash] }],
        ["GET", `/workspaces/${hers.id}`],
        ["GET", "/workspaces/hers"],
        ["POST", `/workspaces/${hers.id}/credits`, { amount: 1 }],
        ["GET", `/byok/${hers.byok}`],
        ["GET", `/observability/destinations/${hers.destination}`],
        ["GET", `/generation?id=${hers.request}`]
      ]
      for (const [method, path, body] of unseen) {
        const answer = yield* ask(`/api/v1${path}`, {
          key,
          method,
          ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
        })
        expect([method, path, answer.status]).toEqual([method, path, 404])
      }
      // A workspace that is named is answered as an unknown one.
      const named = (path: string, body?: object) =>
        body === undefined
          ? ask(`/api/v1${path}`, { key })
          : post(`/api/v1${path}`, { ...body, workspace_id: hers.id }, { key })
      for (const path of [
        "/keys",
        "/guardrails",
        "/generations",
        "/activity",
        "/credits",
        "/credits/ledger",
        "/byok",
        "/files",
        "/videos"
      ]) {
        expect([path, (yield* named(`${path}?workspace_id=${hers.id}`)).status]).toEqual([path, 403])
      }
      expect((yield* named("/keys", { name: "k" })).status).toBe(403)
      expect((yield* named("/guardrails", { name: "g" })).status).toBe(403)

      const assigned = yield* post(
        `/api/v1/guardrails/${mine.guardrail}/assignments/keys`,
        { key_hashes: [hers.hash, third.hash] },
        { key }
      )
      expect(JSON.parse(assigned.text)).toMatchObject({ assigned_count: 1, not_found: [hers.hash] })
      expect(JSON.parse(yield* read(`/keys/${hers.hash}`, admin))).toMatchObject({
        data: { guardrail_id: hers.guardrail, name: "hers-key", disabled: false }
      })

      // What is its own, it changes.
      expect((yield* post(`/api/v1/keys/${mine.hash}`, { name: "n" }, { key, method: "PATCH" })).status).toBe(200)
      expect((yield* post(`/api/v1/workspaces/${mine.id}/credits`, { amount: 1 }, { key })).status).toBe(200)
      const made = yield* post("/api/v1/keys", { name: "default" }, { key })
      expect(JSON.parse(made.text)).toMatchObject({ data: { workspace_id: mine.id } })
      expect((yield* ask(`/api/v1/keys/${mine.hash}`, { key, method: "DELETE" })).status).toBe(200)
    })
  )
})
