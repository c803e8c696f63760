/** Sentences about files that cannot be read or written. */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Failure } from "../Failure.ts"

/** The failure for what was thrown while `what` was done: `The backup could not be written`. */
export const toFailure = (what: string, cause: unknown): Failure => {
  if (cause instanceof Failure) return cause
  const path = cause instanceof Error && "path" in cause && typeof cause.path === "string" ? `: ${cause.path}` : ""
  switch (ErrorCode.of(cause)) {
    case "ENOSPC":
    case "EDQUOT":
      return new Failure({ message: `${what}, because the disk is full${path}.` })
    case "EACCES":
    case "EPERM":
      return new Failure({ message: `${what}, because this user has no permission${path}.` })
    case "EROFS":
      return new Failure({ message: `${what}, because the file system is read-only${path}.` })
    case "ENOENT":
      return new Failure({ message: `${what}, because a file or folder does not exist${path}.` })
    case "EEXIST":
      return new Failure({ message: `${what}, because there is a file already${path}.` })
    case "EFBIG":
      return new Failure({ message: `${what}, because the file system allows no file of this size${path}.` })
    default:
      return new Failure({
        message: `${what}${path} (${String(ErrorCode.of(cause) ?? (cause instanceof Error ? cause.message : cause))}).`
      })
  }
}
