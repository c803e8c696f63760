/**
 * Encrypts secrets that callers store.
 *
 * Each secret is encrypted with a data key of its own, and the data key with the master key
 * (AES-256 in Galois/Counter Mode, both times). The master key can therefore be replaced without
 * decrypting a secret: only the data keys are encrypted again ({@link Vault} `rewrap`).
 *
 * Both layers authenticate what the secret belongs to. A row that is copied to another workspace or
 * provider does not decrypt.
 *
 * The master key is a setting. Without one, the first secret that is stored creates a key in the
 * file {@link keyFile} of the data folder, which only its owner can read. When a setting replaces
 * it, the key of the file still decrypts what it encrypted.
 */
import { Context, Data, Effect, FileSystem, Layer, Path, Redacted, Result, Semaphore } from "effect"
import * as Aead from "effect/crypto/Aead"
import { SecureRandom } from "effect/crypto/SecureRandom"
import * as Base64 from "effect/encoding/Base64"
import type { PlatformError } from "effect/PlatformError"
import { hash } from "node:crypto"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"

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
  readonly provider: string
}

/** A secret cannot be encrypted or decrypted. The message is for the operator. */
export class VaultError extends Data.TaggedError("VaultError")<{ readonly message: string }> {}

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

/** The file of the master key in the data folder. */
export const keyFile = "master.key"

interface MasterKey {
  readonly id: string
  readonly key: Aead.Key
}

/** Where the master keys are. */
interface MasterKeys {
  /** The key to encrypt with. Creates it if necessary. */
  readonly current: Effect.Effect<MasterKey, VaultError>
  readonly find: (id: string) => Effect.Effect<MasterKey | undefined, VaultError>
}

const nonceLength = 12

/** Says what the text is for, so that no other use of the same key accepts it. */
const purpose = "model-gateway provider key 1"

const associated = ({ provider, workspaceId }: Owner): Uint8Array =>
  new TextEncoder().encode(JSON.stringify([purpose, workspaceId, provider]))

const bytesOf = (base64: string): Uint8Array => Result.getOrElse(Base64.decode(base64), () => new Uint8Array(0))

const masterKeyOf = Effect.fnUntraced(function* (base64: string, source: string) {
  const bytes = bytesOf(base64)
  if (bytes.length !== 32) {
    return yield* new VaultError({ message: `The master key in ${source} is not 32 bytes in base64.` })
  }
  const key = yield* Effect.orDie(Aead.key(Aead.aes256Gcm, bytes))
  return { id: hash("sha256", bytes, "hex").slice(0, 16), key }
})

/** Makes the vault over the master keys. */
const make = Effect.fnUntraced(function* (masterKeys: MasterKeys) {
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
    const bytes = bytesOf(text)
    const nonce = bytes.subarray(0, nonceLength)
    return yield* Effect.mapError(
      aead.decrypt(key, bytes.subarray(nonceLength), { nonce, aad }),
      () =>
        new VaultError({
          message: "A stored provider key cannot be decrypted: it was changed, or it belongs to another workspace."
        })
    )
  })

  const dataKeyOf = Effect.fnUntraced(function* ({ dataKey, masterKeyId }: Sealed, aad: Uint8Array) {
    const master = yield* masterKeys.find(masterKeyId)
    if (master === undefined) {
      return yield* new VaultError({
        message: `A stored provider key was encrypted with the master key ${masterKeyId}, which this gateway does not have. Add it to the former master keys.`
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

/** The master key in a file. */
const inFile = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const random = yield* SecureRandom
  const file = path.join(folder, keyFile)

  const failed = ({ reason }: PlatformError) =>
    new VaultError({ message: `The master key file ${file} cannot be used (${reason._tag}).` })

  /** Undefined: there is no file. */
  const read = Effect.gen(function* () {
    const exists = yield* Effect.mapError(fs.exists(file), failed)
    if (!exists) return undefined
    return yield* masterKeyOf((yield* Effect.mapError(fs.readFileString(file), failed)).trim(), file)
  })

  /**
   * Writes another file and links it, so that of several processes one creates the key, and nobody
   * reads half of it.
   */
  const create = Effect.gen(function* () {
    const written = `${file}.${yield* random.uuidV4()}`
    yield* fs.writeFileString(written, `${Base64.encode(yield* random.randomBytes(32))}\n`, {
      flag: "wx",
      mode: 0o600
    })
    yield* Effect.ensuring(
      Effect.catchIf(
        fs.link(written, file),
        ({ reason }) => reason._tag === "AlreadyExists",
        () => Effect.void
      ),
      Effect.ignore(fs.remove(written))
    )
  }).pipe(Effect.mapError(failed))

  return { read, create }
})

/** The master keys of the settings, or of the file in the folder. */
const keysOf = Effect.fnUntraced(function* (folder: string) {
  const { byok } = yield* GatewayServerConfig
  const file = yield* inFile(folder)
  const once = yield* Semaphore.make(1)
  let ofFile: MasterKey | undefined

  const fromFile = Effect.gen(function* () {
    return (ofFile ??= yield* file.read)
  })

  const configured = yield* Effect.cached(
    byok.masterKey === undefined
      ? Effect.succeed(undefined)
      : masterKeyOf(Redacted.value(byok.masterKey), "the setting master-key")
  )

  const former = yield* Effect.cached(
    Effect.forEach(
      byok.formerMasterKeys === undefined ? [] : Redacted.value(byok.formerMasterKeys).split(","),
      (base64) => masterKeyOf(base64, "the setting former-master-keys")
    )
  )

  const current = Effect.gen(function* () {
    const key = (yield* configured) ?? (yield* fromFile)
    if (key !== undefined) return key
    yield* file.create
    const created = yield* fromFile
    return created ?? (yield* new VaultError({ message: `The master key file ${keyFile} was just deleted.` }))
  }).pipe(once.withPermits(1))

  const find = Effect.fnUntraced(function* (id: string) {
    const key = [yield* configured, ...(yield* former)].find((key) => key?.id === id)
    if (key !== undefined) return key
    const stored = yield* fromFile
    return stored?.id === id ? stored : undefined
  })

  return { current, find } satisfies MasterKeys
})

/** The vault with the master key of the settings, or of the file in this folder. */
export const layer = (folder: string): Layer.Layer<Vault, never, FileSystem.FileSystem | Path.Path | SecureRandom> =>
  Layer.effect(Vault, Effect.flatMap(keysOf(folder), make)).pipe(Layer.provide(Aead.layerWebCrypto))
