/** Makes the gateway answer with an error, to see what a program gets and how it handles that. */
import type { Json } from "@model-gateway/core/unstable/CodeSamples"
import { encode } from "@model-gateway/sandbox/WavEncoder"
import { SelectField } from "../../parts/Fields.tsx"
import { simulatedStatus } from "../../parts/simulators.ts"
import { Failure } from "../Failure.tsx"
import type { TaskProps } from "../Playground.tsx"
import type { Call } from "../shared/exchange.ts"
import type { Kind } from "../shared/models.ts"
import type { CodeCall } from "../shared/programs.ts"
import { useForm } from "../shared/useForm.ts"
import { useModels } from "../shared/useModels.ts"
import { useRun } from "../shared/useRun.ts"
import { Workbench } from "../Workbench.tsx"
import { errorKinds } from "./errors.ts"
import "./errors.css"

const defaults = { kind: "rerank", status: "429" }

const operations: ReadonlyArray<readonly [Kind, string]> = [
  ["rerank", "Rerank"],
  ["transcription", "Transcription"],
  ["video", "Video"]
]

/** A moment of silence, as WAV in base64. The simulators do not listen to it. */
const silence = (): string => btoa(String.fromCharCode(...encode(new Float32Array(80))))

interface Sample {
  readonly path: string
  readonly client: string
  readonly json: { readonly [field: string]: Json }
}

const sampleOf = (kind: Kind, model: string): Sample => {
  switch (kind) {
    case "rerank":
      return {
        path: "/rerank",
        client: "Rerank.rerank",
        json: { model, query: "pears", documents: ["apples", "pears"] }
      }
    case "transcription":
      return {
        path: "/audio/transcriptions",
        client: "Transcription.transcribe",
        json: { model, input_audio: { data: silence(), format: "wav" } }
      }
    case "video":
      return { path: "/videos", client: "Video.submitVideo", json: { model, prompt: "Dawn over the harbor" } }
  }
}

const none = { estimate: undefined, error: undefined }

const Errors = ({ initial, isShown, onOpen }: TaskProps) => {
  const { form, set, setForm } = useForm(defaults, initial)
  const run = useRun("errors")
  const kind = operations.find(([name]) => name === form.kind)?.[0] ?? "rerank"
  const models = useModels(kind)
  const offered = models.flatMap(({ id }) => simulatedStatus(id) ?? [])
  const shown = errorKinds.filter(({ status }) => offered.length === 0 || offered.includes(status))
  const chosen = shown.find(({ status }) => String(status) === form.status) ?? shown[0]
  const status = chosen?.status ?? 429
  const { client, json, path } = sampleOf(kind, `sandbox/status-${status}`)
  const call: Call = { method: "POST", path, json }
  const code: CodeCall = {
    request: { method: "POST", path, json },
    client: { client, isFunction: true, arguments: [json] },
    note: "The program ends with the error."
  }
  const start = () => void run.start(call, form)
  const done = run.outcome?.exchange
  return (
    <Workbench
      task="errors"
      isShown={isShown}
      action="Cause the error"
      form={form}
      run={run}
      onRun={start}
      problem={undefined}
      estimated={none}
      code={code}
      onOpen={onOpen}
      parameters={
        <SelectField
          label="Operation"
          name="kind"
          value={kind}
          options={operations}
          hint="Each operation has simulators of the errors that it can answer with. They cost nothing."
          onChange={(value) => setForm({ ...form, kind: value })}
        />
      }
      input={
        <div className="form">
          <fieldset className="error-kinds">
            <legend>Test errors</legend>
            {shown.map((each) => (
              <label key={each.status} data-chosen={each.status === status}>
                <input
                  type="radio"
                  name="status"
                  value={each.status}
                  checked={each.status === status}
                  onChange={() => set("status", String(each.status))}
                />
                <strong className="figures">{each.status}</strong>
                <span>{each.title}</span>
              </label>
            ))}
          </fieldset>
          {chosen !== undefined && (
            <div>
              <p>{chosen.meaning}</p>
              <p className="hint">{chosen.handling}</p>
            </div>
          )}
        </div>
      }
    >
      {done?.error !== undefined && <Failure error={done.error} onRepeat={start} />}
      {done !== undefined && done.error === undefined && (
        <p className="hint">The gateway answered {done.status} without an error.</p>
      )}
    </Workbench>
  )
}

export default Errors
