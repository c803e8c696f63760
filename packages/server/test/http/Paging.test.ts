/**
 * Every list: its pages make up the whole list, whatever was created at the same time.
 */
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { EphemeralKeys } from "../../src/access/EphemeralKeys.ts"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { issuePaths } from "../TestEnvelope.ts"

const pageOf = Schema.decodeUnknownEffect(
  Schema.fromJsonString(
    Schema.Struct({
      data: Schema.Array(
        Schema.Struct({
          hash: Schema.optionalKey(Schema.String),
          id: Schema.optionalKey(Schema.String),
          key_hash: Schema.optionalKey(Schema.String)
        })
      ),
      has_more: Schema.Boolean
    })
  )
)

/** The names of a page's items. */
const names = Effect.fnUntraced(function* (path: string) {
  const { ask, managementKey: key } = yield* TestGateway
  const answer = yield* ask(path, { key })
  expect(answer.status).toBe(200)
  const { data, has_more } = yield* pageOf(answer.text)
  return { items: data.map((item) => item.hash ?? item.id ?? item.key_hash), hasMore: has_more }
})

/** The names of all items, read in pages of 3. */
const inPages = Effect.fnUntraced(function* (path: string) {
  const all: Array<string | undefined> = []
  for (;;) {
    const page = yield* names(`${path}limit=3&offset=${all.length}`)
    expect(page.items).not.toEqual([])
    all.push(...page.items)
    if (!page.hasMore) return all
    expect(page.items.length).toBe(3)
  }
})

const countedPageOf = Schema.decodeUnknownEffect(
  Schema.fromJsonString(
    Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })), total_count: Schema.Int })
  )
)

/** The names of a page's items, and the total of a list that pages by `offset`. */
const countedNames = Effect.fnUntraced(function* (path: string) {
  const { ask, managementKey: key } = yield* TestGateway
  const answer = yield* ask(path, { key })
  expect(answer.status).toBe(200)
  const { data, total_count } = yield* countedPageOf(answer.text)
  return { items: data.map(({ id }) => id), total: total_count }
})

it.live("the pages of every list make up the whole list, and an item of another list is rejected as `after`", () =>
  Effect.gen(function* () {
    const { ask, managementKey: key, workspace } = yield* TestGateway
    const { organizationId, id: workspaceId } = workspace
    const keys = yield* KeyStore
    const guardrails = yield* GuardrailStore
    const ephemerals = yield* EphemeralKeys
    const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "other", slug: "other" })
    const made = yield* Effect.forEach(Array.from({ length: 10 }), () =>
      keys.create({ organizationId, workspaceId, name: "k" })
    )
    const elsewhere = yield* keys.create({ organizationId, workspaceId: other.id, name: "k" })
    const hashes = made.map((created) => created.key.hash)
    const [parent = elsewhere, gone = elsewhere] = made
    const guardrail = yield* guardrails.create({ organizationId, name: "g" })
    yield* Effect.forEach(Array.from({ length: 6 }), () => guardrails.create({ organizationId, name: "g" }))
    yield* guardrails.assign(organizationId, guardrail.id, [...hashes, elsewhere.key.hash])
    // A guardrail of its own, for the list of all assignments.
    const second = yield* guardrails.create({ organizationId, name: "second" })
    yield* guardrails.assign(organizationId, second.id, [
      (yield* keys.create({ organizationId, workspaceId, name: "k" })).key.hash
    ])
    yield* Effect.forEach(Array.from({ length: 7 }), () => ephemerals.create(parent.key, 60_000))
    yield* keys.remove(organizationId, gone.key.hash)
    const off = yield* keys.create({ organizationId, workspaceId, name: "off" })
    yield* keys.update(organizationId, off.key.hash, { disabled: true })

    const lists = [
      // Two keys of the first run, and the other workspace's.
      ["/api/v1/keys?", 13],
      ["/api/v1/keys?include_disabled=true&", 14],
      [`/api/v1/keys?workspace_id=${workspaceId}&`, 12],
      [`/api/v1/keys?workspace_id=${workspaceId}&include_disabled=true&`, 13],
      [`/api/v1/keys?parent_hash=${parent.key.hash}&`, 7]
    ] as const
    for (const [path, length] of lists) {
      const whole = yield* names(path)
      expect([path, whole.items.length, whole.hasMore]).toEqual([path, length, false])
      expect(yield* inPages(path)).toEqual(whole.items)
      expect(yield* names(`${path}offset=${length}`)).toEqual({ items: [], hasMore: false })
      for (const wrong of ["offset=-1", "offset=1.5", "offset=1000001", "limit=0", "limit=1001"]) {
        const refused = yield* ask(`${path}${wrong}`, { key })
        expect([wrong, refused.status, issuePaths(refused)]).toEqual([wrong, 400, [wrong.split("=")[0]]])
      }
    }
    const counted = [
      ["/api/v1/guardrails?", 8],
      [`/api/v1/guardrails?workspace_id=${other.id}&`, 0],
      [`/api/v1/guardrails/${guardrail.id}/assignments/keys?`, 10],
      ["/api/v1/guardrails/assignments/keys?", 11]
    ] as const
    for (const [path, length] of counted) {
      const whole = yield* countedNames(path)
      expect([path, whole.items.length, whole.total]).toEqual([path, length, length])
      expect(new Set(whole.items).size).toBe(length)
      const pages = yield* Effect.forEach([0, 3, 6, 9, 12], (offset) => countedNames(`${path}offset=${offset}&limit=3`))
      expect(pages.flatMap(({ items }) => items)).toEqual(whole.items)
      expect(pages.map(({ total }) => total)).toEqual(pages.map(() => length))
      for (const wrong of ["offset=-1", "offset=x", "limit=0", "limit=101"]) {
        const refused = yield* ask(`${path}${wrong}`, { key })
        expect([refused.status, issuePaths(refused)]).toEqual([400, [wrong.split("=")[0]]])
      }
    }
    expect(yield* inPages(`/api/v1/keys?workspace_id=${other.id}&`)).toEqual([elsewhere.key.hash])
  }).pipe(Effect.provide(layer()))
)

it.live("a counted list has 50 items unless `limit` is set, and 100 at most", () =>
  Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const guardrails = yield* GuardrailStore
    const { organizationId } = workspace
    yield* Effect.forEach(Array.from({ length: 101 }), () => guardrails.create({ organizationId, name: "g" }))
    for (const [query, length] of [
      ["", 50],
      ["?limit=100", 100],
      ["?limit=100&offset=100", 1]
    ] as const) {
      const { items, total } = yield* countedNames(`/api/v1/guardrails${query}`)
      expect([query, items.length, total]).toEqual([query, length, 101])
    }
  }).pipe(Effect.provide(layer()))
)
