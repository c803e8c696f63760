/** Transcribes a file, a recording or a sample, and shows the words with their times. */
import { useEffect, useMemo, useRef, useState } from "react"
import type { Success } from "../../api/Contract.ts"
import { SelectField, TextField } from "../../parts/Fields.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Failure } from "../Failure.tsx"
import { FileDrop } from "../FileDrop.tsx"
import { ModelPicker } from "../ModelPicker.tsx"
import type { TaskProps } from "../Playground.tsx"
import { ProviderField } from "../Provider.tsx"
import { onSignOut } from "../shared/access.ts"
import { answerOf } from "../shared/exchange.ts"
import { useEstimate } from "../shared/useEstimate.ts"
import { useForm } from "../shared/useForm.ts"
import { useModel } from "../shared/useModels.ts"
import { useRun } from "../shared/useRun.ts"
import { Workbench } from "../Workbench.tsx"
import { decode, rate } from "./audio.ts"
import { Player, useDecoded } from "./Player.tsx"
import type { Recorder } from "./recorder.ts"
import { codeOf, defaults, fieldsOf, formatOf, optionsOf, problemOf } from "./request.ts"
import { TranscriptView } from "./TranscriptView.tsx"
import "./transcription.css"

type Response = Success<"POST /audio/transcriptions">

interface Chosen {
  readonly file: File
  readonly url: string
}

/** The keys of a telephone, which the sandbox's model understands. */
const sampleFile = async (): Promise<File> => {
  const { wav } = await import("@model-gateway/sandbox/DtmfTone")
  return new File([wav("555 0199", { tone: 0.12, gap: 0.08, pause: 0.5 })], "dialed.wav", { type: "audio/wav" })
}

/** The recording in a format that the model takes. */
const accepted = async (file: File, formats: ReadonlyArray<string> | undefined): Promise<File> => {
  const format = formatOf(file.name)
  if (formats === undefined || (format !== undefined && formats.includes(format))) return file
  const { encode } = await import("@model-gateway/sandbox/WavEncoder")
  const samples = (await decode(file)).getChannelData(0)
  return new File([encode(samples, { sampleRate: rate })], "recording.wav", { type: "audio/wav" })
}

const RecordButton = ({
  formats,
  onFile
}: {
  readonly formats: ReadonlyArray<string> | undefined
  readonly onFile: (file: File) => void
}) => {
  const [recorder, setRecorder] = useState<Recorder>()
  const [level, setLevel] = useState(0)
  const [problem, setProblem] = useState("")
  const fail = (error: unknown) => {
    setRecorder(undefined)
    setProblem(error instanceof Error ? error.message : String(error))
  }
  const start = async () => {
    setProblem("")
    const { record } = await import("./recorder.ts")
    setRecorder(await record(setLevel))
  }
  const stop = async (running: Recorder) => {
    setRecorder(undefined)
    onFile(await accepted(await running.stop(), formats))
  }
  return (
    <>
      <button
        type="button"
        aria-pressed={recorder !== undefined}
        onClick={() => void (recorder === undefined ? start() : stop(recorder)).catch(fail)}
      >
        <Icon name="microphone" />
        {recorder === undefined ? "Record the microphone" : "Stop recording"}
      </button>
      {recorder !== undefined && (
        <meter aria-label="Volume" min={0} max={1} value={Math.min(1, level * 4)} className="level" />
      )}
      <span className={problem === "" ? "hint" : "issue"} role="status">
        {problem === "" && recorder !== undefined ? "Recording …" : problem}
      </span>
    </>
  )
}

