/** Runs the same program as the terminal and shows the outcome of each step. */
import { Effect } from "effect"
import { useState } from "react"
import * as Inputs from "../../Inputs.ts"
import { type Done, type Event, type Outcome, program, type Step, succeeded } from "../../Program.ts"
import { credits, order, size, titles } from "../../Texts.ts"
import { Panel } from "../parts/Panel.tsx"
import { ProblemNote } from "../parts/ProblemNote.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import * as Problem from "../Problem.ts"
import { snippets } from "../Snippets.ts"
import { useTask } from "../useTask.ts"

type Progress = Partial<Record<Step, Event>>

export const ProgramPanel = ({ active }: { readonly active: boolean }) => {
  const task = useTask<ReadonlyArray<Outcome>>("key")
  const [events, setEvents] = useState<Progress>({})

  const submit = () => {
    setEvents({})
    task.run(
      program(Inputs.make(Inputs.sandboxModels), (event) =>
        Effect.sync(() =>
          setEvents((before) => ({ ...before, [event._tag === "VideoChanged" ? "video" : event.step]: event }))
        )
      )
    )
  }

  const done = Object.values(events).filter((event) => event._tag !== "Started" && event._tag !== "VideoChanged").length

  return (
    <Panel
      id="program"
      title="The whole program"
      lead="Runs the same six steps as npm run sample. The last step needs a management key, which you enter in the Guardrails panel."
      code={snippets.program}
      active={active}
    >
      <TaskForm
        task={task}
        label="Run all six"
        onSubmit={submit}
        running="Running …"
        done={summary}
        progress={done / order.length}
        progressLabel="Steps done"
      />
      <div className="outcome">
        <ol className="steps card">
          {order.map((step) => (
            <StepLine key={step} step={step} event={events[step]} hasEnded={!task.running} />
          ))}
        </ol>
      </div>
    </Panel>
  )
}

const summary = (outcomes: ReadonlyArray<Outcome>): string =>
  succeeded(outcomes)
    ? "All six steps worked"
    : `${outcomes.filter(({ _tag }) => _tag === "Done").length} of 6 steps worked`

interface StepProps {
  readonly step: Step
  readonly event: Event | undefined
  /** Whether the program has ended. A step that has not ended by then was canceled. */
  readonly hasEnded: boolean
}

const StepLine = ({ event, hasEnded, step }: StepProps) => (
  <li data-state={event?._tag ?? "Waiting"}>
    <h3>{titles[step]}</h3>
    {event === undefined ? <p className="hint">Not started</p> : <StepState event={event} hasEnded={hasEnded} />}
  </li>
)

const StepState = ({ event, hasEnded }: { readonly event: Event; readonly hasEnded: boolean }) => {
  switch (event._tag) {
    case "Started":
      return <p className="hint">{hasEnded ? "Cancelled" : "Running …"}</p>
    case "VideoChanged":
      return (
        <p className="hint">
          {event.job.status.replace("_", " ")}
          {event.job.progress === undefined ? "" : `, ${Math.round(event.job.progress * 100)} %`}
        </p>
      )
    case "Done":
      return <p>{describe(event)}</p>
    case "Failed":
      return <ProblemNote problem={Problem.fromError(event.step, event.error)} />
    case "Skipped":
      return <p className="hint">Skipped: “{titles[event.failedStep]}” failed</p>
  }
}

const describe = (outcome: Done): string => {
  switch (outcome.step) {
    case "file":
      return `${outcome.result.file.filename} (${size(outcome.result.file.size_bytes)}) was stored and deleted again.`
    case "key":
      return `${outcome.result.label} has used ${credits(outcome.result.usage)}.`
    case "rerank":
      return `Most relevant: “${outcome.result.response.results[0]?.document.text ?? "nothing"}”`
    case "transcription":
      return `Transcript: “${outcome.result.text}”`
    case "video":
      return `The video is ready (${size(outcome.result.saved.bytes)}).`
    case "guardrail":
      return `${outcome.result.response.assigned_count} keys were assigned to “${outcome.result.guardrail.name}”.`
  }
}
