/** Failures of a disk of this machine, as errors of the object store. */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import type { PlatformError } from "effect/PlatformError"
import { ObjectStoreError } from "./ObjectStore.ts"

const full = new Set(["ENOSPC", "EDQUOT", "EFBIG"])

/** Converts a failure. `disk` names the disk in the message: `The disk that holds the files`. */
export const toStoreError = (operation: string, disk: string) => (error: PlatformError) => {
  const { cause } = error.reason
  const isFull = full.has(ErrorCode.of(cause) ?? "")
  return new ObjectStoreError({
    operation,
    reason: isFull ? "full" : "unavailable",
    message: `${disk} ${isFull ? "is full" : "did not answer as expected"}.`,
    cause: error
  })
}
