import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type FileScope, FileStore, layerSql } from "../../src/objects/FileStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as TestStorage from "../TestStorage.ts"

const layer = layerSql.pipe(Layer.provideMerge(TestStorage.layer))

const addTo = Effect.fnUntraced(function* (scope: FileScope, filename: string = "notes.txt") {
  const files = yield* FileStore
  const id = yield* files.nextId
  return yield* files.create({
    id,
    workspaceId: scope.workspaceId,
    keyHash: "k",
    ephemeralHash: scope.ephemeralHash ?? null,
    filename,
    purpose: "test",
    contentType: "text/plain",
    bytes: 3,
    sha256: "00",
    objectKey: `files/${id}`
  })
})

const twoWorkspaces = Effect.gen(function* () {
  const workspaces = yield* WorkspaceStore
  const ours = yield* workspaces.ensureDefault()
  const theirs = yield* workspaces.create(ours.organizationId, { name: "theirs", slug: "theirs" })
  return { ours: { workspaceId: ours.id }, theirs: { workspaceId: theirs.id } }
})

describe("FileStore", () => {
  it.effect("finds a file in its own workspace only", () =>
    Effect.gen(function* () {
      const files = yield* FileStore
      const { ours, theirs } = yield* twoWorkspaces
      const file = yield* addTo(ours)
      expect(yield* files.get(ours, file.id)).toEqual(file)
      expect((yield* Effect.flip(files.get(theirs, file.id)))._tag).toBe("FileNotFound")
      expect((yield* Effect.flip(files.remove(theirs, file.id)))._tag).toBe("FileNotFound")
      expect(yield* files.get(ours, file.id)).toEqual(file)
    }).pipe(Effect.provide(layer))
  )

  it.effect("deletes a file once; a second deletion reports it as missing", () =>
    Effect.gen(function* () {
      const files = yield* FileStore
      const { ours } = yield* twoWorkspaces
      const file = yield* addTo(ours)
      expect(yield* files.remove(ours, file.id)).toEqual(file)
      expect((yield* Effect.flip(files.remove(ours, file.id)))._tag).toBe("FileNotFound")
      expect((yield* Effect.flip(files.get(ours, file.id)))._tag).toBe("FileNotFound")
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists newest first in pages, also after a deleted file", () =>
    Effect.gen(function* () {
      const files = yield* FileStore
      const { ours, theirs } = yield* twoWorkspaces
      const names = ["a", "b", "c", "d", "e"]
      for (const name of names) {
        yield* addTo(ours, name)
        yield* addTo(theirs, `their ${name}`)
        // Some share a millisecond, some do not.
        if (name === "b" || name === "d") yield* TestClock.adjust("1 second")
      }
      const first = yield* files.list(ours, { limit: 2 })
      expect(first).toMatchObject({ items: [{ filename: "e" }, { filename: "d" }], hasMore: true })
      const last = first.items[1]?.id ?? ""
      yield* files.remove(ours, last)
      const second = yield* files.list(ours, { limit: 2, after: last })
      expect(second).toMatchObject({ items: [{ filename: "c" }, { filename: "b" }], hasMore: true })
      const third = yield* files.list(ours, { limit: 2, after: second.items[1]?.id })
      expect(third).toMatchObject({ items: [{ filename: "a" }], hasMore: false })
      expect((yield* files.list(ours)).items.length).toBe(4)
      const oldest = yield* files.list(ours, { limit: 2, order: "asc" })
      expect(oldest).toMatchObject({ items: [{ filename: "a" }, { filename: "b" }], hasMore: true })
      const rest = yield* files.list(ours, { order: "asc", after: oldest.items[1]?.id })
      expect(rest).toMatchObject({ items: [{ filename: "c" }, { filename: "e" }], hasMore: false })
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects an `after` that is not a file identifier", () =>
    Effect.gen(function* () {
      const files = yield* FileStore
      const { ours } = yield* twoWorkspaces
      for (const after of ["", "file_", "nonsense", "file_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "' OR 1 = 1 --"]) {
        expect((yield* Effect.flip(files.list(ours, { after })))._tag).toBe("UnknownCursor")
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("finds, lists and deletes only the uploads of an ephemeral key when the scope names one", () =>
    Effect.gen(function* () {
      const { ours } = yield* twoWorkspaces
      const files = yield* FileStore
      const [one, other] = [
        { ...ours, ephemeralHash: "one" },
        { ...ours, ephemeralHash: "other" }
      ]
      const own = yield* Effect.forEach([1, 2, 3], () => Effect.andThen(TestClock.adjust(1), addTo(one)))
      const foreign = [yield* addTo(other), yield* addTo(ours)]
      expect((yield* files.list(one)).items).toEqual(own.toReversed())
      expect((yield* files.list(one, { limit: 2 })).hasMore).toBe(true)
      expect((yield* files.list(ours)).items.length).toBe(5)
      for (const { id } of foreign) {
        expect((yield* Effect.flip(files.get(one, id)))._tag).toBe("FileNotFound")
        expect((yield* Effect.flip(files.remove(one, id)))._tag).toBe("FileNotFound")
        expect((yield* files.get(ours, id)).id).toBe(id)
      }
    }).pipe(Effect.provide(layer))
  )
})
