/**
 * Reads a secret from a file that a setting names, such as one that a container's orchestrator
 * provides. Errors name the setting and, if it cannot be a secret, the file, never the contents.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import * as Setting from "@model-gateway/settings/Setting"
import { Effect } from "effect"
import { readFileSync, type Stats, statSync } from "node:fs"
import { dirname, isAbsolute } from "node:path"
import { Failure } from "./Failure.ts"

/** More than any secret has. */
const maxBytes = 64 * 1024

/** A secret, as flags, environment and settings file give one. */
export interface Given {
  readonly text: string
  readonly value: string
  /** Names the secret's place in a sentence. */
  readonly source: string
}

const problemOf = (cause: unknown): string => {
  switch (ErrorCode.of(cause)) {
    case "ENOENT":
    case "ENOTDIR":
      return "does not exist"
    case "EACCES":
    case "EPERM":
      return "this user may not read"
    default:
      return "cannot be read"
  }
}

/**
 * Whether a text must be a path. Any other may be the secret, given in place of its file. A secret
 * may begin as a path does, but it is in no folder. A forgotten mount leaves only the first folders
 * of a path.
 */
const isPath = (text: string): boolean =>
  (isAbsolute(text) || /^\.{1,2}\//.test(text)) && (statOf(text) !== undefined || isBelowFolder(text))

/** Whether a folder of the path exists, besides the root. */
const isBelowFolder = (path: string): boolean => {
  const folder = dirname(path)
  const isRoot = dirname(folder) === folder
  return !isRoot && (statOf(folder)?.isDirectory() === true || isBelowFolder(folder))
}

const statOf = (path: string): Stats | undefined => {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/**
 * The secret in a file, without the line breaks at its end. `source` names the setting that names
 * the file.
 */
export const read = (file: string, source: string): Effect.Effect<Given, Failure> =>
  Effect.suspend(() => {
    const refused = (problem: string) => {
      const name = isPath(file) ? `the file ${Setting.format(file).slice(1, -1)}, which` : "a file that"
      return new Failure({ message: `${source} names ${name} ${problem}.` })
    }
    try {
      const status = statSync(file)
      if (!status.isFile()) return refused("is not a regular file")
      if (status.size > maxBytes) return refused(`is larger than ${maxBytes / 1024} KiB`)
      const text = decode(readFileSync(file))
      if (text === undefined) return refused("is not text in UTF-8")
      const secret = text.replace(/[\r\n]+$/, "")
      if (secret === "") return refused("is empty")
      return Effect.succeed({ text: secret, value: secret, source: `${source} (the file ${file})` })
    } catch (cause) {
      return refused(problemOf(cause))
    }
  })

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
