/** Lists the most recent video jobs of this browser, to show them again. */
import { Video } from "@model-gateway/core"
import type { RecentJob } from "../useRecentJobs.ts"

interface Props {
  readonly jobs: ReadonlyArray<RecentJob>
  readonly busy: boolean
  readonly onShow: (job: RecentJob) => void
  readonly onClear: () => void
}

/** Collapsed by default, so that adding a job does not move the content below. */
export const RecentJobs = ({ busy, jobs, onClear, onShow }: Props) => (
  <details className="card recent">
    <summary>Recent jobs ({jobs.length})</summary>
    <ul className="files" aria-label="Recent jobs">
      {jobs.map((job) => (
        <li key={job.id}>
          <div>
            <strong>{job.prompt === "" ? "No prompt" : job.prompt}</strong>
            <p className="hint long">
              {job.status.replace("_", " ")} · {job.id}
            </p>
          </div>
          {Video.isFinal(job.status) && job.status !== "completed" ? null : (
            <button
              type="button"
              className="small"
              aria-label={`${job.status === "completed" ? "Show" : "Reconnect to"} ${job.id}`}
              aria-disabled={busy}
              onClick={() => {
                if (!busy) onShow(job)
              }}
            >
              {job.status === "completed" ? "Show" : "Reconnect"}
            </button>
          )}
        </li>
      ))}
    </ul>
    <p>
      <button type="button" className="small" onClick={onClear}>
        Clear the list
      </button>
    </p>
  </details>
)
