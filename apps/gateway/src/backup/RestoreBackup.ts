/** Restores a backup into an empty data folder. */
import * as Maintenance from "@model-gateway/server/Maintenance"
import * as ProcessFolder from "@model-gateway/server/ProcessFolder"
import { Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { link, mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as DataFolder from "../DataFolder.ts"
import { Failure } from "../Failure.ts"
import * as Archive from "./Archive.ts"
import * as DiskError from "./DiskError.ts"
import * as Manifest from "./Manifest.ts"

/** What to restore, and where to. */
export interface Options {
  readonly from: string
  readonly keys: Archive.Keys | undefined
  readonly dataDir: string
  /** The text of a master key to restore with it. */
  readonly masterKey: string | undefined
}

/** What was restored. */
export interface Restored {
  readonly manifest: Manifest.Manifest
  readonly end: Manifest.End
  /** The id of the master key that is in the folder now. Undefined: no master key. */
  readonly masterKeyId: string | undefined
}

/** The folder of unfinished restores in the data folder. */
const workFolder = ".restoring"

const { names } = Manifest

/** What a restore may have left in the folder when it was killed. The database is moved last. */
const movedFirst: ReadonlyArray<string> = [Manifest.filesFolder, names.masterKey, names.catalog]

const attempt = <A>(run: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => DiskError.toFailure("The backup could not be restored", cause) })

const refused = (message: string) => new Failure({ message })

/** Fails if the folder is not empty, unless only a killed restore has written to it. */
const checkFolder = Effect.fnUntraced(function* (dataDir: string) {
  const found = yield* attempt(() => readdir(dataDir))
  const entries = found.filter((name) => !DataFolder.ofFileSystem.includes(name))
  const isUnfinished =
    entries.includes(workFolder) && entries.every((name) => name === workFolder || movedFirst.includes(name))
  if (entries.length === 0 || isUnfinished) return
  return yield* refused(
    (yield* Maintenance.isRunning(dataDir))
      ? `A gateway is running in ${dataDir}. Stop it, and restore into an empty folder.`
      : `The folder ${dataDir} is not empty. Restore into an empty one with --data-dir; nothing is replaced.`
  )
})

/** This restore's own folder. Deletes what a killed one has left. */
const makeFolder = Effect.fnUntraced(function* (dataDir: string) {
  const shared = join(dataDir, workFolder)
  // Registered first, so that it runs last.
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.tryPromise(() => rmdir(shared))))
  const folder = yield* ProcessFolder.make(shared)
  // Another restore that is only beginning finds this one.
  const others = (yield* attempt(() => readdir(shared))).filter(
    (name) => join(shared, name) !== folder && !name.startsWith(ProcessFolder.unfinished)
  )
  if (others.length > 0) return yield* refused(`Another restore into ${dataDir} is running.`)
  yield* attempt(async () => {
    for (const name of movedFirst) await rm(join(dataDir, name), { recursive: true, force: true })
  })
  const unpacked = join(folder, "data")
  yield* attempt(() => mkdir(unpacked, { mode: 0o700 }))
  return unpacked
})

/** The longest text entry that is read. */
const maxTextBytes = 1024 * 1024

/** The bytes of a text entry. */
const textBytesOf = async ({ bytes, content, name }: Archive.Entry): Promise<Buffer> => {
  if (bytes > maxTextBytes) throw refused(`The entry ${name} of the backup is too large.`)
  const chunks: Array<Uint8Array> = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Writes an entry to a new file. Returns its checksum. */
const unpack = async ({ content, name }: Archive.Entry, folder: string, signal: AbortSignal): Promise<string> => {
  const path = join(folder, name)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, "wx", 0o600)
  try {
    const hash = createHash("sha256")
    for await (const chunk of content) {
      signal.throwIfAborted()
      hash.update(chunk)
      for (let offset = 0; offset < chunk.length;) offset += (await file.write(chunk, offset)).bytesWritten
    }
    await file.sync()
    return hash.digest("hex")
  } finally {
    await file.close()
  }
}

const isVersion = Schema.is(Manifest.Version)
const isManifest = Schema.is(Manifest.Manifest)
const isEnd = Schema.is(Manifest.End)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const manifestOf = (from: string, text: string): Manifest.Manifest => {
  const value = parse(text)
  if (isManifest(value)) return value
  if (isVersion(value) && value.format > Manifest.format) {
    throw refused(
      `${from} was written by Model Gateway ${value.version}, in a format that this version does not know. Restore it with that version or a later one.`
    )
  }
  throw refused(`${from} has no manifest that this version can read.`)
}

