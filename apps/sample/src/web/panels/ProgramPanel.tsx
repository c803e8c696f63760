/** The whole program, as the terminal runs it: six steps, each with what came of it. */
import { Effect } from "effect"
import { useState } from "react"
import * as Inputs from "../../Inputs.ts"
import { type Done, type Event, type Outcome, program, type Step, succeeded } from "../../Program.ts"
import { credits, order, size, titles } from "../../Words.ts"
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
      lead="The same six steps that npm run sample takes in a terminal, from the same file. The last one needs the management key of the Guardrails panel."
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
            <StepLine key={step} step={step} event={events[step]} over={!task.running} />
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
  /** Nothing runs any more: what had only begun was cancelled. */
  readonly over: boolean
}

const StepLine = ({ event, over, step }: StepProps) => (
  <li data-state={event?._tag ?? "Waiting"}>
    <h3>{titles[step]}</h3>
    {event === undefined ? <p className="hint">Not yet</p> : <Told event={event} over={over} />}
  </li>
)

const Told = ({ event, over }: { readonly event: Event; readonly over: boolean }) => {
  switch (event._tag) {
    case "Started":
      return <p className="hint">{over ? "Cancelled" : "Under way …"}</p>
    case "VideoChanged":
      return (
        <p className="hint">
          {event.job.status.replace("_", " ")}
          {event.job.progress === undefined ? "" : `, ${Math.round(event.job.progress * 100)} %`}
        </p>
      )
    case "Done":
      return <p>{said(event)}</p>
    case "Failed":
      return <ProblemNote problem={Problem.of(event.step, event.error)} />
    case "Skipped":
      return <p className="hint">Skipped: “{titles[event.because]}” failed</p>
  }
}

const said = (outcome: Done): string => {
  switch (outcome.step) {
    case "file":
      return `${outcome.result.file.filename} (${size(outcome.result.file.size_bytes)}) was stored and deleted again.`
    case "key":
      return `${outcome.result.label} has used ${credits(outcome.result.usage)}.`
    case "rerank":
      return `Most relevant: “${outcome.result.response.results[0]?.document.text ?? "nothing"}”`
    case "transcription":
      return `Heard: “${outcome.result.text}”`
    case "video":
      return `A video of ${size(outcome.result.saved.bytes)} was made.`
    case "guardrail":
      return `${outcome.result.response.assigned_count} keys were assigned to “${outcome.result.guardrail.name}”.`
  }
}
