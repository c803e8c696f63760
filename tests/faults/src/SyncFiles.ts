/**
 * Temporary files without asynchronous calls, so that their order does not depend on the machine,
 * and the measuring of audio without a thread, for the same reason.
 */
import { silence } from "@model-gateway/test-services/Wav"
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
export const wav = (millis: number): Buffer => silence({ bits: 8, rate: sampleRate, size: millis })

interface AudioThread {
  readonly ask: (location: {
    readonly _tag: "Memory" | "File"
    readonly path?: string
  }) => Effect.Effect<{ readonly _tag: "Measured"; readonly format: "wav"; readonly duration: number }>
}

/** Takes the place of the threads of the providers package, which has the same key. */
const AudioThread = Context.Service<AudioThread>("@model-gateway/offers/internal/audioThread/AudioThread")

/** Measures without a thread. */
export const audioThread = Context.make(AudioThread, {
  ask: ({ path = "" }) =>
    Effect.sync(() => ({
      _tag: "Measured",
      format: "wav",
      duration: readFileSync(path).readUInt32LE(40) / sampleRate
    }))
})
