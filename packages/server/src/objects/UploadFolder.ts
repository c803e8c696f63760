/**
 * The folder for uploads that are being processed. It is next to the data instead of in the
 * system's temporary folder, so that it uses the same disk and is cleaned up after a crash ({@link
 * ProcessFolder}), with the programs that the crashed process had started in it.
 */
import { Effect, FileSystem, Layer, type Path, type PlatformError } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import * as Readiness from "../observability/Readiness.ts"
import * as DiskFailure from "./DiskFailure.ts"
import * as ProcessFolder from "./ProcessFolder.ts"

const make = Effect.fnUntraced(function* (folder: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const own = yield* ProcessFolder.make(folder)
  return FileSystem.FileSystem.of({
    ...fileSystem,
    makeTempDirectory: (options) => fileSystem.makeTempDirectory({ directory: own, ...options }),
    makeTempDirectoryScoped: (options) => fileSystem.makeTempDirectoryScoped({ directory: own, ...options }),
    makeTempFile: (options) => fileSystem.makeTempFile({ directory: own, ...options }),
    makeTempFileScoped: (options) => fileSystem.makeTempFileScoped({ directory: own, ...options })
  })
})

/**
 * The file system in the context, with its temporary files under `folder`. Removes what dead
 * processes left there.
 */
export const layer = (
  folder: string
): Layer.Layer<FileSystem.FileSystem, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path | SecureRandom> =>
  Layer.effect(FileSystem.FileSystem, make(folder))

/** Larger than what file systems store inline, so that it needs a free block. */
const probe = new Uint8Array(65_536)

/**
 * Registers the folder of the file system in the context: uploads and transcriptions need it. It is
 * written to at most every 15 seconds while that succeeds.
 */
export const layerReadiness: Layer.Layer<never, never, FileSystem.FileSystem | Readiness.Readiness> =
  Readiness.layerPart(
    Effect.map(FileSystem.FileSystem, (fs) => ({
      name: "uploads",
      check: Effect.flatMap(fs.makeTempFileScoped(), (file) => fs.writeFile(file, probe)).pipe(
        Effect.scoped,
        Effect.mapError(DiskFailure.toStoreError("check", "The disk that holds the uploads"))
      ),
      isRequired: false
    })),
    { every: "15 seconds" }
  )
