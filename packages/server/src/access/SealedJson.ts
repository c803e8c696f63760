/**
 * Values that stores keep in one column, encrypted by the {@link Vault}. The column contains what
 * the vault returns, as JSON.
 */
import { Effect, Redacted, Schema } from "effect"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type Owner, mapVaultError, type Sealed, Vault } from "./Vault.ts"

/** Encrypts and decrypts the values of a column. */
export interface SealedJson<A> {
  readonly seal: (value: A, owner: Owner) => Effect.Effect<string, StorageError>
  readonly open: (column: string, owner: Owner) => Effect.Effect<A, StorageError>
  /** The column under the current master key. Undefined: it is already. */
  readonly rewrap: (column: string, owner: Owner) => Effect.Effect<string | undefined, StorageError>
}

const Column = Schema.fromJsonString(
  Schema.Struct({ masterKeyId: Schema.String, dataKey: Schema.String, secret: Schema.String })
)

/** The ids of the master keys that encrypted the values of these columns. */
export const masterKeyIds = (columns: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.forEach(columns, (column) => Effect.map(read(column), ({ masterKeyId }) => masterKeyId))

const read = (column: string): Effect.Effect<Sealed> => Effect.orDie(Schema.decodeEffect(Column)(column))

/**
 * For values of the schema. Errors have this `operation`. A column that is not valid is a defect.
 */
export const make = Effect.fnUntraced(function* <A, I>(
  schema: Schema.ConstraintCodec<A, I>,
  operation: string
): Effect.fn.Return<SealedJson<A>, never, Vault> {
  const vault = yield* Vault
  const Value = Schema.fromJsonString(schema)
  return {
    seal: Effect.fnUntraced(function* (value, owner) {
      const text = yield* Effect.orDie(Schema.encodeEffect(Value)(value))
      return JSON.stringify(yield* vault.seal(Redacted.make(text), owner))
    }, mapVaultError(operation)),
    open: Effect.fnUntraced(function* (column, owner) {
      const text = yield* vault.open(yield* read(column), owner)
      return yield* Effect.orDie(Schema.decodeEffect(Value)(Redacted.value(text)))
    }, mapVaultError(operation)),
    rewrap: Effect.fnUntraced(function* (column, owner) {
      const sealed = yield* vault.rewrap(yield* read(column), owner)
      return sealed === undefined ? undefined : JSON.stringify(sealed)
    }, mapVaultError(operation))
  }
})
