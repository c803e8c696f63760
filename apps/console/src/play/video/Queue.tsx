/** The queue of video jobs, with their progress and their videos. */
import { useEffect, useState } from "react"
import { StatusBadge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { credits, percent, relative } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { fetchWithKey } from "../shared/exchange.ts"
import { isFinal, type QueuedJob } from "./jobs.ts"

/** The videos of so many jobs are loaded by themselves. */
const loadedAtOnce = 4

interface Loaded {
  readonly url: string | undefined
  readonly problem: string | undefined
}

const useContent = (id: string, isWanted: boolean): Loaded => {
  const [loaded, setLoaded] = useState<Loaded>({ url: undefined, problem: undefined })
  useEffect(() => {
    if (!isWanted) return
    const controller = new AbortController()
    let url: string | undefined
    const load = async () => {
      const response = await fetchWithKey(
        { method: "GET", path: `/videos/${encodeURIComponent(id)}/content?index=0` },
        controller.signal
      )
      if (!response.ok) return setLoaded({ url: undefined, problem: "The video could not be loaded." })
      url = URL.createObjectURL(await response.blob())
      if (controller.signal.aborted) URL.revokeObjectURL(url)
      else setLoaded({ url, problem: undefined })
    }
    load().catch(() => {
      if (!controller.signal.aborted) setLoaded({ url: undefined, problem: "The video could not be loaded." })
    })
    return () => {
      controller.abort()
      if (url !== undefined) URL.revokeObjectURL(url)
    }
  }, [id, isWanted])
  return loaded
}

const ratioOf = (ratio: string | undefined): string =>
  ratio === undefined || ratio === "" ? "16 / 9" : ratio.replace(":", " / ")

const Media = ({
  isAutomatic,
  onLoaded,
  queued
}: {
  readonly queued: QueuedJob
  readonly isAutomatic: boolean
  readonly onLoaded: (url: string | undefined) => void
}) => {
  const { form, id, job } = queued
  const [isAsked, setAsked] = useState(false)
  const isComplete = job?.status === "completed"
  const { problem, url } = useContent(id, isComplete && (isAutomatic || isAsked))
  useEffect(() => onLoaded(url), [url, onLoaded])
  return (
    <div className="media" style={{ aspectRatio: ratioOf(form["aspect_ratio"]) }}>
      {url !== undefined ? (
        // Until it plays, its first frame is shown.
        <video src={url} controls preload="metadata" aria-label={form["prompt"] === "" ? "Video" : form["prompt"]} />
      ) : problem !== undefined ? (
        <span className="issue">{problem}</span>
      ) : isComplete && !isAutomatic && !isAsked ? (
        <button type="button" onClick={() => setAsked(true)}>
          <Icon name="play" />
          Load the video
        </button>
      ) : isFinal(queued) && !isComplete ? (
        <Icon name="off" />
      ) : (
        <progress aria-label="Progress" {...(job?.progress !== undefined && { value: job.progress })} />
      )}
    </div>
  )
}

const QueueItem = ({
  isAutomatic,
  onAgain,
  onCancel,
  onForm,
  onRemove,
  onVary,
  queued
}: {
  readonly queued: QueuedJob
  readonly isAutomatic: boolean
  readonly onAgain: () => void
  readonly onVary: (() => void) | undefined
  readonly onForm: () => void
  readonly onCancel: () => void
  readonly onRemove: () => void
}) => {
  const { at, form, id, job, problem } = queued
  const [url, setUrl] = useState<string>()
  const isOver = isFinal(queued)
  return (
    <li className="job">
      <Media queued={queued} isAutomatic={isAutomatic} onLoaded={setUrl} />
      <div className="job-body">
        <p className="job-prompt">{form["prompt"] === "" ? "Without a prompt" : form["prompt"]}</p>
        <p className="bar" role="status">
          {job === undefined ? <span className="hint">Not read yet</span> : <StatusBadge status={job.status} />}
          {job?.progress !== undefined && !isOver && <span className="figures">{percent(job.progress)}</span>}
          {job?.usage?.cost != null && <span className="hint figures">{credits(job.usage.cost)} credits</span>}
          <span className="hint">{relative(new Date(at).toISOString())}</span>
        </p>
        {job?.error !== undefined && <p className="issue">{job.error}</p>}
        {problem !== undefined && <p className="issue">{problem}</p>}
        {job?.warnings?.map((warning) => (
          <p key={warning} className="hint">
            <Icon name="warning" /> {warning}
          </p>
        ))}
        <p className="hint">
          <code>{form["model"]}</code> <Id id={id} what="the job id" />
          {form["seed"] !== undefined && form["seed"] !== "" && ` seed ${form["seed"]}`}
        </p>
        <p className="bar">
          {!isOver && (
            <button type="button" onClick={onCancel}>
              Cancel the job
            </button>
          )}
          <button type="button" onClick={onAgain}>
            <Icon name="refresh" />
            Run again
          </button>
          {onVary !== undefined && (
            <button type="button" onClick={onVary}>
              Vary the seed
            </button>
          )}
          <button type="button" onClick={onForm}>
            Use its form
          </button>
          {url !== undefined && (
            <a className="button" href={url} download={`${id}.mp4`}>
              <Icon name="download" />
              Download
            </a>
          )}
          {isOver && (
            <button type="button" className="quiet" onClick={onRemove}>
              Remove from the list
            </button>
          )}
        </p>
      </div>
    </li>
  )
}

export const Queue = ({
  jobs,
  onAgain,
  onCancel,
  onForm,
  onRemove,
  onVary
}: {
  readonly jobs: ReadonlyArray<QueuedJob>
  readonly onAgain: (job: QueuedJob) => void
  readonly onVary: ((job: QueuedJob) => void) | undefined
  readonly onForm: (job: QueuedJob) => void
  readonly onCancel: (id: string) => void
  readonly onRemove: (id: string) => void
}) => (
  <ul className="jobs" aria-label="Video jobs">
    {jobs.map((queued, index) => (
      <QueueItem
        key={queued.id}
        queued={queued}
        isAutomatic={index < loadedAtOnce}
        onAgain={() => onAgain(queued)}
        onVary={onVary === undefined ? undefined : () => onVary(queued)}
        onForm={() => onForm(queued)}
        onCancel={() => onCancel(queued.id)}
        onRemove={() => onRemove(queued.id)}
      />
    ))}
  </ul>
)