/** Unpacks the archive and checks the checksums. */
const unpackAll = ({ from, keys }: Options, folder: string) =>
  attempt(async (signal) => {
    const changed = refused(`${from} is damaged, is not complete, or was changed. Nothing was restored.`)
    const hash = createHash("sha256")
    const add = (name: string, sha256: string) => hash.update(Manifest.line(name, sha256))
    let manifest: Manifest.Manifest | undefined
    let end: Manifest.End | undefined
    let databaseSum: string | undefined
    let files = 0
    let bytes = 0
    await Archive.read(from, keys, signal, async (entry) => {
      const { name } = entry
      if (end !== undefined) throw changed
      if (manifest === undefined) {
        if (name !== names.manifest) throw changed
        const content = await textBytesOf(entry)
        manifest = manifestOf(from, content.toString("utf8"))
        add(name, createHash("sha256").update(content).digest("hex"))
      } else if (name === names.end) {
        const value = parse((await textBytesOf(entry)).toString("utf8"))
        if (!isEnd(value)) throw changed
        end = value
      } else if (name === names.database) {
        databaseSum = await unpack(entry, folder, signal)
        add(name, databaseSum)
      } else if (name === names.masterKey || name === names.catalog) {
        add(name, await unpack(entry, folder, signal))
      } else if (Manifest.isFile(name)) {
        files++
        bytes += entry.bytes
        add(name, await unpack(entry, folder, signal))
      } else {
        throw refused(
          `${from} contains ${JSON.stringify(name.slice(0, 100))}, which no backup of Model Gateway contains. Nothing was restored.`
        )
      }
    })
    if (manifest === undefined || end === undefined) throw changed
    const isWhole =
      end.files === files &&
      end.bytes === bytes &&
      end.sha256 === hash.digest("hex") &&
      (manifest.database.kind === "sqlite" ? manifest.database.sha256 : undefined) === databaseSum
    if (!isWhole) throw changed
    return { manifest, end }
  })

/** Fails if the database is not what the manifest says. */
const checkDatabase = Effect.fnUntraced(function* ({ database, version }: Manifest.Manifest, folder: string) {
  if (database.kind === "postgres") return
  const { damages, sums } = yield* Maintenance.contents({ dataDir: folder }).pipe(
    Effect.mapError(({ message }) =>
      refused(`The database of the backup, of Model Gateway ${version}, cannot be used: ${message}`)
    )
  )
  if (damages.length > 0) return yield* refused(`The database of the backup is damaged: ${damages.join("; ")}`)
  // A later version may have other sums.
  const wrong = Object.keys(database.sums).filter(
    (name) => sums[name] !== undefined && sums[name] !== database.sums[name]
  )
  if (wrong.length > 0) {
    return yield* refused(
      `The ledgers of the backup do not add up: ${wrong.map((name) => `${name} is ${sums[name]}, not ${database.sums[name]}`).join("; ")}.`
    )
  }
})

/** Writes the master key, and fails if it is not that of the backup. */
const addMasterKey = Effect.fnUntraced(function* (text: string, { database }: Manifest.Manifest, folder: string) {
  const id = Maintenance.masterKeyId(text)
  if (id === undefined) return yield* refused("The file of --master-key-from does not contain 32 bytes in base64.")
  if (database.kind === "sqlite" && database.master_keys.length > 0 && !database.master_keys.includes(id)) {
    return yield* refused(
      `The file of --master-key-from has the key ${id}, and the secrets of the backup are encrypted with ${database.master_keys.join(", ")}.`
    )
  }
  yield* attempt(async () => {
    const file = await open(join(folder, names.masterKey), "w", 0o600)
    try {
      await file.writeFile(`${text.trim()}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  })
})

const sync = async (folder: string): Promise<void> => {
  const opened = await open(folder, "r")
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/**
 * Moves everything into the data folder, the database last: with it, the folder is whole. Replaces
 * nothing. A failure leaves nothing of it there.
 */
const publish = (folder: string, dataDir: string) =>
  attempt(async () => {
    const moveAll = async ([name, ...others]: ReadonlyArray<string>): Promise<void> => {
      if (name === undefined) return await sync(dataDir)
      const from = join(folder, name)
      if (!existsSync(from)) return await moveAll(others)
      if (name === names.database) await sync(dataDir)
      const to = join(dataDir, name)
      // Fails if a gateway was started here in the meantime. `rename` would replace its file.
      await (name === Manifest.filesFolder ? rename : link)(from, to)
      try {
        await moveAll(others)
      } catch (cause) {
        await rm(to, { recursive: true, force: true })
        throw cause
      }
    }
    await moveAll([...movedFirst, names.database])
  })

/** Restores the backup. A failure leaves the folder empty. */
export const restore = Effect.fnUntraced(
  function* (options: Options) {
    const { dataDir, from, masterKey } = options
    if (!existsSync(from)) return yield* refused(`There is no file ${from}.`)
    const isNew = !existsSync(dataDir)
    if (isNew) {
      // Deletes it again if nothing was restored.
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.tryPromise(() => rmdir(dataDir))))
    }
    yield* DataFolder.prepare(dataDir)
    yield* checkFolder(dataDir)
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* makeFolder(dataDir)
        const { end, manifest } = yield* unpackAll(options, folder)
        yield* checkDatabase(manifest, folder)
        if (masterKey !== undefined) yield* addMasterKey(masterKey, manifest, folder)
        const masterKeyFile = join(folder, names.masterKey)
        const masterKeyId = existsSync(masterKeyFile)
          ? Maintenance.masterKeyId(yield* attempt(() => readFile(masterKeyFile, "utf8")))
          : undefined
        yield* Effect.uninterruptible(publish(folder, dataDir))
        const restored: Restored = { manifest, end, masterKeyId }
        return restored
      })
    )
  },
  Effect.scoped,
  Effect.catchTag("PlatformError", (error) =>
    Effect.fail(DiskError.toFailure("The backup could not be restored", error))
  ),
  Effect.provide(SecureRandom.layerWebCrypto)
)
