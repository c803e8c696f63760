/**
 * Encrypts secrets that callers store.
 *
 * Each secret is encrypted with a data key of its own, and the data key with the master key
 * (AES-256 in Galois/Counter Mode, both times). The master key can therefore be replaced without
 * decrypting a secret: only the data keys are encrypted again ({@link Vault} `rewrap`).
 *
 * Both layers authenticate what the secret belongs to. A row that is copied to another workspace or
 * purpose does not decrypt.
 *
 * `MasterKeys` says where the master key is.
 */
import { Context, Effect, type FileSystem, Layer, type Path, Redacted } from "effect"
import * as Aead from "effect/crypto/Aead"
import { SecureRandom } from "effect/crypto/SecureRandom"
import * as Base64 from "effect/encoding/Base64"
import type { SqlClient } from "effect/sql/SqlClient"
import { StorageError } from "../storage/sql/StorageError.ts"
import * as MasterKeys from "./MasterKeys.ts"
import { VaultError } from "./MasterKeys.ts"

export { keyFile, VaultError } from "./MasterKeys.ts"

/** An encrypted secret. Each text is the nonce and the encrypted bytes in base64. */
export interface Sealed {
  /** Identifies the master key that encrypted the data key. It reveals nothing about it. */
  readonly masterKeyId: string
  readonly dataKey: string
  readonly secret: string
}

/** What a secret belongs to. It must be the same when the secret is read. */
export interface Owner {
  readonly workspaceId: string
  /** What the secret is for: the provider of a provider key, or the use of another secret. */
  readonly purpose: string
}

/** The vault. */
export class Vault extends Context.Service<
  Vault,
  {
    readonly seal: (secret: Redacted.Redacted<string>, owner: Owner) => Effect.Effect<Sealed, VaultError>
    readonly open: (sealed: Sealed, owner: Owner) => Effect.Effect<Redacted.Redacted<string>, VaultError>
    /** The same secret under the current master key. Undefined: it is already. */
    readonly rewrap: (sealed: Sealed, owner: Owner) => Effect.Effect<Sealed | undefined, VaultError>
  }
>()("@model-gateway/server/access/Vault") {}

/** Converts {@link VaultError} in an effect's error union to a `StorageError` of the operation. */
export const mapVaultError =
  (operation: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      effect,
      (error: E): error is Extract<E, VaultError> => error instanceof VaultError,
      ({ message }) => Effect.fail(new StorageError({ operation, message, retryable: false }))
    )

const nonceLength = 12

/** Authenticated too, so that no other use of the same master key accepts the text. */
const format = "model-gateway provider key 1"

const associated = ({ purpose, workspaceId }: Owner): Uint8Array =>
  new TextEncoder().encode(JSON.stringify([format, workspaceId, purpose]))

/** Makes the vault over the master keys. */
const make = Effect.fnUntraced(function* (masterKeys: MasterKeys.MasterKeys) {
  const aead = yield* Aead.Aead
  const random = yield* SecureRandom

  const encrypt = Effect.fnUntraced(function* (key: Aead.Key, plain: Uint8Array, aad: Uint8Array) {
    const nonce = yield* random.randomBytes(nonceLength)
    const encrypted = yield* Effect.orDie(aead.encrypt(key, plain, { nonce, aad }))
    const joined = new Uint8Array(nonce.length + encrypted.length)
    joined.set(nonce)
    joined.set(encrypted, nonce.length)
    return Base64.encode(joined)
  })

  const decrypt = Effect.fnUntraced(function* (key: Aead.Key, text: string, aad: Uint8Array) {
    const bytes = MasterKeys.bytesOf(text)
    const nonce = bytes.subarray(0, nonceLength)
    return yield* Effect.mapError(
      aead.decrypt(key, bytes.subarray(nonceLength), { nonce, aad }),
      () =>
        new VaultError({
          message: "A stored secret cannot be decrypted: it was changed, or it belongs to another workspace."
        })
    )
  })

  const dataKeyOf = Effect.fnUntraced(function* ({ dataKey, masterKeyId }: Sealed, aad: Uint8Array) {
    const master = yield* masterKeys.find(masterKeyId)
    if (master === undefined) {
      return yield* new VaultError({
        message: `A stored secret was encrypted with the master key ${masterKeyId}, which this gateway does not have. Add it to the former master keys.`
      })
    }
    return yield* decrypt(master.key, dataKey, aad)
  })

  return Vault.of({
    seal: Effect.fn("Vault.seal")(function* (secret: Redacted.Redacted<string>, owner: Owner) {
      const aad = associated(owner)
      const master = yield* masterKeys.current
      const bytes = yield* random.randomBytes(32)
      const dataKey = yield* Effect.orDie(Aead.key(Aead.aes256Gcm, bytes))
      return {
        masterKeyId: master.id,
        dataKey: yield* encrypt(master.key, bytes, aad),
        secret: yield* encrypt(dataKey, new TextEncoder().encode(Redacted.value(secret)), aad)
      }
    }),
    open: Effect.fn("Vault.open")(function* (sealed: Sealed, owner: Owner) {
      const aad = associated(owner)
      const dataKey = yield* Effect.orDie(Aead.key(Aead.aes256Gcm, yield* dataKeyOf(sealed, aad)))
      return Redacted.make(new TextDecoder().decode(yield* decrypt(dataKey, sealed.secret, aad)))
    }),
    rewrap: Effect.fn("Vault.rewrap")(function* (sealed: Sealed, owner: Owner) {
      const aad = associated(owner)
      const master = yield* masterKeys.current
      if (master.id === sealed.masterKeyId) return undefined
      const dataKey = yield* dataKeyOf(sealed, aad)
      return { ...sealed, masterKeyId: master.id, dataKey: yield* encrypt(master.key, dataKey, aad) }
    })
  })
})

/** The vault with the master key of the settings, or of the file in this folder. */
export const layer = (folder: string): Layer.Layer<Vault, never, FileSystem.FileSystem | Path.Path | SecureRandom> =>
  Layer.effect(Vault, Effect.flatMap(MasterKeys.inFile(folder), make)).pipe(Layer.provide(Aead.layerWebCrypto))

/**
 * The vault with the master key of the settings, or of the database, so that all processes on this
 * database have the same one.
 */
export const layerSql: Layer.Layer<Vault, never, SqlClient | SecureRandom> = Layer.effect(
  Vault,
  Effect.flatMap(MasterKeys.inDatabase, make)
).pipe(Layer.provide(Aead.layerWebCrypto))
