/**
 * The folder of the database and the files: created if missing, and an error if it cannot be used.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Effect } from "effect"
import { accessSync, constants, mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { Failure } from "./Failure.ts"

/**
 * It contains prompts, answers and uploaded files, so other users of this machine have no access.
 */
const privateMode = 0o700

/** What the root of a file system may contain although nobody put it there. */
export const ofFileSystem: ReadonlyArray<string> = ["lost+found", ".snapshot"]

/**
 * Creates one level at a time: `mkdirSync` with `recursive` never returns for a path below folders
 * such as /proc.
 */
const make = (folder: string): void => {
  try {
    if (!statSync(folder).isDirectory()) throw Object.assign(new Error(), { code: "ENOTDIR" })
  } catch (cause) {
    if (ErrorCode.of(cause) !== "ENOENT" || dirname(folder) === folder) throw cause
    make(dirname(folder))
    try {
      mkdirSync(folder, privateMode)
    } catch (cause) {
      // Another process created it in the meantime.
      if (ErrorCode.of(cause) !== "EEXIST") throw cause
    }
  }
}

const reasonOf = (cause: unknown): string => {
  switch (ErrorCode.of(cause)) {
    case "EACCES":
    case "EPERM":
      return "this user has no permission to write there"
    case "EROFS":
      return "its file system is read-only"
    case "ENOTDIR":
      return "a file has its name"
    case "ENOSPC":
      return "the disk is full"
    default:
      return "the system does not allow a folder there"
  }
}

/** Makes sure that the folder is there and can be written to. */
export const prepare = (dataDir: string): Effect.Effect<void, Failure> =>
  Effect.try({
    try: () => {
      make(dataDir)
      accessSync(dataDir, constants.W_OK | constants.X_OK)
    },
    catch: (cause) =>
      new Failure({
        message: `The data folder ${dataDir} cannot be used: ${reasonOf(cause)}. Choose another with --data-dir.`
      })
  })
