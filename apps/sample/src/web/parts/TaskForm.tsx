/** What a panel tries: its fields, the button that runs it, how far it is, and what went wrong. */
import type { ReactNode } from "react"
import type { Task } from "../useTask.ts"
import { TaskProblem } from "./ProblemNote.tsx"
import { RunBar } from "./RunBar.tsx"

interface Props<A> {
  readonly task: Task<A>
  readonly label: string
  readonly onSubmit: () => void
  /** What is said of it while it runs, … */
  readonly running: string
  /** … when it is done, … */
  readonly done?: (value: A) => string
  /** … and when it was cancelled. */
  readonly cancelled?: string
  /** From 0 to 1; undefined while nobody can tell. */
  readonly progress?: number | undefined
  /** What the bar measures, unless it is what the button says. */
  readonly progressLabel?: string
  /** The fields. */
  readonly children?: ReactNode
}

export const TaskForm = <A,>({
  children,
  label,
  onSubmit,
  progress,
  progressLabel = label,
  task,
  ...said
}: Props<A>) => (
  <form
    className="card"
    onChange={task.dismiss}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
    <RunBar
      label={label}
      running={task.running}
      onCancel={task.cancel}
      status={statusOf(task, said)}
      progress={progress}
      progressLabel={progressLabel}
    />
    <TaskProblem task={task} />
  </form>
)

const statusOf = <A,>(
  { state }: Task<A>,
  { cancelled = "Cancelled", done, running }: Pick<Props<A>, "cancelled" | "done" | "running">
): string => {
  switch (state._tag) {
    case "Running":
      return running
    case "Done":
      return done?.(state.value) ?? ""
    case "Cancelled":
      return cancelled
    case "Idle":
    case "Failed":
      return ""
  }
}
