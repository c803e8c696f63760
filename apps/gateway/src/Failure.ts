/** An error that the user can fix. `message` says what is wrong and what to do. */
import { Data } from "effect"

/** Ends the command with `message` on stderr and exit code 1. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly message: string
}> {}
