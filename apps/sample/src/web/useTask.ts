/** Runs an Effect for a panel and provides its state. */
import { Effect, Exit, Fiber } from "effect"
import { useCallback, useRef, useState } from "react"
import type { Step } from "../Program.ts"
import { runtime, type Services } from "./Page.ts"
import * as Problem from "./Problem.ts"
import { Session } from "./Session.ts"

/** The state of a task. */
export type TaskState<A> =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Running" }
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Failed"; readonly problem: Problem.Problem }
  | { readonly _tag: "Cancelled" }

/** A task of a panel. It runs one Effect at a time. */
export interface Task<A> {
  readonly state: TaskState<A>
  readonly running: boolean
  /** Runs an Effect. Cancels the previous one. */
  readonly run: (effect: Effect.Effect<A, Problem.PageError, Services>) => void
  /** Shows a problem with the input, without running anything. */
  readonly reject: (message: string) => void
  readonly cancel: () => void
  /** Removes the problem that `reject` showed. Call it when the input changes. */
  readonly dismiss: () => void
  /** Cancels the running Effect and removes the result or the problem. */
  readonly reset: () => void
}

const idle = { _tag: "Idle" } as const

/** Makes a task. `step` is the step of the program whose errors it can have. */
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
        const problem = Problem.fromExit(step, exit)
        setState(problem === undefined ? { _tag: "Cancelled" } : { _tag: "Failed", problem })
        if (problem?.tag === "Unauthorized") {
          runtime.runFork(
            Effect.flatMap(Session, (session) =>
              step === "guardrail" ? session.removeManagementKey : session.tokenRejected
            )
          )
        }
      })
    },
    [step]
  )

  const reject = useCallback((message: string) => setState({ _tag: "Failed", problem: Problem.notSent(message) }), [])

  const cancel = useCallback(() => {
    if (current.current !== undefined) runtime.runFork(Fiber.interrupt(current.current))
  }, [])

  const dismiss = useCallback(
    () => setState((before) => (before._tag === "Failed" && Problem.isNotSent(before.problem) ? idle : before)),
    []
  )

  const reset = useCallback(() => {
    cancel()
    current.current = undefined
    setState(idle)
  }, [cancel])

  return { state, running: state._tag === "Running", run, reject, cancel, dismiss, reset }
}
