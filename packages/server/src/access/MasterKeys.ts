/**
 * The master key that encrypts the data keys of secrets.
 *
 * It is a setting. Without the setting, the first secret that is stored creates a key: on one
 * machine in the file {@link keyFile} of the data folder, which only its owner can read; on
 * Postgres in the table `master_key`, so that all processes have the same one. When the setting
 * replaces a created key, the created one still decrypts what it encrypted.
 */
import { Context, Data, Effect, FileSystem, Path, Redacted, Result, Semaphore } from "effect"
import * as Aead from "effect/crypto/Aead"
import { SecureRandom } from "effect/crypto/SecureRandom"
import * as Base64 from "effect/encoding/Base64"
import type { PlatformError } from "effect/PlatformError"
import { SqlClient } from "effect/sql/SqlClient"
import { hash } from "node:crypto"
import { syncFolder } from "../internal/syncFolder.ts"
import * as LiveSecrets from "../LiveSecrets.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError } from "../storage/sql/StorageError.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** A secret cannot be encrypted or decrypted. The message is for the operator. */
export class VaultError extends Data.TaggedError("VaultError")<{ readonly message: string }> {}

/** A key with an id that reveals nothing about it. */
export interface MasterKey {
  readonly id: string
  readonly key: Aead.Key
}

/** The master keys that this process has. */
export interface MasterKeys {
  /** The key to encrypt with. Creates it if necessary. */
  readonly current: Effect.Effect<MasterKey, VaultError>
  readonly find: (id: string) => Effect.Effect<MasterKey | undefined, VaultError>
}

/** Where a created key is stored. */
interface Place {
  /** For error messages. */
  readonly name: string
  /** The key in base64, or `undefined` if no key has been created. */
  readonly read: Effect.Effect<string | undefined, VaultError>
  /** Stores the key, unless another process was faster. */
  readonly write: (base64: string) => Effect.Effect<void, VaultError>
}

/** Decodes base64. Other text has no bytes. */
export const bytesOf = (base64: string): Uint8Array => Result.getOrElse(Base64.decode(base64), () => new Uint8Array(0))

/** The id of a master key in base64. Undefined if the text is none. */
export const idOf = (base64: string): string | undefined => {
  const bytes = bytesOf(base64.trim())
  return bytes.length === 32 ? hash("sha256", bytes, "hex").slice(0, 16) : undefined
}

const masterKeyOf = Effect.fnUntraced(function* (base64: string, source: string) {
  const bytes = bytesOf(base64)
  if (bytes.length !== 32) {
    return yield* new VaultError({ message: `The master key in ${source} is not 32 bytes in base64.` })
  }
  const key = yield* Effect.orDie(Aead.key(Aead.aes256Gcm, bytes))
  return { id: hash("sha256", bytes, "hex").slice(0, 16), key }
})

/** The master keys of the settings. */
interface SettingsKeys {
  readonly configured: MasterKey | undefined
  readonly former: ReadonlyArray<MasterKey>
}

