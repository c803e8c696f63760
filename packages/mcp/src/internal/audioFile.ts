/**
 * Audio files of the machine that the server runs on, below one folder that its user chose.
 *
 * An agent may be misled by what it reads, so it must not be able to send any file of the machine to
 * a provider. A path is resolved with its symbolic links and must then be below the folder, and the
 * file must have the extension of an audio format. A path outside the folder and one that does not
 * exist get the same error, which tells nothing about other files.
 */
import { AudioFormat } from "@model-gateway/core/Transcription"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { constants } from "node:fs"
import { open, realpath } from "node:fs/promises"
import { basename, extname, relative, isAbsolute, resolve } from "node:path"

export class AudioFileRefused extends Data.TaggedError("AudioFileRefused")<{ readonly reason: string }> {
  override get message(): string {
    return `path: ${this.reason}`
  }
}

/** Larger files are refused before they are read. The gateway may accept less. */
const maxBytes = 100 * 1024 * 1024

const formats: ReadonlyArray<string> = AudioFormat.literals

const refuse = (reason: string) => new AudioFileRefused({ reason })

const notThere = refuse("there is no such audio file in the folder of this server")

/** Whether a path is below the folder. Both are without symbolic links. */
const isBelow = (folder: string, path: string): boolean => {
  const inner = relative(folder, path)
  return inner !== "" && !inner.startsWith("..") && !isAbsolute(inner)
}

const read = async (folder: string, path: string): Promise<{ readonly file: Blob; readonly filename: string }> => {
  if (!formats.includes(extname(path).slice(1).toLowerCase())) {
    throw refuse(`expected a file with the extension ${formats.join(", ")}`)
  }
  const root = await realpath(folder)
  const real = await realpath(resolve(root, path))
  if (!isBelow(root, real) || !formats.includes(extname(real).slice(1).toLowerCase())) throw notThere
  // The last part of the path may have become a link since. A device or a pipe must not block.
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const status = await handle.stat()
    if (!status.isFile()) throw notThere
    if (status.size > maxBytes) throw refuse(`the file has more than ${maxBytes} bytes`)
    return { file: new Blob([await handle.readFile()]), filename: basename(real) }
  } finally {
    await handle.close()
  }
}

/** Reads a file below the folder. */
export const fromPath = (
  folder: string,
  path: string
): Effect.Effect<{ readonly file: Blob; readonly filename: string }, AudioFileRefused> =>
  Effect.tryPromise({
    try: () => read(folder, path),
    catch: (error) => (error instanceof AudioFileRefused ? error : notThere)
  })
