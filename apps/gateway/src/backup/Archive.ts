/**
 * Writes and reads the archive of a backup: a tar, encrypted in the format of age if there is a
 * passphrase or a recipient. It is never in memory as a whole.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Redacted } from "effect"
import { createHash } from "node:crypto"
import { type FileHandle, open } from "node:fs/promises"
import { Failure } from "../Failure.ts"
import * as Manifest from "./Manifest.ts"

/** Whom it is encrypted for. A passphrase excludes recipients. */
export interface Lock {
  readonly recipients: ReadonlyArray<string>
  readonly passphrase: Redacted.Redacted | undefined
}

/** What decrypts it. */
export interface Keys {
  readonly identities: ReadonlyArray<Redacted.Redacted>
  readonly passphrase: Redacted.Redacted | undefined
}

/** The archive that is being written. */
export interface Writer {
  /** Adds the bytes of an open file. */
  readonly addFile: (name: string, file: FileHandle, bytes: number) => Promise<void>
  readonly addText: (name: string, text: string) => Promise<void>
  /** The checksum of all entries so far, as {@link Manifest.End} has it. */
  readonly checksum: () => string
}

/** An entry that is being read. */
export interface Entry {
  readonly name: string
  readonly bytes: number
  /** Must be read to its end. */
  readonly content: AsyncIterable<Uint8Array>
}

const chunkSize = 256 * 1024

/** The age library takes a quarter of a second to load. */
const loadAge = () => import("age-encryption")

/** Imported here, as nothing else needs it. */
const loadTar = () => import("modern-tar")

const fail = (message: string): never => {
  throw new Failure({ message })
}

/** Adds the recipient. Fails if it is not a recipient of age. */
const encrypt = async (plain: ReadableStream<Uint8Array>, { passphrase, recipients }: Lock) => {
  const { Encrypter } = await loadAge()
  const encrypter = new Encrypter()
  if (passphrase !== undefined) encrypter.setPassphrase(Redacted.value(passphrase))
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      fail(`${recipient.slice(0, 100)} is not a recipient of age, such as age-keygen prints: age1…`)
    }
  }
  return encrypter.encrypt(plain)
}

const writeAll = async (file: FileHandle, chunk: Uint8Array): Promise<void> => {
  for (let offset = 0; offset < chunk.length;) offset += (await file.write(chunk, offset)).bytesWritten
}

/** The bytes of an open file. */
async function* contentOf(file: FileHandle, bytes: number, signal: AbortSignal) {
  for (let offset = 0; offset < bytes;) {
    signal.throwIfAborted()
    const chunk = new Uint8Array(Math.min(chunkSize, bytes - offset))
    const { bytesRead } = await file.read(chunk, 0, chunk.length, offset)
    if (bytesRead === 0) fail("A file became shorter while it was read. Take the backup again.")
    offset += bytesRead
    yield chunk.subarray(0, bytesRead)
  }
}

/** Writes the archive into an open, empty file. */
export const write = async (
  file: FileHandle,
  lock: Lock | undefined,
  signal: AbortSignal,
  fill: (writer: Writer) => Promise<void>
): Promise<void> => {
  const { createTarPacker } = await loadTar()
  const { controller, readable } = createTarPacker()
  const encrypted = lock === undefined ? readable : await encrypt(readable, lock)
  const written = encrypted.pipeTo(new WritableStream<Uint8Array>({ write: (chunk) => writeAll(file, chunk) }))
  // A failure also ends `fill`. It is reported below.
  written.catch(() => {})
  const mtime = new Date()
  const all = createHash("sha256")
  const add = async (name: string, bytes: number, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => {
    const writer = controller.add({ name, size: bytes, type: "file", mode: 0o600, mtime }).getWriter()
    const hash = createHash("sha256")
    for await (const chunk of content) {
      hash.update(chunk)
      await writer.write(chunk)
    }
    await writer.close()
    all.update(Manifest.line(name, hash.digest("hex")))
  }
  try {
    await fill({
      addFile: (name, source, bytes) => add(name, bytes, contentOf(source, bytes, signal)),
      addText: async (name, text) => {
        const content = new TextEncoder().encode(text)
        await add(name, content.length, [content])
      },
      checksum: () => all.copy().digest("hex")
    })
    controller.finalize()
  } catch (error) {
    controller.error(error)
    throw error
  }
  await written
}

const magic = "age-encryption.org/v1\n"

const decrypt = async (
  from: string,
  encrypted: ReadableStream<Uint8Array>,
  { identities, passphrase }: Keys
): Promise<ReadableStream<Uint8Array>> => {
  const { Decrypter } = await loadAge()
  const decrypter = new Decrypter()
  if (passphrase !== undefined) decrypter.addPassphrase(Redacted.value(passphrase))
  for (const identity of identities) {
    try {
      decrypter.addIdentity(Redacted.value(identity))
    } catch {
      fail("The identity file has a line that is not an identity of age: AGE-SECRET-KEY-1…")
    }
  }
  try {
    return await decrypter.decrypt(encrypted)
  } catch (cause) {
    if (cause instanceof Error && /no identity matched/.test(cause.message)) {
      fail(
        passphrase === undefined
          ? `None of the identities can decrypt ${from}.`
          : `The passphrase is not the one that ${from} was encrypted with.`
      )
    }
    throw cause
  }
}

/**
 * The end of a reading: an error of a disk, a failure and an interruption as they are, all others as
 * the sentence that the archive is damaged.
 */
const damaged = (from: string, cause: unknown, signal: AbortSignal): unknown =>
  signal.aborted || cause instanceof Failure || ErrorCode.of(cause) !== undefined
    ? cause
    : new Failure({ message: `${from} is damaged, is not complete, or was changed. Nothing was restored.` })

/** Reads the archive, entry by entry. */
export const read = async (
  from: string,
  keys: Keys | undefined,
  signal: AbortSignal,
  each: (entry: Entry) => Promise<void>
): Promise<void> => {
  const file = await open(from, "r")
  try {
    const start = Buffer.alloc(512)
    await file.read(start, 0, 512, 0)
    const isEncrypted = start.toString("latin1", 0, magic.length) === magic
    if (!isEncrypted && start.toString("latin1", 257, 262) !== "ustar") {
      fail(`${from} is not a backup of Model Gateway, or its beginning is damaged.`)
    }
    if (isEncrypted && keys === undefined) {
      fail(`${from} is encrypted. Give --passphrase-file or --identity-file.`)
    }
    if (!isEncrypted && keys !== undefined) {
      fail(
        `${from} is not encrypted, although there is a passphrase or an identity for it. ` +
          "If you trust the file, restore it without."
      )
    }
    const content = ReadableStream.from(contentOf(file, (await file.stat()).size, signal))
    const plain = keys === undefined ? content : await decrypt(from, content, keys)
    const { createTarDecoder } = await loadTar()
    for await (const { body, header } of plain.pipeThrough(createTarDecoder({ strict: true }))) {
      if (header.type !== "file") {
        fail(
          `${from} contains ${JSON.stringify(header.name.slice(0, 100))}, which is not a file. Nothing was restored.`
        )
      }
      await each({ name: header.name, bytes: header.size, content: body })
    }
  } catch (cause) {
    throw damaged(from, cause, signal)
  } finally {
    await file.close()
  }
}
