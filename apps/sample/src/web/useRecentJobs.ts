/**
 * The video jobs that this browser submitted last. A job goes on and is charged while the page is
 * away, so its id is kept in `localStorage`: a reload, a closed tab or a restarted gateway loses
 * none.
 */
import type { Video } from "@model-gateway/core"
import { Option, Schema } from "effect"
import { useCallback, useState } from "react"

/** What the page needs to find a job again and to show it. */
export interface RecentJob {
  readonly id: string
  readonly prompt: string
  /** As in `16:9`. */
  readonly ratio: string
  /** As it was last seen. */
  readonly status: Video.Job["status"]
}

const stored = "model-gateway-video-jobs"

const most = 5

const Jobs = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ id: Schema.String, prompt: Schema.String, ratio: Schema.String, status: Schema.String }))
)

/** Newest first; undefined where there are none, or where the browser forbids storage. */
const recall = (): ReadonlyArray<RecentJob> | undefined => {
  try {
    return Option.getOrUndefined(Schema.decodeUnknownOption(Jobs)(localStorage.getItem(stored)))
  } catch {
    return undefined
  }
}

const remember = (jobs: ReadonlyArray<RecentJob>) => {
  try {
    localStorage.setItem(stored, JSON.stringify(jobs))
  } catch {
    // The list then lasts as long as the page.
  }
}

export const useRecentJobs = () => {
  const [jobs, setJobs] = useState(() => recall() ?? [])

  /** Adds a job, or notes its new status. */
  const keep = useCallback(
    (job: RecentJob) =>
      setJobs((shown) => {
        // Another tab may have added one.
        const before = recall() ?? shown
        const known = before.some(({ id }) => id === job.id)
        const next = known ? before.map((each) => (each.id === job.id ? job : each)) : [job, ...before].slice(0, most)
        remember(next)
        return next
      }),
    []
  )

  const clear = useCallback(() => {
    remember([])
    setJobs([])
  }, [])

  return { jobs, keep, clear }
}
