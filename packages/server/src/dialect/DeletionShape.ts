/**
 * Chooses one of the three shapes of a deletion confirmation, and builds it.
 *
 * Specification: "File deletion confirmation". The contract describes how the shape is negotiated.
 */
import { type Deletion, DeletionShape, type FileProvider } from "@model-gateway/core/Files"
import { Schema } from "effect"

const isShape = Schema.is(DeletionShape)

const parameter = /^shape[ \t]*=[ \t]*"?([\w-]+)"?$/i

const quality = /^q[ \t]*=[ \t]*([01](?:\.\d{0,3})?)$/i

/**
 * The `shape` parameter of an `Accept` header that accepts JSON: of several, the one with the
 * highest `q`, and of equal ones the first. Unknown shapes are ignored.
 */
const fromAccept = (accept: string | undefined): DeletionShape | undefined => {
  let best: DeletionShape | undefined
  let highest = 0
  for (const range of accept?.split(",") ?? []) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim())
    if (!["application/json", "application/*", "*/*"].includes(type.toLowerCase())) continue
    const valuesOf = (pattern: RegExp) => parameters.flatMap((each) => pattern.exec(each)?.[1]?.toLowerCase() ?? [])
    const shape = valuesOf(parameter).find(isShape)
    const q = Number(valuesOf(quality)[0] ?? 1)
    if (q <= highest || shape === undefined) continue
    best = shape
    highest = q
  }
  return best
}

const ofProvider: Readonly<Record<FileProvider, DeletionShape>> = { provider_a: "compat_a", provider_b: "compat_b" }

/** What decides the shape, highest precedence first. */
export interface ShapePreferences {
  /** The `Accept` header, for example `application/json; shape=compat_a`. */
  readonly accept: string | undefined
  readonly provider: FileProvider | undefined
  /** The workspace's `file_shape`. */
  readonly workspace: DeletionShape
}

/**
 * The shape to answer in.
 *
 * @example
 * ```ts
 * import { negotiate } from "./DeletionShape.ts"
 *
 * negotiate({ accept: "application/json; shape=compat_b", provider: "provider_a", workspace: "native" }) // compat_b
 * ```
 */
export const negotiate = ({ accept, provider, workspace }: ShapePreferences): DeletionShape =>
  fromAccept(accept) ?? (provider === undefined ? workspace : ofProvider[provider])

/** The confirmation that the file was deleted. */
export const confirm = (shape: DeletionShape, id: string): Deletion => {
  switch (shape) {
    case "native":
      return { _shape: "native", id, type: "file_deleted" }
    case "compat_a":
      return { _shape: "compat_a", id, object: "file", deleted: true }
    case "compat_b":
      return { _shape: "compat_b", id, type: "file_deleted" }
  }
}
