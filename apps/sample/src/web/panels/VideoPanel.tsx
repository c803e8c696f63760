/** Submits a video job, shows its status changes, and plays the video. */
import { RetryPolicy, Video } from "@model-gateway/core"
import { Effect, Schedule } from "effect"
import { useEffect, useRef, useState } from "react"
import * as Inputs from "../../Inputs.ts"
import { type FinishedVideo, followVideo, submitVideo } from "../../Program.ts"
import { credits, size } from "../../Texts.ts"
import { Field, Select } from "../parts/Field.tsx"
import { Outcome } from "../parts/Outcome.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { snippets } from "../Snippets.ts"
import type { ModelIds } from "../useModels.ts"
import { type RecentJob, useRecentJobs } from "../useRecentJobs.ts"
import { useTask } from "../useTask.ts"
import { RecentJobs } from "./RecentJobs.tsx"

const resolutions: ReadonlyArray<Video.Resolution> = ["480p", "720p", "768p", "1080p", "1K", "2K", "4K"]
const ratios: ReadonlyArray<Video.AspectRatio> = ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21"]
const sample = Inputs.make(Inputs.sandboxModels).video

/** The input of the job that is shown. The form may have changed since. */
type JobInput = Pick<RecentJob, "prompt" | "ratio">

/** A status that the job had. */
interface StatusChange {
  readonly status: Video.Job["status"]
  /** Milliseconds after the submission. */
  readonly after: number
}

/** Long enough for a restart of the gateway. */
const reconnecting = { schedule: Schedule.spaced("1 second"), times: 60 }

const canReconnect = (error: object): boolean => "isRetryable" in error && error.isRetryable === true

interface Props {
  readonly active: boolean
  readonly models: ModelIds
  readonly signedIn: boolean
}

