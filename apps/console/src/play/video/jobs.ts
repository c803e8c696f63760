/**
 * The video jobs of this browser. They go on while the page is closed, so their ids and forms are
 * kept through a reload, with the history.
 */
import { useCallback, useEffect, useRef, useState } from "react"
import type { Success } from "../../api/Contract.ts"
import { onSignOut } from "../shared/access.ts"
import { answerOf, exchange, read } from "../shared/exchange.ts"
import * as History from "../shared/history.ts"
import { useAccess } from "../shared/useModels.ts"
import type { Form } from "../shared/link.ts"

export type Job = Success<"GET /videos/:id">

export interface QueuedJob {
  readonly id: string
  /** When it was submitted, in milliseconds. */
  readonly at: number
  readonly form: Form
  /** Its last known state. Undefined: not read yet. */
  readonly job: Job | undefined
  /** Why its state could not be read. */
  readonly problem: string | undefined
}

const finals = ["completed", "failed", "cancelled", "expired"]

export const isFinal = ({ job }: QueuedJob): boolean => job !== undefined && finals.includes(job.status)

/** Between two looks at a job, in milliseconds. */
const every = 1500

export const useJobs = () => {
  const { label } = useAccess()
  const [jobs, setJobs] = useState<ReadonlyArray<QueuedJob>>([])
  const latest = useRef(jobs)
  latest.current = jobs

  const update = useCallback(
    (id: string, change: Partial<QueuedJob>) =>
      setJobs((before) => before.map((each) => (each.id === id ? { ...each, ...change } : each))),
    []
  )

  useEffect(() => {
    void History.listJobs().then((kept) =>
      setJobs((before) => [
        ...before,
        ...kept
          .filter(({ id }) => !before.some((each) => each.id === id))
          .map(({ at, form, id }) => ({ id, at, form, job: undefined, problem: undefined }))
      ])
    )
    return onSignOut(() => setJobs([]))
  }, [])

  useEffect(() => {
    if (label === undefined) return
    const controller = new AbortController()
    const look = async ({ id }: QueuedJob) => {
      try {
        const job = await read<Job>(`/videos/${encodeURIComponent(id)}`, controller.signal)
        update(id, { job, problem: undefined })
      } catch (error) {
        if (!controller.signal.aborted) update(id, { problem: error instanceof Error ? error.message : String(error) })
      }
    }
    const follow = async () => {
      while (!controller.signal.aborted) {
        await Promise.all(latest.current.filter((job) => !isFinal(job)).map(look))
        await new Promise((resolve) => setTimeout(resolve, every))
      }
    }
    void follow()
    return () => controller.abort()
  }, [label, update])

  const add = useCallback(async (job: Job, form: Form) => {
    const at = Date.now()
    // First, so that a page which shows the job still has it after a reload.
    await History.addJob({ id: job.id, at, form })
    setJobs((before) => [{ id: job.id, at, form, job, problem: undefined }, ...before])
  }, [])

  const cancel = useCallback(
    async (id: string) => {
      const done = await exchange({ method: "POST", path: `/videos/${encodeURIComponent(id)}/cancel` })
      update(id, done.error === undefined ? { job: answerOf<Job>(done) } : { problem: done.error.message })
    },
    [update]
  )

  const remove = useCallback((id: string) => {
    setJobs((before) => before.filter((each) => each.id !== id))
    void History.removeJob(id)
  }, [])

  return { jobs, add, cancel, remove }
}
