import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { randomBytes } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as Vault from "../../src/access/Vault.ts"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../src/storage/sql/Migrations.ts"
import { databases } from "../TestDatabases.ts"
import { layerClient, temporaryFolder } from "../TestStorage.ts"

const key = () => Redacted.make(randomBytes(32).toString("base64"))

const owner = { workspaceId: "w-1", purpose: "cohere" }

const secret = Redacted.make("co-0123456789abcdef")

/** Runs with a vault of its own, as another process would. */
const inVault = <A, E>(
  folder: string,
  byok: GatewayServerConfig.Options["byok"],
  use: (vault: Vault.Vault["Service"]) => Effect.Effect<A, E>,
  services: typeof NodeServices.layer = NodeServices.layer
) =>
  Effect.flatMap(Vault.Vault, use).pipe(
    Effect.provide(
      Vault.layer(folder).pipe(
        Layer.provide(layerWebCrypto),
        Layer.provide(services),
        Layer.provide(GatewayServerConfig.layer({ byok })),
        Layer.fresh
      )
    )
  )

/** This machine's services. `log` gets what is made durable, and the links. */
const servicesWith = (log: Array<string>): typeof NodeServices.layer =>
  Layer.merge(
    NodeServices.layer,
    Layer.effect(
      FileSystem.FileSystem,
      Effect.map(FileSystem.FileSystem, (fs) => ({
        ...fs,
        open: (path: string, options?: Parameters<typeof fs.open>[1]) =>
          Effect.map(fs.open(path, options), (file) => ({
            ...file,
            writeAll: (bytes: Uint8Array) => file.writeAll(bytes),
            sync: Effect.andThen(
              Effect.sync(() => log.push(`sync ${path}`)),
              file.sync
            )
          })),
        link: (from: string, to: string) =>
          Effect.andThen(
            Effect.sync(() => log.push(`link ${from}`)),
            fs.link(from, to)
          )
      }))
    ).pipe(Layer.provide(NodeServices.layer))
  )

describe("a sealed secret", () => {
  it.effect("is read again by its owner, and shows nothing of itself", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const byok = { masterKey: key() }
      const sealed = yield* inVault(folder, byok, (vault) => vault.seal(secret, owner))
      expect(JSON.stringify(sealed)).not.toContain(Redacted.value(secret))
      expect(JSON.stringify(sealed)).not.toContain(Redacted.value(byok.masterKey))
      const opened = yield* inVault(folder, byok, (vault) => vault.open(sealed, owner))
      expect(Redacted.value(opened)).toBe(Redacted.value(secret))
      expect(readdirSync(folder)).toEqual([])
    })
  )

  it.effect("differs each time, although the secret is the same", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [a, b] = yield* inVault(folder, { masterKey: key() }, (vault) =>
        Effect.all([vault.seal(secret, owner), vault.seal(secret, owner)])
      )
      expect(a.secret).not.toBe(b.secret)
      expect(a.dataKey).not.toBe(b.dataKey)
    })
  )

  it.effect("is not readable for another workspace or another provider, or when a bit of it changed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const byok = { masterKey: key() }
      const sealed = yield* inVault(folder, byok, (vault) => vault.seal(secret, owner))
      const flipped = (text: string) => {
        const bytes = Buffer.from(text, "base64")
        bytes[20] = (bytes[20] ?? 0) ^ 1
        return bytes.toString("base64")
      }
      const attempts = [
        [sealed, { ...owner, workspaceId: "w-2" }],
        [sealed, { ...owner, purpose: "jina" }],
        [{ ...sealed, secret: flipped(sealed.secret) }, owner],
        [{ ...sealed, dataKey: flipped(sealed.dataKey) }, owner],
        [{ ...sealed, secret: "" }, owner]
      ] as const
      for (const [stored, who] of attempts) {
        const error = yield* Effect.flip(inVault(folder, byok, (vault) => vault.open(stored, who)))
        expect(error._tag).toBe("VaultError")
        expect(error.message).toContain("cannot be decrypted")
      }
      // Its data key belongs to the same owner too.
      const other = yield* inVault(folder, byok, (vault) => vault.seal(secret, { ...owner, workspaceId: "w-2" }))
      const swapped = { ...other, secret: sealed.secret }
      expect((yield* Effect.flip(inVault(folder, byok, (vault) => vault.open(swapped, owner))))._tag).toBe("VaultError")
    })
  )
})

