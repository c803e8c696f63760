/**
 * Reads the settings file: a JSON object with a key for each setting, in nested groups, and the
 * parts of {@link ModelSettings}. Errors name the line.
 */
import { nearest } from "@model-gateway/settings/Nearest"
import * as Setting from "@model-gateway/settings/Setting"
import { Effect, FileSystem, SchemaParser } from "effect"
import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser"
import { Failure } from "./Failure.ts"
import * as Finding from "./Finding.ts"
import * as ModelSettings from "./ModelSettings.ts"
import * as SecretFile from "./SecretFile.ts"

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

/** The contents of a settings file. */
export interface SettingsFile {
  readonly given: ReadonlyArray<Given>
  readonly modelSettings: ModelSettings.ModelSettings
  /**
   * Names a place in a sentence: `"models.acme/rerank.offers[0]" on line 7 of gateway.json`. The
   * line of an absent value is that of the object that lacks it.
   */
  readonly sourceOf: (location: Finding.Location) => string
}

/** No settings file. */
export const none: SettingsFile = {
  given: [],
  modelSettings: {},
  sourceOf: (location) => `"${Finding.format(location)}"`
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
const suggestion = (key: string, group: Setting.Group): string => {
  const byFlag = new Map(Setting.entries(group).map(({ path, setting }) => [setting.name, path.join(".")]))
  const found = nearest(key, [...keysOf(group), ...ModelSettings.parts, ...byFlag.keys()])
  return byFlag.get(found) ?? found
}

/** Reads the values of the settings in `group`, and the parts that are no settings. */
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
    return yield* new Failure({ message: `The settings file ${file} must contain one JSON object.` })
  }
  const sourceAt = (location: Finding.Location, { offset }: Node): string =>
    `"${Finding.format(location)}" on line ${lineOf(offset)} of ${file}`
  const reading: Reading = { group, root, sourceAt }
  const settingsFile: SettingsFile = {
    given: yield* readGroup(reading, root, group, []),
    modelSettings: yield* readModelSettings(reading),
    sourceOf: (location) => sourceAt(location, nodeAt(root, location))
  }
  return settingsFile
})

/**
 * The node at a place: its property if it has a key. If nothing is there, that of what lacks it.
 */
const nodeAt = (root: Node, location: Finding.Location): Node => {
  const found = findNodeAtLocation(root, [...location])
  if (found === undefined) return location.length === 0 ? root : nodeAt(root, location.slice(0, -1))
  return found.parent?.type === "property" ? found.parent : found
}

interface Reading {
  /** All settings. */
  readonly group: Setting.Group
  readonly root: Node
  readonly sourceAt: (location: Finding.Location, node: Node) => string
}

const readGroup: (
  reading: Reading,
  node: Node,
  group: Setting.Group,
  path: ReadonlyArray<string>
) => Effect.Effect<ReadonlyArray<Given>, Failure> = Effect.fnUntraced(function* (reading, node, group, path) {
  const given: Array<Given> = []
  const repeated = repetitionIn(reading, node, path)
  if (repeated !== undefined) return yield* repeated
  for (const { children: [keyNode, valueNode] = [] } of node.children ?? []) {
    if (keyNode === undefined || valueNode === undefined) continue
    const name = String(keyNode.value)
    if (path.length === 0 && (name === "$schema" || ModelSettings.isPart(name))) continue
    const location = [...path, name]
    const source = reading.sourceAt(location, keyNode)

    const known = Setting.lookup(group, name)
    if (known === undefined) {
      return yield* new Failure({
        message: `${source} is not a setting. Did you mean "${suggestion(location.join("."), reading.group)}"?`
      })
    }
    if (Setting.isSetting(known)) {
      const value: unknown = getNodeValue(valueNode)
      if (known.isSecret && valueNode.type === "object") {
        const reference = yield* decodeReference(value, { onExcessProperty: "error" }).pipe(
          Effect.mapError(
            () => new Failure({ message: `${source} is not ${known.allowed}, or ${Setting.fileReference}.` })
          )
        )
        given.push({ setting: known, ...(yield* SecretFile.read(reference.file, source)) })
        continue
      }
      const text = textOf(value, known)
      if (text === undefined) return yield* new Failure({ message: Setting.problem(known, source, value) })
      given.push({ setting: known, text, value, source })
    } else if (valueNode.type === "object") {
      given.push(...(yield* readGroup(reading, valueNode, known, location)))
    } else {
      const keys = Object.keys(known).map((key) => `"${key}"`)
      return yield* new Failure({ message: `${source} is not an object of settings: ${keys.join(", ")}.` })
    }
  }
  return given
})

