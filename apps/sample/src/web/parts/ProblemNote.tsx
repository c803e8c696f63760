/** Shows a problem: what is wrong, what to do, and the request id. */
import type { Problem } from "../Problem.ts"
import type { Task } from "../useTask.ts"
import { CopyButton } from "./CopyButton.tsx"

export const ProblemNote = ({ problem }: { readonly problem: Problem }) => (
  <div className="problem" role="alert">
    <p>{problem.message}</p>
    <p className="problem-facts">
      <span>
        Error <code>{problem.tag}</code>
      </span>
      {problem.requestId === undefined ? null : (
        <span className="request-id">
          Request id <code>{problem.requestId}</code>
          <CopyButton label="Copy the request id" text={problem.requestId} />
        </span>
      )}
    </p>
  </div>
)

/** Shows the problem of a failed task. */
export const TaskProblem = ({ task: { state } }: { readonly task: Pick<Task<unknown>, "state"> }) =>
  state._tag === "Failed" ? <ProblemNote problem={state.problem} /> : null