describe("the master key", () => {
  it.effect("is created in a file that only its owner can read, once there is something to encrypt", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, Vault.keyFile)
      yield* inVault(folder, undefined, () => Effect.void)
      expect(existsSync(file)).toBe(false)
      const sealed = yield* inVault(folder, undefined, (vault) => vault.seal(secret, owner))
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(readdirSync(folder)).toEqual([Vault.keyFile])
      const opened = yield* inVault(folder, undefined, (vault) => vault.open(sealed, owner))
      expect(Redacted.value(opened)).toBe(Redacted.value(secret))
    })
  )

  it.effect("outlives a power failure once a secret is encrypted with it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const log: Array<string> = []
      yield* inVault(folder, undefined, (vault) => vault.seal(secret, owner), servicesWith(log))
      const [, written = ""] = log[0]?.split(" ") ?? []
      expect(written).toContain(Vault.keyFile)
      expect(log).toEqual([`sync ${written}`, `link ${written}`, `sync ${folder}`])
    })
  )

  it.effect("is one, although several processes create it at once", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const sealed = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => inVault(folder, undefined, (vault) => vault.seal(secret, owner)),
        { concurrency: "unbounded" }
      )
      expect(new Set(sealed.map(({ masterKeyId }) => masterKeyId)).size).toBe(1)
      expect(readdirSync(folder)).toEqual([Vault.keyFile])
      for (const each of sealed) yield* inVault(folder, undefined, (vault) => vault.open(each, owner))
    })
  )

  it.effect("can be replaced: the former one decrypts, and rewrapping makes it superfluous", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [first, second] = [key(), key()]
      const old = yield* inVault(folder, { masterKey: first }, (vault) => vault.seal(secret, owner))
      const both = { masterKey: second, formerMasterKeys: first }
      yield* inVault(folder, both, (vault) => vault.open(old, owner))
      const rewrapped = yield* inVault(folder, both, (vault) => vault.rewrap(old, owner))
      if (rewrapped === undefined) return yield* Effect.die("it was not rewrapped")
      // The secret itself is not encrypted again.
      expect(rewrapped.secret).toBe(old.secret)
      expect(yield* inVault(folder, both, (vault) => vault.rewrap(rewrapped, owner))).toBe(undefined)
      const opened = yield* inVault(folder, { masterKey: second }, (vault) => vault.open(rewrapped, owner))
      expect(Redacted.value(opened)).toBe(Redacted.value(secret))
      const error = yield* Effect.flip(inVault(folder, { masterKey: second }, (vault) => vault.open(old, owner)))
      expect(error.message).toContain(`the master key ${old.masterKeyId}, which this gateway does not have`)
    })
  )

  it.effect("of the file still decrypts when a setting replaced it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const old = yield* inVault(folder, undefined, (vault) => vault.seal(secret, owner))
      const opened = yield* inVault(folder, { masterKey: key() }, (vault) => vault.open(old, owner))
      expect(Redacted.value(opened)).toBe(Redacted.value(secret))
    })
  )

  it.effect("that is no key is an error that does not show it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeFileSync(join(folder, Vault.keyFile), "not-a-key")
      const error = yield* Effect.flip(inVault(folder, undefined, (vault) => vault.seal(secret, owner)))
      expect(error.message).toContain("is not 32 bytes in base64")
      expect(error.message).not.toContain("not-a-key")
      expect(readFileSync(join(folder, Vault.keyFile), "utf8")).toBe("not-a-key")
    })
  )
})

describe.each(databases)("a created master key in $name", ({ create, name }) => {
  /** Runs with a vault of its own over the database, as another process would. */
  const inDatabase = <A, E>(
    location: string,
    byok: GatewayServerConfig.Options["byok"],
    use: (vault: Vault.Vault["Service"]) => Effect.Effect<A, E, SqlClient>
  ) =>
    Effect.flatMap(Vault.Vault, use).pipe(
      Effect.provide(
        Vault.layerSql.pipe(
          Layer.provideMerge(Migrations.layer),
          Layer.provideMerge(layerClient(location)),
          Layer.provide(layerWebCrypto),
          Layer.provide(GatewayServerConfig.layer({ byok })),
          Layer.fresh
        )
      )
    )

  it.effect("is the same for every process, also when several create it at once", () =>
    Effect.gen(function* () {
      const location = yield* create
      const seal = inDatabase(location, {}, (vault) => vault.seal(secret, owner))
      const sealed = yield* Effect.all([seal, seal, seal], { concurrency: 3 })
      expect(new Set(sealed.map(({ masterKeyId }) => masterKeyId)).size).toBe(1)
      for (const one of sealed) {
        const opened = yield* inDatabase(location, {}, (vault) => vault.open(one, owner))
        expect(Redacted.value(opened)).toBe(Redacted.value(secret))
      }
    })
  )

  it.effect("still decrypts what it encrypted after a setting has replaced it, and is not created with a setting", () =>
    Effect.gen(function* () {
      const location = yield* create
      const rows = Effect.flatMap(SqlClient, (sql) => sql`SELECT secret FROM master_key`)
      const byok = { masterKey: key() }
      yield* inDatabase(location, byok, (vault) => vault.seal(secret, owner))
      expect(yield* inDatabase(location, byok, () => rows)).toEqual([])
      const sealed = yield* inDatabase(location, {}, (vault) => vault.seal(secret, owner))
      const opened = yield* inDatabase(location, byok, (vault) => vault.open(sealed, owner))
      expect(Redacted.value(opened)).toBe(Redacted.value(secret))
    })
  )

  // SQLite has one writer, and keeps the key in a file.
  it.effect.skipIf(name === "sqlite")("outlives the transaction that needed it first", () =>
    Effect.gen(function* () {
      const location = yield* create
      const [rolledBack, after] = yield* inDatabase(location, {}, (vault) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const sealed = yield* Effect.flip(
            sql.withTransaction(Effect.flatMap(vault.seal(secret, owner), (sealed) => Effect.fail(sealed)))
          )
          return [sealed, yield* vault.seal(secret, owner)] as const
        })
      )
      if ("message" in rolledBack) return yield* Effect.die(rolledBack)
      expect(after.masterKeyId).toBe(rolledBack.masterKeyId)
      const opened = yield* inDatabase(location, {}, (vault) => vault.open(after, owner))
      expect(Redacted.value(opened)).toBe(Redacted.value(secret))
    })
  )
})