const Transcription = ({ initial, isShown, onOpen }: TaskProps) => {
  const { form, set, setForm } = useForm(defaults, initial)
  const run = useRun("transcription")
  const [chosen, setChosen] = useState<Chosen>()
  const audio = useRef<HTMLAudioElement>(null)
  const decoded = useDecoded(chosen?.file)
  const model = useModel(form.model, "transcription")

  const choose = (file: File) => {
    // The transcript is that of the recording before.
    run.reset()
    setChosen({ file, url: URL.createObjectURL(file) })
  }
  useEffect(() => (chosen === undefined ? undefined : () => URL.revokeObjectURL(chosen.url)), [chosen])
  useEffect(() => onSignOut(() => setChosen(undefined)), [])

  const formats = model?.capabilities.audio_formats
  const format = chosen === undefined ? undefined : formatOf(chosen.file.name)
  const problem = problemOf(form, chosen?.file)
  const isReady = problem === undefined
  const seconds = decoded?.seconds
  const request = useMemo(
    () =>
      isReady && seconds !== undefined
        ? { ...optionsOf(form), seconds, ...(format === undefined ? {} : { format }) }
        : undefined,
    [isReady, form, seconds, format]
  )
  const estimated = useEstimate("transcription", request)
  const start = () => {
    if (chosen === undefined) return
    const call = {
      method: "POST" as const,
      path: "/audio/transcriptions",
      form: { file: chosen.file, fields: fieldsOf(form) }
    }
    void run.start(call, form)
  }
  const done = run.outcome?.exchange
  const response = done && answerOf<Response>(done)
  return (
    <Workbench
      task="transcription"
      isShown={isShown}
      action="Transcribe"
      form={form}
      run={run}
      onRun={start}
      problem={problem}
      estimated={estimated}
      code={codeOf(form, chosen?.file.name ?? "recording.wav")}
      onOpen={onOpen}
      parameters={
        <>
          <ModelPicker
            kind="transcription"
            value={form.model}
            onChange={(id) => setForm({ ...form, model: id, provider: "" })}
          />
          <TextField
            label="Language"
            name="language"
            value={form.language}
            placeholder="detected"
            hint="Two letters, such as en."
            error={estimated.error ?? null}
            onChange={(value) => set("language", value)}
          />
          {model?.capabilities.word_timestamps !== false && (
            <SelectField
              label="Times"
              name="timestamp_granularities"
              value={form.times === "segment" ? "segment" : "word"}
              options={[
                ["word", "of segments and words"],
                ["segment", "of segments"]
              ]}
              onChange={(value) => set("times", value)}
            />
          )}
          {(model?.supported_parameters.includes("temperature") === true || form.temperature !== "") && (
            <TextField
              label="Temperature"
              name="temperature"
              type="number"
              value={form.temperature}
              placeholder="0"
              hint="From 0 to 1."
              error={estimated.error ?? null}
              onChange={(value) => set("temperature", value)}
            />
          )}
          <ProviderField
            providers={model?.providers ?? []}
            value={form.provider}
            onChange={(value) => set("provider", value)}
          />
        </>
      }
      input={
        <div className="form">
          <FileDrop
            label="Drop an audio file here, or choose one"
            accept="audio/*,.wav,.mp3,.flac,.m4a,.ogg,.webm,.aac"
            hint={`${(formats ?? ["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"]).join(", ").toUpperCase()}, up to 25 MB`}
            onFile={choose}
          />
          <div className="bar">
            <RecordButton formats={formats} onFile={choose} />
            <button type="button" onClick={() => void sampleFile().then(choose)}>
              Use the sample sound
            </button>
          </div>
          {chosen !== undefined && (
            <Player key={chosen.url} audio={audio} file={chosen.file} url={chosen.url} decoded={decoded} />
          )}
          {format !== undefined && formats !== undefined && !formats.some((each) => each === format) && (
            <p className="issue">
              This model does not take {format.toUpperCase()}. Choose another model, or a file in{" "}
              {formats.join(", ").toUpperCase()}.
            </p>
          )}
        </div>
      }
    >
      {done?.error !== undefined && <Failure error={done.error} onRepeat={start} />}
      {response !== undefined && (
        <TranscriptView response={response} audio={audio} name={chosen?.file.name ?? "transcript"} />
      )}
    </Workbench>
  )
}

export default Transcription
