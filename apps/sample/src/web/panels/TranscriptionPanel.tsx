/** Transcribes a file or a recording and shows the words on a timeline. */
import { Audio, UploadProgress } from "@model-gateway/browser"
import type { Transcription } from "@model-gateway/core"
import { Effect } from "effect"
import { useEffect, useMemo, useRef, useState } from "react"
import * as Inputs from "../../Inputs.ts"
import { transcribe } from "../../Program.ts"
import { timedWords } from "../../TimedWords.ts"
import { dial } from "../../Tones.ts"
import { credits, size } from "../../Texts.ts"
import { Dropzone } from "../parts/Dropzone.tsx"
import { Field, Select } from "../parts/Field.tsx"
import { Outcome } from "../parts/Outcome.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskProblem } from "../parts/ProblemNote.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { Timeline } from "../parts/Timeline.tsx"
import { snippets } from "../Snippets.ts"
import type { ModelIds } from "../useModels.ts"
import { useRecorder } from "../useRecorder.ts"
import { useTask } from "../useTask.ts"

interface Chosen {
  readonly file: File
  readonly url: string
}

export const TranscriptionPanel = ({ active, models }: { readonly active: boolean; readonly models: ModelIds }) => {
  const task = useTask<Transcription.Response>("transcription")
  const [chosen, setChosen] = useState<Chosen>()
  const [model, setModel] = useState(Inputs.sandboxModels.transcription)
  const [language, setLanguage] = useState("")
  const [uploaded, setUploaded] = useState<number>()
  const player = useRef<HTMLAudioElement>(null)

  const choose = (file: File) => {
    // Remove the transcript of the previous recording.
    task.reset()
    setChosen({ file, url: URL.createObjectURL(file) })
  }
  const recorder = useRecorder(choose)

  useEffect(() => (chosen === undefined ? undefined : () => URL.revokeObjectURL(chosen.url)), [chosen])

  const submit = () => {
    if (chosen === undefined) {
      return task.reject("Choose a file, record something, or use the dialed number.")
    }
    setUploaded(0)
    task.run(
      Effect.flatMap(Audio.fromBlob(chosen.file), (audio) =>
        transcribe({
          model,
          ...audio,
          response_format: "verbose_json",
          timestamp_granularities: ["segment", "word"],
          ...(language === "" ? {} : { language })
        })
      ).pipe(
        UploadProgress.withUploadProgress(({ loaded, total }) => setUploaded(total === undefined ? 0 : loaded / total))
      )
    )
  }

  return (
    <Panel
      id="transcription"
      title="Transcribe audio"
      lead="Turns a recording into text, with the time of each word. The sandbox model recognizes the tones of telephone keys."
      code={snippets.transcription}
      active={active}
    >
      <TaskForm
        task={task}
        label="Transcribe"
        onSubmit={submit}
        running={uploaded === 1 ? "Transcribing …" : "Uploading …"}
        done={({ text, words = [] }) => (text === "" ? "No words found" : `${words.length} words`)}
        progress={uploaded === 1 ? undefined : uploaded}
        progressLabel="Upload"
      >
        <Dropzone
          label="Drop an audio file here, or choose one"
          hint="WAV, MP3, FLAC, M4A, OGG, WebM or AAC, up to 25 MB. The sandbox model takes WAV."
          accept="audio/*"
          file={chosen?.file}
          onFile={choose}
        />
        <div className="row">
          <button
            type="button"
            onClick={() => choose(new File([dial(Inputs.telephoneNumber)], "dialed.wav", { type: "audio/wav" }))}
          >
            Use a dialed number
          </button>
          <button type="button" onClick={recorder.recording ? recorder.stop : recorder.start}>
            {recorder.recording ? "Stop recording" : "Record the microphone"}
          </button>
          <span className="level" aria-hidden="true" data-on={recorder.recording}>
            <span style={{ transform: `scaleX(${Math.min(1, recorder.level * 4)})` }} />
          </span>
          <span className="recording" role="status">
            {recorder.recording ? "Recording" : ""}
          </span>
        </div>
        <div className="player">
          {chosen === undefined ? (
            <p className="hint">No audio yet.</p>
          ) : (
            <>
              <p>
                <strong>{chosen.file.name}</strong> <span className="hint">{size(chosen.file.size)}</span>
              </p>
              <audio ref={player} controls src={chosen.url} aria-label={`Play ${chosen.file.name}`} />
            </>
          )}
        </div>
        <div className="fields">
          <Select label="Model" value={model} options={models.transcription} onChange={setModel} />
          <Field label="Language">
            {(ids) => (
              <input
                {...ids}
                maxLength={2}
                placeholder="detected"
                value={language}
                onChange={(event) => setLanguage(event.target.value)}
              />
            )}
          </Field>
        </div>
      </TaskForm>
      <Outcome task={task}>
        <TaskProblem task={recorder} />
        {task.state._tag === "Done" ? <Transcript response={task.state.value} player={player} /> : null}
      </Outcome>
    </Panel>
  )
}

interface TranscriptProps {
  readonly response: Transcription.Response
  readonly player: React.RefObject<HTMLAudioElement | null>
}

const Transcript = ({ player, response }: TranscriptProps) => {
  const { duration, language, text, usage } = response
  const words = useMemo(() => timedWords(response), [response])
  return (
    <div className="card">
      <h3>{text === "" ? "No words were found in this recording." : `“${text}”`}</h3>
      {words.length > 0 && duration !== undefined ? (
        <Timeline words={words} duration={duration} player={player} />
      ) : null}
      <p className="hint">
        {[
          duration === undefined ? [] : [`${duration.toFixed(1)} s of audio`],
          language === undefined ? [] : [`language ${language}`],
          usage?.cost === undefined ? [] : [usage.cost === 0 ? "free" : credits(usage.cost)]
        ]
          .flat()
          .join(" · ")}
      </p>
    </div>
  )
}
