/** An error that the user can fix. `message` says what is wrong and what to do. */
import { Data } from "effect"

/** Ends the command with `message` on stderr and exit code 1. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly message: string
}> {}

/** Ends the command with this exit code. What there is to say has been printed. */
export class ExitCode extends Data.TaggedError("ExitCode")<{ readonly code: number }> {}
