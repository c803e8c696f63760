/**
 * The video jobs that this browser submitted most recently. A job continues and is charged while
 * the page is closed, so `localStorage` keeps its id through a reload, a closed tab or a restart of
 * the gateway.
 */
import type { Video } from "@model-gateway/core"
import { Option, Schema } from "effect"
import { useCallback, useState } from "react"

/** What the page needs to reconnect to a job and to show it. */
export interface RecentJob {
  readonly id: string
  readonly prompt: string
  /** The aspect ratio, such as `16:9`. */
  readonly ratio: string
  /** The last known status. */
  readonly status: Video.Job["status"]
}

const storageKey = "model-gateway-video-jobs"

const maxJobs = 5

const Jobs = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ id: Schema.String, prompt: Schema.String, ratio: Schema.String, status: Schema.String }))
)

/** The stored jobs, newest first. Undefined: nothing is stored, or the browser forbids storage. */
const readStored = (): ReadonlyArray<RecentJob> | undefined => {
  try {
    return Option.getOrUndefined(Schema.decodeUnknownOption(Jobs)(localStorage.getItem(storageKey)))
  } catch {
    return undefined
  }
}

const writeStored = (jobs: ReadonlyArray<RecentJob>) => {
  try {
    localStorage.setItem(storageKey, JSON.stringify(jobs))
  } catch {
    // Without storage, the list is kept until the page is closed.
  }
}

export const useRecentJobs = () => {
  const [jobs, setJobs] = useState(() => readStored() ?? [])

  /** Adds a job or updates its status. */
  const save = useCallback(
    (job: RecentJob) =>
      setJobs((shown) => {
        // Another tab may have added a job.
        const before = readStored() ?? shown
        const known = before.some(({ id }) => id === job.id)
        const next = known
          ? before.map((each) => (each.id === job.id ? job : each))
          : [job, ...before].slice(0, maxJobs)
        writeStored(next)
        return next
      }),
    []
  )

  const clear = useCallback(() => {
    writeStored([])
    setJobs([])
  }, [])

  return { jobs, save, clear }
}
