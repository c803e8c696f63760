/** How a command ends if it does not succeed. */
import { Data } from "effect"

/** Ends the command with `message` on stderr and exit code 1. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly message: string
}> {}

/** The command was called wrongly: ends it with `message` on stderr and exit code 2. */
export class UsageError extends Data.TaggedError("UsageError")<{
  readonly message: string
}> {}

/** Ends the command with this exit code. What there is to say has been printed. */
export class ExitCode extends Data.TaggedError("ExitCode")<{ readonly code: number }> {}

/** The exit code of a command that succeeded, and found something for the operator to do. */
export const somethingToDo = 3
