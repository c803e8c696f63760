/** Takes a backup of a data folder, also while the service runs. */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import * as Maintenance from "@model-gateway/server/Maintenance"
import * as ProcessFolder from "@model-gateway/server/ProcessFolder"
import { DateTime, Effect, FileSystem, Path, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { createHash } from "node:crypto"
import { type Dirent, existsSync } from "node:fs"
import { type FileHandle, link, open, opendir, readFile, rename, rm, stat, statfs, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Database from "../Database.ts"
import { Failure } from "../Failure.ts"
import type { Ready } from "../LoadSettings.ts"
import { version } from "../Version.ts"
import * as Archive from "./Archive.ts"
import * as DiskError from "./DiskError.ts"
import * as Manifest from "./Manifest.ts"

/** What to back up, and where to. */
export interface Options extends Pick<Ready, "dataDir" | "databaseUrl" | "objectStoreUrl"> {
  readonly to: string
  readonly lock: Archive.Lock | undefined
  /** Whether the master key is in the backup, too. */
  readonly withMasterKey: boolean
  /** Free bytes to leave on the disk of the data folder. */
  readonly diskReserve: number
}

/** A backup that was taken. */
export interface Taken {
  readonly manifest: Manifest.Manifest
  readonly end: Manifest.End
  readonly bytes: number
}

/** The folder of unfinished work in the data folder. */
const workFolder = "backups"

/** In the folder of a process: the name of the file that it has not finished. */
const partialName = "partial"

/** The folder of files that are being written. */
const partialFiles = `${Manifest.filesFolder}/.partial`

const attempt = <A>(run: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => DiskError.toFailure("The backup could not be written", cause) })

/** Deletes what a killed backup has left beside its target. */
const removePartial = (folder: string) =>
  Effect.ignore(
    Effect.tryPromise(async () => {
      const partial = await readFile(join(folder, partialName), "utf8")
      if (partial.endsWith(".partial")) await rm(partial, { force: true })
    })
  )

const sizeOf = async (file: string): Promise<number> => {
  try {
    return (await stat(file)).size
  } catch {
    return 0
  }
}

const checkSpace = (dataDir: string, reserve: number) =>
  attempt(async () => {
    const needed = (await sizeOf(Database.fileIn(dataDir))) + (await sizeOf(`${Database.fileIn(dataDir)}-wal`))
    const { bavail, bsize } = await statfs(dataDir)
    if (bavail * bsize < needed + reserve) {
      throw new Failure({
        message:
          `The disk of ${dataDir} has ${bavail * bsize} free bytes. A backup first copies the database there, ` +
          `which needs ${needed} bytes, and ${reserve} are reserved for the service.`
      })
    }
  })

const checksum = async (file: FileHandle): Promise<string> => {
  const hash = createHash("sha256")
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) {
    if (chunk instanceof Uint8Array) hash.update(chunk)
  }
  return hash.digest("hex")
}

/** Whether it is a folder, or a link to one, which the gateway follows as well. */
const isFolder = async (entry: Dirent, path: string): Promise<boolean> =>
  entry.isSymbolicLink() ? (await stat(path)).isDirectory() : entry.isDirectory()

/** The files of the data folder, as names of entries. Those that are being written are not listed. */
async function* filesOf(dataDir: string): AsyncGenerator<string> {
  const list = async function* (name: string, depth: number): AsyncGenerator<string> {
    let folder
    try {
      folder = await opendir(join(dataDir, name))
    } catch (cause) {
      // No file was stored yet, or the last one was deleted.
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return
      throw cause
    }
    for await (const entry of folder) {
      const inside = `${name}/${entry.name}`
      if (inside === partialFiles) continue
      if (depth < 3 && (await isFolder(entry, join(dataDir, inside)))) yield* list(inside, depth + 1)
      else if (depth === 3 && Manifest.isFile(inside)) yield inside
    }
  }
  yield* list(Manifest.filesFolder, 1)
}

/** Undefined if the file was deleted in the meantime. */
const openExisting = async (path: string): Promise<FileHandle | undefined> => {
  try {
    return await open(path, "r")
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  }
}

/** Adds a file of the data folder. Undefined if the file does not exist. */
const addIfThere = async (writer: Archive.Writer, dataDir: string, name: string) => {
  const file = await openExisting(join(dataDir, name))
  if (file === undefined) return undefined
  try {
    const bytes = (await file.stat()).size
    await writer.addFile(name, file, bytes)
    return { bytes }
  } finally {
    await file.close()
  }
}

const addFiles = async (writer: Archive.Writer, dataDir: string): Promise<Omit<Manifest.End, "sha256">> => {
  let files = 0
  let bytes = 0
  for await (const name of filesOf(dataDir)) {
    const added = await addIfThere(writer, dataDir, name)
    if (added === undefined) continue
    files++
    bytes += added.bytes
  }
  return { files, bytes }
}