export const VideoPanel = ({ active, models, signedIn }: Props) => {
  const task = useTask<FinishedVideo>("video")
  const [prompt, setPrompt] = useState(sample.prompt ?? "")
  const [model, setModel] = useState(sample.model)
  const [resolution, setResolution] = useState<Video.Resolution>("480p")
  const offered = models.resolutions.get(model) ?? resolutions
  const fitting = offered.includes(resolution) ? resolution : (offered[0] ?? resolution)
  const [ratio, setRatio] = useState<Video.AspectRatio>(sample.aspect_ratio ?? "16:9")
  const [duration, setDuration] = useState("4")
  const [seed, setSeed] = useState("7")
  const recent = useRecentJobs()
  const [shown, setShown] = useState<JobInput>()
  const [job, setJob] = useState<Video.Job>()
  const [isConnectionLost, setConnectionLost] = useState(false)
  const [changes, setChanges] = useState<ReadonlyArray<StatusChange>>([])

  const saved = task.state._tag === "Done" ? task.state.value.saved.location : undefined
  useEffect(() => (saved === undefined ? undefined : () => URL.revokeObjectURL(saved)), [saved])

  /** Clears the previous job and returns a function that records the changes of the new one. */
  const track = (next: JobInput) => {
    const startedAt = performance.now()
    setShown(next)
    setJob(undefined)
    setChanges([])
    setConnectionLost(false)
    return (changed: Video.Job) =>
      Effect.sync(() => {
        setJob(changed)
        setConnectionLost(false)
        recent.save({ ...next, id: changed.id, status: changed.status })
        setChanges((before) =>
          before.at(-1)?.status === changed.status
            ? before
            : [...before, { status: changed.status, after: performance.now() - startedAt }]
        )
      })
  }

  /**
   * Follows a job to its end, also through a restart of the gateway. The page reconnects instead of
   * the client, so that it can show whether there is a connection.
   */
  const follow = (id: string, onChange: ReturnType<typeof track>) =>
    followVideo(id, onChange).pipe(
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none),
      Effect.tapError((error) => Effect.sync(() => setConnectionLost(canReconnect(error)))),
      Effect.retry({ while: canReconnect, ...reconnecting })
    )

  const submit = () => {
    const onChange = track({ prompt, ratio })
    task.run(
      submitVideo(
        {
          model,
          prompt,
          resolution: fitting,
          aspect_ratio: ratio,
          ...(duration === "" ? {} : { duration: Number(duration) }),
          ...(seed === "" ? {} : { seed: Number(seed) })
        },
        onChange
      ).pipe(Effect.flatMap(({ id }) => follow(id, onChange)))
    )
  }

  const show = ({ id, prompt, ratio }: RecentJob) => task.run(follow(id, track({ prompt, ratio })))

  // After a reload, reconnect to the newest job that had not ended.
  const resumed = useRef(false)
  useEffect(() => {
    if (!signedIn || resumed.current) return
    resumed.current = true
    const unfinished = recent.jobs.find(({ status }) => !Video.isFinal(status))
    if (unfinished !== undefined) show(unfinished)
  })

  return (
    <Panel
      id="video"
      title="Make a video"
      lead="Submits a job, follows it to its end and plays the video. The sandbox model renders the prompt as a title card."
      code={snippets.video}
      active={active}
    >
      <TaskForm
        task={task}
        label="Make the video"
        onSubmit={submit}
        running={isConnectionLost ? "Connection lost. Reconnecting …" : runningText(job)}
        cancelled={
          job === undefined || job.status === "cancelled" ? "Cancelled" : "Stopped waiting; the job may still run"
        }
        done={() => "The video is ready"}
        progress={job?.status === "in_progress" ? job.progress : undefined}
        progressLabel="Rendering"
      >
        <Field label="Prompt">
          {(ids) => <textarea {...ids} rows={2} value={prompt} onChange={(event) => setPrompt(event.target.value)} />}
        </Field>
        <div className="fields">
          <Select label="Model" value={model} options={models.video} onChange={setModel} />
          <Select
            label="Resolution"
            value={fitting}
            options={offered}
            onChange={(value) => setResolution(resolutions.find((each) => each === value) ?? resolution)}
          />
          <Select
            label="Aspect ratio"
            value={ratio}
            options={ratios}
            onChange={(value) => setRatio(ratios.find((each) => each === value) ?? ratio)}
          />
          <Field label="Seconds">
            {(ids) => (
              <input
                {...ids}
                type="number"
                min={1}
                step={1}
                placeholder="default"
                value={duration}
                onChange={(event) => setDuration(event.target.value)}
              />
            )}
          </Field>
          <Field label="Seed">
            {(ids) => (
              <input
                {...ids}
                type="number"
                step={1}
                placeholder="random"
                value={seed}
                onChange={(event) => setSeed(event.target.value)}
              />
            )}
          </Field>
        </div>
      </TaskForm>
      {signedIn && recent.jobs.length > 0 ? (
        <RecentJobs jobs={recent.jobs} busy={task.running} onShow={show} onClear={recent.clear} />
      ) : null}
      <Outcome task={task}>
        {changes.length === 0 ? null : (
          <ol className="states" aria-label="States of the job">
            {changes.map(({ after, status }) => (
              <li key={status} data-status={status}>
                <span>{status.replace("_", " ")}</span>
                <span className="hint">{(after / 1000).toFixed(1)} s</span>
              </li>
            ))}
          </ol>
        )}
        {task.state._tag === "Done" && shown !== undefined ? (
          <Finished video={task.state.value} ratio={shown.ratio} />
        ) : null}
      </Outcome>
    </Panel>
  )
}

const runningText = (job: Video.Job | undefined): string => {
  if (job === undefined) return "Submitting …"
  if (job.status === "completed") return "Downloading the video …"
  return job.status === "in_progress" ? "Rendering …" : "Queued …"
}

const Finished = ({ ratio, video: { job, saved } }: { readonly video: FinishedVideo; readonly ratio: string }) => (
  <div className="card">
    <video
      controls
      playsInline
      src={saved.location}
      aria-label="The finished video"
      style={{ aspectRatio: ratio.replace(":", "/"), maxWidth: `calc(70vh * ${ratio.replace(":", "/")})` }}
    />
    <p className="row spread">
      <a className="button" href={saved.location} download={`${job.id}.mp4`}>
        Download ({size(saved.bytes)})
      </a>
      <span className="hint">
        {typeof job.usage?.cost !== "number"
          ? ""
          : job.usage.cost === 0
            ? "It was free."
            : `It cost ${credits(job.usage.cost)}.`}
      </span>
    </p>
  </div>
)
