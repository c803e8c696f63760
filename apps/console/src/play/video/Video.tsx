/** Submits video jobs and follows them. */
import { useMemo, useState } from "react"
import { AreaField, SelectField, TextField } from "../../parts/Fields.tsx"
import { Failure } from "../Failure.tsx"
import { FileDrop } from "../FileDrop.tsx"
import { ModelPicker } from "../ModelPicker.tsx"
import type { TaskProps } from "../Playground.tsx"
import { ProviderField } from "../Provider.tsx"
import { answerOf } from "../shared/exchange.ts"
import type { Form } from "../shared/link.ts"
import type { VideoModel } from "../shared/models.ts"
import { useEstimate } from "../shared/useEstimate.ts"
import { useForm } from "../shared/useForm.ts"
import { useVideoModel } from "../shared/useModels.ts"
import { useRun } from "../shared/useRun.ts"
import { Workbench } from "../Workbench.tsx"
import { isFinal, type Job, type QueuedJob, useJobs } from "./jobs.ts"
import { Queue } from "./Queue.tsx"
import { bodyOf, codeOf, defaults, durationsOf, fitted, problemOf, type VideoForm } from "./request.ts"
import "./video.css"

/** A seed at random. */
const newSeed = (): string => String(crypto.getRandomValues(new Uint32Array(1))[0])

const formOf = (form: Form): VideoForm => ({ ...defaults, ...form })

/** Options of a select, with the model's own choice first. */
const options = (values: ReadonlyArray<string | number>, own: string) => [
  ["", own] as const,
  ...values.map((value) => [String(value), String(value)] as const)
]

const dataUri = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(typeof reader.result === "string" ? reader.result : "")
    reader.onerror = () => reject(reader.error ?? new Error("The file cannot be read"))
    reader.readAsDataURL(file)
  })