const encodeManifest = Schema.encodeSync(Manifest.Manifest)
const encodeEnd = Schema.encodeSync(Manifest.End)
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Copies the database into the folder, and describes the copy. */
const copyDatabase = Effect.fnUntraced(function* ({ dataDir, diskReserve }: Options, folder: string) {
  yield* checkSpace(dataDir, diskReserve)
  const file = Database.fileIn(folder)
  yield* Maintenance.copyDatabase({ dataDir }, file)
  const { damages, masterKeyIds, schema, sums } = yield* Maintenance.contents({ dataDir: folder })
  if (damages.length > 0) {
    return yield* new Failure({
      message: `The database in ${dataDir} is damaged: ${damages.join("; ")}. Restore an earlier backup.`
    })
  }
  const { bytes, sha256 } = yield* attempt(async () => {
    const opened = await open(file, "r")
    try {
      return { bytes: (await opened.stat()).size, sha256: await checksum(opened) }
    } finally {
      await opened.close()
    }
  })
  const described: Manifest.Manifest["database"] = {
    kind: "sqlite",
    schema: schema.current,
    bytes,
    sha256,
    sums,
    master_keys: masterKeyIds
  }
  return described
})

/** Renames a file, and fails if there is a file of that name. */
const moveToFree = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to)
  } catch (cause) {
    // Such as on a USB stick: its file system has no hard links.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(String(ErrorCode.of(cause)))) throw cause
    if (existsSync(to)) throw new Failure({ message: `${to} was made by another program in the meantime.` })
    return await rename(from, to)
  }
  await rm(from)
}

/** Writes a file whole or not at all: under another name first. */
const writeWhole = Effect.fnUntraced(function* (
  to: string,
  folder: string,
  fill: (file: FileHandle, signal: AbortSignal) => Promise<void>
) {
  const random = yield* SecureRandom.SecureRandom
  const partial = `${to}.${yield* random.uuidV7()}.partial`
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.tryPromise(() => rm(partial, { force: true }))))
  yield* attempt(async (signal) => {
    // So that another backup deletes the file if this process is killed.
    await writeFile(join(folder, partialName), partial, { mode: 0o600 })
    const file = await open(partial, "wx", 0o600)
    try {
      await fill(file, signal)
      await file.sync()
    } finally {
      await file.close()
    }
    await moveToFree(partial, to)
    const parent = await open(dirname(to), "r")
    try {
      await parent.sync()
    } finally {
      await parent.close()
    }
  })
})

/** Takes the backup. A failure leaves no file. */
export const take = Effect.fnUntraced(
  function* (options: Options) {
    const { databaseUrl, dataDir, lock, objectStoreUrl, to, withMasterKey } = options
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    if (yield* fs.exists(to)) {
      return yield* new Failure({ message: `${to} exists already. Choose another name: a backup replaces no file.` })
    }
    if (!(yield* fs.exists(dirname(to)))) {
      return yield* new Failure({ message: `There is no folder ${dirname(to)} for ${basename(to)}.` })
    }
    if (!(yield* fs.exists(dataDir))) {
      return yield* new Failure({ message: `There is no data folder ${dataDir}. Choose it with --data-dir.` })
    }
    const folder = yield* ProcessFolder.make(path.join(dataDir, workFolder), { onDead: removePartial })
    const database = databaseUrl === undefined ? yield* copyDatabase(options, folder) : { kind: "postgres" as const }
    const manifest: Manifest.Manifest = {
      format: Manifest.format,
      version,
      created_at: DateTime.formatIso(yield* DateTime.now),
      database,
      files: objectStoreUrl === undefined ? "folder" : "s3"
    }
    let end: Manifest.End = { files: 0, bytes: 0, sha256: "" }
    yield* writeWhole(to, folder, (file, signal) =>
      Archive.write(file, lock, signal, async (writer) => {
        await writer.addText(Manifest.names.manifest, json(encodeManifest(manifest)))
        if (database.kind === "sqlite") await addIfThere(writer, folder, Manifest.names.database)
        if (withMasterKey) await addIfThere(writer, dataDir, Manifest.names.masterKey)
        await addIfThere(writer, dataDir, Manifest.names.catalog)
        const added = objectStoreUrl === undefined ? await addFiles(writer, dataDir) : { files: 0, bytes: 0 }
        end = { ...added, sha256: writer.checksum() }
        await writer.addText(Manifest.names.end, json(encodeEnd(end)))
      })
    )
    const bytes = yield* attempt(() => sizeOf(to))
    const taken: Taken = { manifest, end, bytes }
    return taken
  },
  Effect.scoped,
  Effect.catchTag("PlatformError", (error) =>
    Effect.fail(DiskError.toFailure("The backup could not be written", error))
  ),
  Effect.provide(SecureRandom.layerWebCrypto)
)
