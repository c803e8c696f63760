/** The form of a task: its fields, its buttons, its progress and its problem. */
import type { ReactNode } from "react"
import type { Task } from "../useTask.ts"
import { TaskProblem } from "./ProblemNote.tsx"
import { RunBar } from "./RunBar.tsx"

interface Props<A> {
  readonly task: Task<A>
  readonly label: string
  readonly onSubmit: () => void
  /** The status while it runs. */
  readonly running: string
  /** The status when it succeeded. Default: empty. */
  readonly done?: (value: A) => string
  /** The status when it was canceled. Default: `Cancelled`. */
  readonly cancelled?: string
  /** From 0 to 1. Undefined: unknown. */
  readonly progress?: number | undefined
  /** The label of the progress bar. Default: `label`. */
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
  ...texts
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
      status={statusOf(task, texts)}
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