const Frame = ({
  label,
  onChange,
  value
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (uri: string) => void
}) => {
  const [problem, setProblem] = useState("")
  const take = (file: File) => {
    if (!file.type.startsWith("image/")) return setProblem("This is not an image.")
    setProblem("")
    dataUri(file).then(onChange, () => setProblem("The image cannot be read."))
  }
  return (
    <div className="frame-field">
      {value === "" ? (
        <FileDrop label={label} accept="image/*" hint="Drop an image, or choose one" onFile={take} />
      ) : (
        <>
          <img src={value} alt={label} />
          <button type="button" onClick={() => onChange("")}>
            Remove the {label.toLowerCase()}
          </button>
        </>
      )}
      {problem !== "" && (
        <p className="issue" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

interface ParameterProps {
  readonly form: VideoForm
  readonly model: VideoModel | undefined
  readonly error: Error | null
  readonly set: (field: keyof VideoForm, value: string) => void
}

const Duration = ({ error, form, model, set }: ParameterProps) => {
  const durations = model === undefined ? undefined : durationsOf(model)
  const own =
    model?.default_duration === 0 ? "chosen by the model" : `${model?.default_duration ?? "chosen by the model"}`
  return durations === undefined ? (
    <TextField
      label="Seconds"
      name="duration"
      type="number"
      value={form.duration}
      placeholder={own}
      hint={
        model?.capabilities.max_duration === undefined ? undefined : `Up to ${model.capabilities.max_duration} seconds.`
      }
      error={error}
      onChange={(value) => set("duration", value)}
    />
  ) : (
    <SelectField
      label="Seconds"
      name="duration"
      value={form.duration}
      options={options(durations, `${own} (default)`)}
      error={error}
      onChange={(value) => set("duration", value)}
    />
  )
}

const Upscale = ({ error, form, model, set }: ParameterProps) => (
  <>
    <TextField
      label="Video to upscale"
      name="input_references"
      type="url"
      value={form.source}
      placeholder="https://…"
      error={error}
      onChange={(value) => set("source", value)}
    />
    <TextField
      label="Upscale factor"
      name="upscale_factor"
      type="number"
      value={form.upscale_factor}
      hint={
        model?.upscale_factor?.max == null
          ? undefined
          : `From ${model.upscale_factor.min ?? 1} to ${model.upscale_factor.max}.`
      }
      error={error}
      onChange={(value) => set("upscale_factor", value)}
    />
    <TextField
      label="Creativity"
      name="creativity"
      type="number"
      value={form.creativity}
      error={error}
      onChange={(value) => set("creativity", value)}
    />
  </>
)

const Parameters = (props: ParameterProps) => {
  const { error, form, model, set } = props
  return (
    <>
      <Duration {...props} />
      {model !== undefined && model.supported_resolutions.length > 0 && (
        <SelectField
          label="Resolution"
          name="resolution"
          value={form.resolution}
          options={options(model.supported_resolutions, "chosen by the model")}
          error={error}
          onChange={(value) => set("resolution", value)}
        />
      )}
      {model !== undefined && model.supported_aspect_ratios.length > 0 && (
        <SelectField
          label="Aspect ratio"
          name="aspect_ratio"
          value={form.aspect_ratio}
          options={options(model.supported_aspect_ratios, "chosen by the model")}
          error={error}
          onChange={(value) => set("aspect_ratio", value)}
        />
      )}
      {model?.capabilities.generate_audio === true && (
        <SelectField
          label="Sound"
          name="generate_audio"
          value={form.generate_audio}
          options={[
            ["", "chosen by the model"],
            ["yes", "with sound"],
            ["no", "without sound"]
          ]}
          onChange={(value) => set("generate_audio", value)}
        />
      )}
      {model?.seed !== false && (
        <TextField
          label="Seed"
          name="seed"
          type="number"
          value={form.seed}
          placeholder="random"
          error={error}
          onChange={(value) => set("seed", value)}
        />
      )}
      {model?.capabilities.upscale === true && <Upscale {...props} />}
      <ProviderField
        providers={model?.providers ?? []}
        value={form.provider}
        onChange={(value) => set("provider", value)}
      />
    </>
  )
}

const Video = ({ initial, isShown, onOpen }: TaskProps) => {
  const { form: typed, set, setForm } = useForm(defaults, initial)
  const run = useRun("video")
  const queue = useJobs()
  const model = useVideoModel(typed.model)
  const form = useMemo(() => fitted(typed, model), [typed, model])
  const problem = problemOf(form, model)
  const body = useMemo(() => bodyOf(form), [form])
  const estimated = useEstimate("video", problem === undefined ? body : undefined)
  const error = estimated.error ?? null

  const submit = async (next: VideoForm) => {
    const done = await run.start({ method: "POST", path: "/videos", json: bodyOf(next) }, next)
    const job = done && answerOf<Job>(done)
    if (job !== undefined) await queue.add(job, next)
  }
  const again = ({ form: before }: QueuedJob) => void submit(formOf(before))
  const vary = ({ form: before }: QueuedJob) => {
    const next = { ...formOf(before), seed: newSeed() }
    setForm(next)
    void submit(next)
  }
  const done = run.outcome?.exchange
  const finished = queue.jobs.find((job) => isFinal(job) && job.job?.generation_id !== undefined)?.job?.generation_id
  const frames = model?.supported_frame_images ?? []
  return (
    <Workbench
      task="video"
      isShown={isShown}
      action="Make the video"
      form={form}
      run={run}
      onRun={() => void submit(form)}
      problem={problem}
      estimated={estimated}
      code={codeOf(form)}
      {...(done !== undefined && { facts: [["", done, finished] as const] })}
      onOpen={onOpen}
      parameters={
        <>
          <ModelPicker
            kind="video"
            value={form.model}
            onChange={(id) => setForm({ ...form, model: id, provider: "" })}
          />
          <Parameters form={form} model={model} error={error} set={set} />
        </>
      }
      input={
        <div className="form">
          <AreaField
            label="Prompt"
            name="prompt"
            value={form.prompt}
            error={error}
            hint={model?.capabilities.prompt_optional === true ? "Optional for this model." : undefined}
            onChange={(value) => set("prompt", value)}
          />
          {frames.length > 0 && (
            <div className="frames">
              {frames.includes("first_frame") && (
                <Frame label="First frame" value={form.first_frame} onChange={(uri) => set("first_frame", uri)} />
              )}
              {frames.includes("last_frame") && (
                <Frame label="Last frame" value={form.last_frame} onChange={(uri) => set("last_frame", uri)} />
              )}
            </div>
          )}
          {model?.capabilities.references?.includes("image") === true && (
            <AreaField
              label="Reference images"
              name="input_references"
              rows={2}
              value={form.references}
              placeholder="https://…"
              hint="Addresses of images that guide the model, one on each line."
              error={error}
              onChange={(value) => set("references", value)}
            />
          )}
        </div>
      }
    >
      {done?.error !== undefined && <Failure error={done.error} onRepeat={() => void submit(form)} />}
      {queue.jobs.length > 0 && (
        <Queue
          jobs={queue.jobs}
          onAgain={again}
          onVary={model?.seed === false ? undefined : vary}
          onForm={({ form: before }) => setForm(formOf(before))}
          onCancel={(id) => void queue.cancel(id)}
          onRemove={queue.remove}
        />
      )}
    </Workbench>
  )
}

export default Video