/** The master keys of the settings, and the one in the place. */
const make = Effect.fnUntraced(function* (place: Place) {
  const secrets = yield* LiveSecrets.read
  const random = yield* SecureRandom
  const once = yield* Semaphore.make(1)
  let known: MasterKey | undefined

  const stored = Effect.gen(function* () {
    if (known !== undefined) return known
    const base64 = yield* place.read
    return base64 === undefined ? undefined : (known = yield* masterKeyOf(base64, place.name))
  })

  /** The keys of the settings as they were when they were last read. */
  let read: { readonly from: LiveSecrets.Secrets; readonly keys: SettingsKeys } | undefined

  const settingsKeys = Effect.gen(function* () {
    const from = secrets()
    if (read?.from === from) return read.keys
    const { formerMasterKeys, masterKey } = from.byok
    const keys: SettingsKeys = {
      configured:
        masterKey === undefined ? undefined : yield* masterKeyOf(Redacted.value(masterKey), "the setting master-key"),
      former: yield* Effect.forEach(
        formerMasterKeys === undefined ? [] : Redacted.value(formerMasterKeys).split(","),
        (base64) => masterKeyOf(base64, "the setting former-master-keys")
      )
    }
    read = { from, keys }
    return keys
  })

  const existing = Effect.gen(function* () {
    return (yield* settingsKeys).configured ?? (yield* stored)
  })

  const create = Effect.gen(function* () {
    const key = yield* existing
    if (key !== undefined) return key
    yield* place.write(Base64.encode(yield* random.randomBytes(32)))
    const created = yield* stored
    return created ?? (yield* new VaultError({ message: `The master key in ${place.name} was just deleted.` }))
  }).pipe(once.withPermits(1))

  const current = Effect.flatMap(existing, (key) => (key === undefined ? create : Effect.succeed(key)))

  const find = Effect.fnUntraced(function* (id: string) {
    const { configured, former } = yield* settingsKeys
    const key = [configured, ...former].find((key) => key?.id === id)
    if (key !== undefined) return key
    const created = yield* stored
    return created?.id === id ? created : undefined
  })

  return { current, find } satisfies MasterKeys
})

/** The file of a created master key in the data folder. */
export const keyFile = "master.key"

/** The master keys of the settings, or the one in the file of this folder. */
export const inFile = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const random = yield* SecureRandom
  const file = path.join(folder, keyFile)

  const failed = ({ reason }: PlatformError) =>
    new VaultError({ message: `The master key file ${file} cannot be used (${reason._tag}).` })

  const writeDurably = Effect.fnUntraced(function* (written: string, text: string) {
    const opened = yield* fs.open(written, { flag: "wx", mode: 0o600 })
    yield* opened.writeAll(new TextEncoder().encode(text))
    yield* opened.sync
  }, Effect.scoped)

  return yield* make({
    name: file,
    read: Effect.gen(function* () {
      return (yield* fs.exists(file)) ? (yield* fs.readFileString(file)).trim() : undefined
    }).pipe(Effect.mapError(failed)),
    // Writes another file and links it, so that of several processes one creates the key, and
    // nobody reads half of it.
    write: Effect.fnUntraced(function* (base64: string) {
      const written = `${file}.${yield* random.uuidV4()}`
      yield* Effect.ensuring(
        Effect.andThen(
          writeDurably(written, `${base64}\n`),
          Effect.catchIf(
            fs.link(written, file),
            ({ reason }) => reason._tag === "AlreadyExists",
            () => Effect.void
          )
        ),
        Effect.ignore(fs.remove(written))
      )
      // Before a secret is encrypted with the key: without the key, the secret is lost.
      yield* syncFolder(fs, folder)
    }, Effect.mapError(failed))
  })
})

/** The master keys of the settings, or the one in the database. */
export const inDatabase = Effect.gen(function* () {
  const sql = yield* SqlClient

  /** Outside the caller's transaction, whose end does not decide about the key. */
  const alone = <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.updateContext(statement, (context: Context.Context<never>) => Context.omit(sql.transactionService)(context))

  const failed = () => new VaultError({ message: "The master key in the database cannot be read or written." })

  return yield* make({
    name: "the database",
    // In the caller's transaction, because transactions may use all connections.
    read: Effect.map(sql`SELECT secret FROM master_key`, ([row]) =>
      row === undefined ? undefined : Dialect.text(row, "secret")
    ).pipe(mapSqlError("MasterKeys.read"), Effect.mapError(failed)),
    write: Effect.fnUntraced(
      function* (base64: string) {
        yield* alone(sql`INSERT INTO master_key (id, secret) VALUES (1, ${base64}) ON CONFLICT (id) DO NOTHING`)
        yield* LogEvent.log(
          "master_key_created",
          "The key that encrypts stored secrets was created in the database, because MODEL_GATEWAY_MASTER_KEY is not set. " +
            "Set it, so that a copy of the database alone does not reveal them"
        )
      },
      mapSqlError("MasterKeys.write"),
      Effect.mapError(failed)
    )
  })
})