/** The failure for a key that an object has twice. */
const repetitionIn = ({ sourceAt }: Reading, node: Node, location: Finding.Location): Failure | undefined => {
  const seen = new Set<unknown>()
  for (const { children: [key] = [] } of node.type === "object" ? (node.children ?? []) : []) {
    if (key === undefined) continue
    if (seen.has(key.value)) {
      return new Failure({
        message: `${sourceAt([...location, String(key.value)], key)} is set twice.`
      })
    }
    seen.add(key.value)
  }
  return undefined
}

const decode = SchemaParser.decodeUnknownEffect(ModelSettings.ModelSettings)

const decodeReference = SchemaParser.decodeUnknownEffect(ModelSettings.FileReference)

const readModelSettings = Effect.fnUntraced(function* (reading: Reading) {
  const parts: Record<string, unknown> = {}
  for (const part of ModelSettings.parts) {
    const node = findNodeAtLocation(reading.root, [part])
    if (node === undefined) continue
    for (const { location, node: inner } of nodesOf(node, [part])) {
      const repeated = repetitionIn(reading, inner, location)
      if (repeated !== undefined) return yield* repeated
    }
    parts[part] = getNodeValue(node)
  }
  return yield* decode(parts, { errors: "first", onExcessProperty: "error" }).pipe(
    Effect.mapError((issue) => new Failure({ message: problem(reading, Finding.of(issue)) }))
  )
})

interface Place {
  readonly location: Finding.Location
  readonly node: Node
}

/** A node and all nodes below it. */
const nodesOf = (node: Node, location: Finding.Location): ReadonlyArray<Place> => [
  { location, node },
  ...(node.children ?? []).flatMap((child, index) => {
    const [key, value] = child.type === "property" ? (child.children ?? []) : []
    if (child.type !== "property") return nodesOf(child, [...location, index])
    return key === undefined || value === undefined ? [] : nodesOf(value, [...location, String(key.value)])
  })
]

/** The sentence about a finding. */
const problem = ({ root, sourceAt }: Reading, finding: Finding.Finding): string => {
  const { location } = finding
  const key = String(location.at(-1))
  const sourceOf = (location: Finding.Location) => sourceAt(location, nodeAt(root, location))
  switch (finding.fault) {
    case "missing":
      return `${sourceOf(location.slice(0, -1))} has no "${key}".`
    case "unknown":
      return finding.known.length === 0
        ? `${sourceOf(location)} is not allowed in ${finding.expected ?? "this object"}.`
        : `${sourceOf(location)} is not a setting. Did you mean "${nearest(key, finding.known)}"?`
    case "wrong": {
      const node = findNodeAtLocation(root, [...location])
      const shown =
        node === undefined || !isShown(location, node) ? "" : ` ${Setting.format(getNodeValue(node))}, which is`
      return `${sourceOf(location)} is${shown} not ${finding.expected ?? "allowed"}.`
    }
  }
}

/** Whether an error may show a value. It may be a secret where an API key is expected, or below. */
const isShown = (location: Finding.Location, { type }: Node): boolean =>
  type !== "object" &&
  type !== "array" &&
  (location[0] !== "upstreams" || ["adapter", "baseUrl", "timeLimit"].includes(String(location.at(-1))))
