import { Effect, type FileSystem } from "effect"

/**
 * Makes new names in a folder durable. Without this, a power failure can undo a rename or a link
 * that was reported as done. Not every platform can open a folder, so it never fails.
 */
export const syncFolder = (fs: FileSystem.FileSystem, folder: string): Effect.Effect<void> =>
  Effect.ignore(Effect.scoped(Effect.flatMap(fs.open(folder, { flag: "r" }), (file) => file.sync)))
