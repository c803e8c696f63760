/**
 * Leaves room on the disks of this machine. Uploads and videos stop before a disk is full, because
 * the database needs room to record what happens.
 */
import { Context, Effect, type Layer } from "effect"
import { statfs } from "node:fs/promises"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as Scrape from "../observability/Scrape.ts"
import { ObjectStoreError } from "./ObjectStore.ts"

/** Returns the free bytes of the disk of a folder. Default: as the operating system counts them. */
export const FreeBytes = Context.Reference<(folder: string) => Effect.Effect<number, unknown>>(
  "@model-gateway/server/objects/FreeSpace/FreeBytes",
  {
    defaultValue: () => (folder) =>
      Effect.map(
        Effect.tryPromise(() => statfs(folder)),
        ({ bavail, bsize }) => bavail * bsize
      )
  }
)

/** A writer checks again after this many bytes. */
export const checkedEvery = 4 * 1024 * 1024

/**
 * Makes a check that fails with the reason `full` if a disk has less free space than the setting
 * `diskReserve`. It does not fail if the free space is unknown. `disk` names the disk in the
 * message: `The disk that holds the files`.
 */
export const make = Effect.fnUntraced(function* (disk: string) {
  const freeBytes = yield* FreeBytes
  const { diskReserve } = yield* GatewayServerConfig

  return (operation: string, folder: string): Effect.Effect<void, ObjectStoreError> =>
    freeBytes(folder).pipe(
      Effect.orElseSucceed(() => Number.POSITIVE_INFINITY),
      Effect.flatMap((free) =>
        free < diskReserve
          ? Effect.fail(
              new ObjectStoreError({
                operation,
                reason: "full",
                message: `${disk} has less than ${diskReserve} bytes left, which are reserved.`
              })
            )
          : Effect.void
      )
    )
})

/** Shows the free space of the disk of a folder in the metrics. */
export const layerMetrics = (folder: string): Layer.Layer<never, never, Scrape.Scrape> =>
  Scrape.layerSources(
    Effect.map(FreeBytes, (freeBytes) => [
      {
        name: "disk",
        update: freeBytes(folder).pipe(
          Effect.mapError(() => ({ message: "The operating system does not say." })),
          Effect.flatMap(Metrics.diskFree)
        )
      }
    ])
  )
