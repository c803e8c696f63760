/**
 * What a process is doing, in a few words: for the operator who asks why it ended. Names operations
 * and numbers, and no contents.
 */
import type { Context } from "effect"
import * as Metrics from "../observability/Metrics.ts"
import * as BasePath from "./BasePath.ts"
import * as Routes from "./Routes.ts"

/** A request that has no complete response yet. */
export interface OpenRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** Further requests are only counted, so that a busy process is not delayed. */
const maxNamed = 1000

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

/**
 * The open requests by operation and the video jobs that the process works on, such as `3 open
 * requests (2 submitVideo, 1 rerank), 1 video job`.
 */
export const describe = (requests: Iterable<OpenRequest>, context: Context.Context<never>, basePath = ""): string => {
  const names = new Map<string, number>()
  let count = 0
  for (const { method = "", url = "" } of requests) {
    count++
    const name =
      count > maxNamed ? "more" : (Routes.nameOf(method, BasePath.strip(basePath, url) ?? url) ?? "of no operation")
    names.set(name, (names.get(name) ?? 0) + 1)
  }
  const operations = Array.from(names, ([name, number]) => `${number} ${name}`)
  return [
    `${counted(count, "open request")}${count === 0 ? "" : ` (${operations.join(", ")})`}`,
    counted(Metrics.videoJobsInWorkUnsafe(context), "video job")
  ].join(", ")
}
