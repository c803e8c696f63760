/**
 * How an `HttpClient` tells the client that the body of a request is being sent. While an upload
 * makes progress, no time limit ends it.
 *
 * `@model-gateway/node` and `@model-gateway/browser` report the progress of every form, and of JSON
 * over 1 MiB. With an `HttpClient` that reports nothing, the time limit of an attempt includes its
 * upload.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { constUndefined } from "effect/Function"

/**
 * @category models
 * @since 0.1.0
 */
export interface Progress {
  /** Bytes of the body that were sent. */
  readonly sent: number
  /** The size of the body. Undefined: not known yet. The upload is complete if it equals `sent`. */
  readonly total: number | undefined
}

/**
 * Called by the `HttpClient` when bytes of the body were sent, and at its end. Undefined if nobody
 * waits for the reports.
 *
 * @category references
 * @since 0.1.0
 */
export const UploadMonitor = Context.Reference<((progress: Progress) => void) | undefined>(
  "@model-gateway/core/unstable/UploadMonitor",
  { defaultValue: constUndefined }
)
