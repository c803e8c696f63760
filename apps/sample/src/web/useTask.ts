/** Runs an Effect for a panel, and tells how it stands. */
import { Effect, Exit, Fiber } from "effect"
import { useCallback, useRef, useState } from "react"
import type { Step } from "../Program.ts"
import { runtime, type Services } from "./Page.ts"
import * as Problem from "./Problem.ts"
import { Session } from "./Session.ts"

/** How it stands. */
export type TaskState<A> =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Running" }
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Failed"; readonly problem: Problem.Problem }
  | { readonly _tag: "Cancelled" }

/** A task that one panel runs, one at a time. */
export interface Task<A> {
  readonly state: TaskState<A>
  readonly running: boolean
  /** Ends what ran before. */
  readonly run: (effect: Effect.Effect<A, Problem.PageError, Services>) => void
  /** What is wrong before anything runs. */
  readonly refuse: (sentence: string) => void
  readonly cancel: () => void
  /** Takes back what `refuse` said, since the reason may be gone. */
  readonly dismiss: () => void
  /** Cancels what runs, and forgets the result or the problem. */
  readonly reset: () => void
}

const idle = { _tag: "Idle" } as const

/** `step` is what it is of the program's steps, as errors are explained by it. */
export const useTask = <A>(step: Step): Task<A> => {
  const [state, setState] = useState<TaskState<A>>(idle)
  const current = useRef<Fiber.Fiber<A, Problem.PageError> | undefined>(undefined)

  const run = useCallback(
    (effect: Effect.Effect<A, Problem.PageError, Services>) => {
      const before = current.current
      setState({ _tag: "Running" })
      const fiber = runtime.runFork(before === undefined ? effect : Effect.andThen(Fiber.interrupt(before), effect))
      current.current = fiber
      fiber.addObserver((exit) => {
        if (current.current !== fiber) return
        if (Exit.isSuccess(exit)) return setState({ _tag: "Done", value: exit.value })
        const problem = Problem.ofExit(step, exit)
        setState(problem === undefined ? { _tag: "Cancelled" } : { _tag: "Failed", problem })
        if (problem?.tag === "Unauthorized") {
          runtime.runFork(
            Effect.flatMap(Session, (session) => (step === "guardrail" ? session.unmanage : session.refused))
          )
        }
      })
    },
    [step]
  )

  const refuse = useCallback((sentence: string) => setState({ _tag: "Failed", problem: Problem.local(sentence) }), [])

  const cancel = useCallback(() => {
    if (current.current !== undefined) runtime.runFork(Fiber.interrupt(current.current))
  }, [])

  const dismiss = useCallback(
    () => setState((before) => (before._tag === "Failed" && Problem.isLocal(before.problem) ? idle : before)),
    []
  )

  const reset = useCallback(() => {
    cancel()
    current.current = undefined
    setState(idle)
  }, [cancel])

  return { state, running: state._tag === "Running", run, refuse, cancel, dismiss, reset }
}
