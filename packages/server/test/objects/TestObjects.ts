/** What the tests of object stores have in common. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Option, FileSystem, Stream } from "effect"
import { type ByteWindow, ObjectStore } from "../../src/objects/ObjectStore.ts"
import * as ProcessFolder from "../../src/objects/ProcessFolder.ts"

/** All files in the folder and its subfolders, except locks. */
export const filesIn = (folder: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const found: Array<string> = []
    for (const entry of yield* fs.readDirectory(folder, { recursive: true })) {
      if (entry.endsWith(`/${ProcessFolder.lockName}`)) continue
      // An entry may be gone by now, because a part was sent.
      const info = yield* Effect.option(fs.stat(`${folder}/${entry}`))
      if (Option.isSome(info) && info.value.type === "File") found.push(entry)
    }
    return found
  }).pipe(Effect.provide(NodeServices.layer))

/** Reads an object, or a window of it. */
export const read = (key: string, window?: ByteWindow) =>
  Stream.unwrap(
    Effect.map(
      Effect.flatMap(ObjectStore, (objects) => objects.open(key)),
      (found) => found.read(window)
    )
  )

/** Reads an object as text. */
export const readText = (key: string, window?: ByteWindow) => Stream.mkString(Stream.decodeText(read(key, window)))
