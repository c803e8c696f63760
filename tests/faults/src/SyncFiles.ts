/**
 * Temporary files without asynchronous calls, so that their order does not depend on the machine,
 * and the measuring of audio without a thread, for the same reason.
 */
import { ByteSize, Context, Effect, FileSystem, Option, Stream } from "effect"
import { mkdtempSync, openSync, readFileSync, rmSync, statSync, closeSync, ftruncateSync, writeSync } from "node:fs"
import { join } from "node:path"

const unused = Effect.die(new Error("not used by the service"))

let files = 0

/** Temporary files below this folder. */
export const make = (folder: string): FileSystem.FileSystem =>
  FileSystem.makeNoop({
    makeTempDirectoryScoped: () =>
      Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(folder, "form-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      ),
    makeTempFileScoped: () =>
      Effect.acquireRelease(
        Effect.sync(() => join(folder, `body-${files++}`)),
        (path) => Effect.sync(() => rmSync(path, { force: true }))
      ),
    open: (path) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => openSync(path, "w")),
          (descriptor) => Effect.sync(() => closeSync(descriptor))
        ),
        (descriptor): FileSystem.File => ({
          [FileSystem.FileTypeId]: FileSystem.FileTypeId,
          stat: unused,
          seek: () => unused,
          sync: unused,
          read: () => unused,
          readAlloc: () => unused,
          truncate: (length) => Effect.sync(() => ftruncateSync(descriptor, length)),
          write: (bytes) => Effect.sync(() => writeSync(descriptor, bytes)),
          writeAll: (bytes) =>
            Effect.sync(() => {
              for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
            })
        })
      ),
    readFile: (path) => Effect.sync(() => readFileSync(path)),
    stream: (path) => Stream.suspend(() => Stream.make(readFileSync(path))),
    stat: (path) =>
      Effect.sync((): FileSystem.File.Info => {
        const { size } = statSync(path, { bigint: true })
        const none = Option.none()
        return {
          type: "File",
          mtime: none,
          atime: none,
          birthtime: none,
          dev: 0n,
          ino: none,
          mode: 0,
          nlink: none,
          uid: none,
          gid: none,
          rdev: none,
          size: ByteSize.bytes(size),
          blksize: none,
          blocks: none
        }
      })
  })

const sampleRate = 1000

/** 8-bit mono WAV of this many milliseconds. */
export const wav = (millis: number): Buffer => {
  const header = Buffer.alloc(44)
  header.write("RIFF", 0)
  header.writeUInt32LE(36 + millis, 4)
  header.write("WAVEfmt ", 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate, 28)
  header.writeUInt16LE(1, 32)
  header.writeUInt16LE(8, 34)
  header.write("data", 36)
  header.writeUInt32LE(millis, 40)
  return Buffer.concat([header, Buffer.alloc(millis, 128)])
}

interface AudioThread {
  readonly ask: (location: {
    readonly _tag: "Memory" | "File"
    readonly path?: string
  }) => Effect.Effect<{ readonly _tag: "Measured"; readonly format: "wav"; readonly duration: number }>
}

/** Takes the place of the threads of the providers package, which has the same key. */
const AudioThread = Context.Service<AudioThread>("@model-gateway/offers/AudioThread")

/** Measures without a thread. */
export const audioThread = Context.make(AudioThread, {
  ask: ({ path = "" }) =>
    Effect.sync(() => ({
      _tag: "Measured",
      format: "wav",
      duration: readFileSync(path).readUInt32LE(40) / sampleRate
    }))
})
