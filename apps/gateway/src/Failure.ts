/** A failure that a person can mend: `message` is the one plain sentence that they get. */
import { Data } from "effect"

/** Ends the command with its sentence on stderr and exit code 1. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly message: string
}> {}
