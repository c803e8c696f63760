/**
 * The request of POST `/keys/ephemeral`. It has a file of its own because it reads the operations
 * of other files, which a page that creates no keys must not bundle.
 */
import * as Schema from "effect/Schema"
import * as CohereRerank from "../dialect/CohereRerank.ts"
import * as CurrentKey from "../CurrentKey.ts"
import * as Estimate from "../Estimate.ts"
import * as Files from "../Files.ts"
import * as ModelEndpoints from "../ModelEndpoints.ts"
import * as Models from "../Models.ts"
import * as Generation from "./generation.ts"
import * as Operation from "../Operation.ts"
import * as Providers from "../Providers.ts"
import * as Rerank from "../Rerank.ts"
import * as Transcription from "../Transcription.ts"
import * as Video from "../Video.ts"
import * as VideoModels from "../VideoModels.ts"
import { isMaxItems } from "./bounds.ts"
import type { Written } from "./written.ts"

/** The modules of all operations that an ordinary key may call, except creating ephemeral keys. */
const modules = [
  CohereRerank,
  CurrentKey,
  Estimate,
  Files,
  Generation,
  Models,
  ModelEndpoints,
  Providers,
  Rerank,
  Transcription,
  Video,
  VideoModels
] as const

type ExportOf<Module> = Module extends unknown ? Module[keyof Module] : never

/**
 * @category models
 * @since 0.1.0
 */
export type EphemeralOperation = Extract<
  ExportOf<(typeof modules)[number]>,
  Operation.Operation & { readonly access: "any key" | "ordinary key" }
>["identifier"]

const isCallable = (value: unknown): value is { readonly identifier: EphemeralOperation } =>
  Operation.isOperation(value) && value.access !== "management key"

/**
 * The operations that an ephemeral key can be restricted to: everything an ordinary key may call,
 * except creating ephemeral keys.
 *
 * @category constants
 * @since 0.1.0
 */
export const ephemeralOperations: ReadonlyArray<EphemeralOperation> = modules
  .flatMap((module): ReadonlyArray<unknown> => Object.values(module))
  .filter(isCallable)
  .map(({ identifier }) => identifier)

const isEphemeralOperation = (name: string): name is EphemeralOperation =>
  ephemeralOperations.some((operation) => operation === name)

/** Not a `Schema.Literals`, whose error would not name the unknown operation. */
const EphemeralOperation = Schema.String.check(
  Schema.makeFilter(
    (name: string) =>
      isEphemeralOperation(name) ||
      `Expected one of ${ephemeralOperations.join(", ")}; ${JSON.stringify(name.slice(0, 64))} is not an operation that an ephemeral key may call`,
    {
      ...Schema.isPattern(new RegExp(`^(?:${ephemeralOperations.join("|")})$`)).annotations,
      toJsonSchema: () => ({ enum: [...ephemeralOperations] })
    },
    true
  )
).pipe(Schema.refine(isEphemeralOperation))

/**
 * The lifetime and the permissions of a new ephemeral key. Every field is optional.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EphemeralRequest = Schema.Struct({
  /** Lifetime in seconds, from 1 to 900. Default: 900 (15 minutes). */
  expires_in: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 900 }))),
  /**
   * The identifiers of the operations that the key may call, such as `rerank`: 1 to 64. Calling any
   * other operation is a 403, except GET `/key`, which every key may call. Default: everything the
   * parent may call.
   */
  operations: Schema.optionalKey(Schema.NonEmptyArray(EphemeralOperation).check(isMaxItems(64))),
  /**
   * If true, the key sees only the files and video jobs that it created itself, and at GET
   * `/generation` only the requests that it made. All others are a 404, also those of the key that
   * created it. Default: false.
   */
  own_files: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type EphemeralRequest = {
  [Field in keyof typeof EphemeralRequest.Type]: Written<typeof EphemeralRequest.Type, Field>
}
