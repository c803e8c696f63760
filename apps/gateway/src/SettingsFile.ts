/**
 * Reads the settings file: a JSON object with a key for each setting, in nested groups. Errors name
 * the line.
 */
import * as Setting from "@model-gateway/server/Setting"
import { Effect, FileSystem } from "effect"
import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser"
import { Failure } from "./Failure.ts"
import { nearest } from "./Nearest.ts"

/** A setting's value in the file. */
export interface Given {
  readonly setting: Setting.Setting<unknown>
  /** The value as text, as a flag or an environment variable would give it. */
  readonly text: string
  /** The value as the file has it. */
  readonly value: unknown
  /** Names the value's place in a sentence: `"port" on line 2 of gateway.json`. */
  readonly source: string
}

/** The text of a value in the file. Undefined if no setting has such a value. */
const textOf = (value: unknown, { isList }: Setting.Setting<unknown>): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value === "number") return String(value)
  return isList && Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join(",") : undefined
}

/** The keys, in full, of every setting and group. */
const keysOf = (group: Setting.Group): ReadonlyArray<string> => [
  ...new Set(Setting.entries(group).flatMap(({ path }) => path.map((_, index) => path.slice(0, index + 1).join("."))))
]

/** The known key that an unknown one most likely stands for. A flag's name stands for its key. */
const meant = (key: string, group: Setting.Group): string => {
  const byFlag = new Map(Setting.entries(group).map(({ path, setting }) => [setting.name, path.join(".")]))
  const found = nearest(key, [...keysOf(group), ...byFlag.keys()])
  return byFlag.get(found) ?? found
}

/** Reads the values of the settings in `group`. */
export const read = Effect.fnUntraced(function* (file: string, group: Setting.Group) {
  const fs = yield* FileSystem.FileSystem
  const content = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError(() => new Failure({ message: `The settings file ${file} cannot be read.` })))
  const lineOf = (offset: number): number => content.slice(0, offset).split("\n").length

  const errors: Array<ParseError> = []
  const root = parseTree(content, errors, { disallowComments: true })
  const [error] = errors
  if (root === undefined || error !== undefined) {
    return yield* new Failure({
      message: `The settings file ${file} is not valid JSON: check line ${lineOf(error?.offset ?? 0)}.`
    })
  }
  if (root.type !== "object") {
    return yield* new Failure({ message: `The settings file ${file} must hold one JSON object.` })
  }
  return yield* readGroup({ file, group, lineOf }, root, group, [])
})

interface Reading {
  readonly file: string
  /** All settings. */
  readonly group: Setting.Group
  readonly lineOf: (offset: number) => number
}

const readGroup: (
  reading: Reading,
  node: Node,
  group: Setting.Group,
  path: ReadonlyArray<string>
) => Effect.Effect<ReadonlyArray<Given>, Failure> = Effect.fnUntraced(function* (reading, node, group, path) {
  const given: Array<Given> = []
  const seen = new Set<string>()
  for (const { children: [keyNode, valueNode] = [] } of node.children ?? []) {
    if (keyNode === undefined || valueNode === undefined) continue
    const name = String(keyNode.value)
    const isRoot = path.length === 0
    if (isRoot && name === "$schema") continue
    const key = [...path, name].join(".")
    const source = `"${key}" on line ${reading.lineOf(keyNode.offset)} of ${reading.file}`
    if (seen.has(name)) return yield* new Failure({ message: `${source} is there for the second time.` })
    seen.add(name)

    const known = Setting.lookup(group, name)
    if (known === undefined) {
      return yield* new Failure({
        message: `${source} is not a setting. Did you mean "${meant(key, reading.group)}"?`
      })
    }
    if (Setting.isSetting(known)) {
      const value: unknown = getNodeValue(valueNode)
      const text = textOf(value, known)
      if (text === undefined) return yield* new Failure({ message: Setting.problem(known, source, value) })
      given.push({ setting: known, text, value, source })
    } else if (valueNode.type === "object") {
      given.push(...(yield* readGroup(reading, valueNode, known, [...path, name])))
    } else {
      const keys = Object.keys(known).map((key) => `"${key}"`)
      return yield* new Failure({ message: `${source} is not an object of settings: ${keys.join(", ")}.` })
    }
  }
  return given
})
