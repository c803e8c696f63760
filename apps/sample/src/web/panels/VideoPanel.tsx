/** A video job: its states as they happen, and the video. */
import { type Video } from "@model-gateway/core"
import { Effect } from "effect"
import { useEffect, useState } from "react"
import * as Inputs from "../../Inputs.ts"
import { type FinishedVideo, makeVideo } from "../../Program.ts"
import { credits, size } from "../../Words.ts"
import { Field, Select } from "../parts/Field.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { snippets } from "../Snippets.ts"
import type { ModelIds } from "../useModels.ts"
import { useTask } from "../useTask.ts"

const resolutions: ReadonlyArray<Video.Resolution> = ["480p", "720p", "768p", "1080p", "1K", "2K", "4K"]
const ratios: ReadonlyArray<Video.AspectRatio> = ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21"]
const sample = Inputs.make(Inputs.sandboxModels).video

/** A state that the job was seen in. */
interface Seen {
  readonly status: Video.Status
  /** Milliseconds after the submission. */
  readonly after: number
}

export const VideoPanel = ({ active, models }: { readonly active: boolean; readonly models: ModelIds }) => {
  const task = useTask<FinishedVideo>("video")
  const [prompt, setPrompt] = useState(sample.prompt ?? "")
  const [model, setModel] = useState(sample.model)
  const [resolution, setResolution] = useState<Video.Resolution>("480p")
  const [ratio, setRatio] = useState<Video.AspectRatio>(sample.aspect_ratio ?? "16:9")
  const [duration, setDuration] = useState("4")
  const [seed, setSeed] = useState("7")
  const [job, setJob] = useState<Video.Job>()
  const [seen, setSeen] = useState<ReadonlyArray<Seen>>([])

  const saved = task.state._tag === "Done" ? task.state.value.saved.location : undefined
  useEffect(() => (saved === undefined ? undefined : () => URL.revokeObjectURL(saved)), [saved])

  const submit = () => {
    const begun = performance.now()
    setJob(undefined)
    setSeen([])
    task.run(
      makeVideo(
        {
          model,
          prompt,
          resolution,
          aspect_ratio: ratio,
          ...(duration === "" ? {} : { duration: Number(duration) }),
          ...(seed === "" ? {} : { seed: Number(seed) })
        },
        (next) =>
          Effect.sync(() => {
            setJob(next)
            setSeen((before) =>
              before.at(-1)?.status === next.status
                ? before
                : [...before, { status: next.status, after: performance.now() - begun }]
            )
          })
      )
    )
  }

  return (
    <Panel
      id="video"
      title="Make a video"
      lead="Submits a job, follows it to its end and plays what came of it. The sandbox model renders the prompt as a title card."
      code={snippets.video}
      active={active}
    >
      <TaskForm
        task={task}
        label="Make the video"
        onSubmit={submit}
        running={doing(job)}
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
            value={resolution}
            options={resolutions}
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
                placeholder="the model's own"
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
      <div className="outcome">
        {seen.length === 0 ? null : (
          <ol className="states" aria-label="States of the job">
            {seen.map(({ after, status }) => (
              <li key={status} data-status={status}>
                <span>{status.replace("_", " ")}</span>
                <span className="hint">{(after / 1000).toFixed(1)} s</span>
              </li>
            ))}
          </ol>
        )}
        {task.state._tag === "Done" ? <Finished video={task.state.value} ratio={ratio} /> : null}
      </div>
    </Panel>
  )
}

const doing = (job: Video.Job | undefined): string => {
  if (job === undefined) return "Submitting …"
  if (job.status === "completed") return "Fetching the video …"
  return job.status === "in_progress" ? "Rendering …" : "Waiting for its turn …"
}

const Finished = ({ ratio, video: { job, saved } }: { readonly video: FinishedVideo; readonly ratio: string }) => (
  <div className="card">
    <video
      controls
      playsInline
      src={saved.location}
      aria-label="The finished video"
      style={{ aspectRatio: ratio.replace(":", "/") }}
    />
    <p className="row spread">
      <a className="button" href={saved.location} download={`${job.id}.mp4`}>
        Download ({size(saved.bytes)})
      </a>
      <span className="hint">
        {job.usage?.cost === undefined
          ? ""
          : job.usage.cost === 0
            ? "It was free."
            : `It cost ${credits(job.usage.cost)}.`}
      </span>
    </p>
  </div>
)
