import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { EphemeralKeys } from "../../src/access/EphemeralKeys.ts"
import { type Key, KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"

const made = Effect.gen(function* () {
  const keys = yield* KeyStore
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
  const { key, plain } = yield* keys.create({ organizationId, workspaceId, name: "a key", isManagement: true })
  const rotate = (grace: number) => keys.rotate(organizationId, key.hash, { grace })
  return { keys, key, first: plain, organizationId, rotate }
})

/** What authentication says of each secret: the hash of the key, or why the secret is invalid. */
const states = (...secrets: ReadonlyArray<Redacted.Redacted<string>>) =>
  Effect.forEach(secrets, (secret) =>
    Effect.flatMap(KeyStore, ({ authenticate }) => authenticate(secret)).pipe(
      Effect.map(({ key }) => key.hash),
      Effect.catchTag("InvalidKey", ({ owner, reason }) => Effect.succeed(`${reason} ${owner?.hash}`))
    )
  )

describe.each(databases)("a rotated key on $name", ({ create, layer }) => {
  it.effect("keeps its hash, and accepts the secret before until the grace ends, also one that is cached", () =>
    Effect.gen(function* () {
      const { first, key, keys, organizationId, rotate } = yield* made
      const { hash } = key
      expect(yield* states(first)).toEqual([hash])
      yield* TestClock.setTime(1000)
      const second = yield* rotate(5000)
      expect(second.previousEndsAt).toBe(6000)
      const text = Redacted.value(second.plain)
      const label = `mg_mk_…${text.slice(-3)}`
      expect(second.key).toEqual({ ...key, label, updatedAt: 1000 } satisfies Key)
      expect(yield* states(first, second.plain)).toEqual([hash, hash])
      expect((yield* keys.authenticate(second.plain)).key).toEqual(second.key)
      yield* TestClock.setTime(5999)
      expect(yield* states(first, second.plain)).toEqual([hash, hash])
      yield* TestClock.setTime(6000)
      expect(yield* states(first, second.plain)).toEqual([`replaced ${hash}`, hash])
      const [listed] = (yield* keys.list({ organizationId, search: text.slice(-3) })).items
      expect(listed).toMatchObject({ hash, label })
      const stored = JSON.stringify(yield* (yield* SqlClient)`SELECT * FROM key_secrets`)
      expect(stored).not.toContain(text.slice(6, -3))
    }).pipe(Effect.provide(layer))
  )

  it.effect("has at most two valid secrets, whichever of them are in their grace", () =>
    Effect.gen(function* () {
      const { first, key, rotate } = yield* made
      const second = yield* rotate(10_000)
      const third = yield* rotate(20_000)
      const ended = [`replaced ${key.hash}`, key.hash, key.hash]
      expect(yield* states(first, second.plain, third.plain)).toEqual(ended)
      const fourth = yield* rotate(0)
      expect(fourth.previousEndsAt).toBeNull()
      expect(yield* states(first, second.plain, third.plain, fourth.plain)).toEqual([
        `replaced ${key.hash}`,
        "unknown undefined",
        `replaced ${key.hash}`,
        key.hash
      ])
      for (let n = 0; n < 5; n++) yield* rotate(1000)
      // The first one stays, so that its end is known.
      expect(yield* (yield* SqlClient)`SELECT hash FROM key_secrets`).toHaveLength(3)
      yield* TestClock.adjust("1 day")
      expect(yield* states(first)).toEqual([`replaced ${key.hash}`])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is found by the hash of each secret, and changes and ends with all of them", () =>
    Effect.gen(function* () {
      const { first, key, keys, organizationId, rotate } = yield* made
      const { plain } = yield* rotate(60_000)
      yield* states(first, plain)
      const secrets = yield* (yield* SqlClient)`SELECT hash FROM key_secrets`
      expect(secrets).toHaveLength(2)
      for (const { hash } of secrets) expect((yield* keys.get(organizationId, String(hash))).hash).toBe(key.hash)
      expect((yield* Effect.flip(keys.get("elsewhere", String(secrets[1]?.["hash"]))))._tag).toBe("KeyNotFound")
      yield* keys.update(organizationId, key.hash, { disabled: true })
      expect(yield* states(first, plain)).toEqual([`disabled ${key.hash}`, `disabled ${key.hash}`])
      yield* keys.update(organizationId, key.hash, { disabled: false })
      expect(yield* states(first, plain)).toEqual([key.hash, key.hash])
      yield* keys.remove(organizationId, key.hash)
      expect(yield* states(first, plain)).toEqual([`deleted ${key.hash}`, `deleted ${key.hash}`])
      expect((yield* Effect.flip(rotate(0)))._tag).toBe("KeyNotFound")
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps its ephemeral keys, and requests that wait, when a secret ends", () =>
    Effect.gen(function* () {
      const { keys, organizationId } = yield* made
      const { id: workspaceId } = yield* (yield* WorkspaceStore).ensureDefault()
      const { key, plain } = yield* keys.create({ organizationId, workspaceId, name: "parent" })
      const page = yield* (yield* EphemeralKeys).create(key, 60_000)
      const waiting = yield* keys.authenticate(plain)
      yield* keys.rotate(organizationId, key.hash, { grace: 0 })
      expect(yield* states(plain, page.plain)).toEqual([`replaced ${key.hash}`, key.hash])
      expect((yield* keys.refresh(waiting)).key.hash).toBe(key.hash)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is rotated by another process within three seconds, and by two at once one after the other", () =>
    Effect.gen(function* () {
      const location = yield* create
      const here = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const { first, key, rotate } = yield* made
        const there = (...secrets: ReadonlyArray<Redacted.Redacted<string>>) =>
          states(...secrets).pipe(Effect.provide(here))
        expect(yield* there(first)).toEqual([key.hash])
        const [one, other] = yield* Effect.all([rotate(0), rotate(0)], { concurrency: 2 })
        yield* TestClock.adjust("3 seconds")
        const [firstState, ...later] = yield* there(first, one.plain, other.plain)
        expect(firstState).toBe(`replaced ${key.hash}`)
        expect(later.filter((state) => state === key.hash)).toHaveLength(1)
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.effect("is not rotated if the check fails", () =>
    Effect.gen(function* () {
      const { first, key, keys, organizationId } = yield* made
      const options = { grace: 0 }
      expect(yield* Effect.flip(keys.rotate(organizationId, key.hash, options, () => Effect.fail("no" as const)))).toBe(
        "no"
      )
      expect((yield* Effect.flip(keys.rotate("elsewhere", key.hash, options)))._tag).toBe("KeyNotFound")
      expect(yield* states(first)).toEqual([key.hash])
    }).pipe(Effect.provide(layer))
  )
})
