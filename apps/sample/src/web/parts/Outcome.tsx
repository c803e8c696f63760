/** The result of a task. It is scrolled into view when the task succeeds. */
import { type ReactNode, useEffect, useRef } from "react"
import type { Task } from "../useTask.ts"

interface Props {
  readonly task: Pick<Task<unknown>, "state">
  readonly children: ReactNode
}

export const Outcome = ({ children, task: { state } }: Props) => {
  const outcome = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (state._tag === "Done") outcome.current?.scrollIntoView({ block: "nearest" })
  }, [state])
  return (
    <div ref={outcome} className="outcome">
      {children}
    </div>
  )
}
