// A React hook over Streams of the client: the progress of an upload, or the states of a job. When
// the component is removed, the Stream is interrupted, which aborts its request.
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { useCallback, useEffect, useRef, useState } from "react"

export interface Run<Args extends ReadonlyArray<unknown>, A> {
  /** The last element of the Stream. */
  readonly latest: A | undefined
  /** Why it failed. Undefined if it was canceled. */
  readonly error: Error | undefined
  readonly isRunning: boolean
  /** Starts the Stream. Interrupts the one before. */
  readonly start: (...args: Args) => void
  readonly cancel: () => void
}

const idle = { latest: undefined, error: undefined, isRunning: false } as const

const toError = (cause: Cause.Cause<unknown>): Error | undefined => {
  if (Cause.hasInterruptsOnly(cause)) return undefined
  const error = Cause.squash(cause)
  return error instanceof Error ? error : new Error(String(error))
}

/** `make` must be the same function in each render: declare it outside, or with `useCallback`. */
export const useStream = <Args extends ReadonlyArray<unknown>, A, E, R, LayerError>(
  runtime: ManagedRuntime.ManagedRuntime<R, LayerError>,
  make: (...args: Args) => Stream.Stream<A, E, R>
): Run<Args, A> => {
  const [state, setState] = useState<Omit<Run<Args, A>, "start" | "cancel">>(idle)
  const current = useRef<Fiber.Fiber<void, E | LayerError> | undefined>(undefined)

  const stop = useCallback(() => {
    const fiber = current.current
    current.current = undefined
    if (fiber !== undefined) Effect.runFork(Fiber.interrupt(fiber))
  }, [])

  const start = useCallback(
    (...args: Args) => {
      stop()
      setState({ ...idle, isRunning: true })
      const show = (latest: A) => Effect.sync(() => setState({ latest, error: undefined, isRunning: true }))
      const fiber = runtime.runFork(Stream.runForEach(make(...args), show))
      current.current = fiber
      fiber.addObserver((exit) => {
        // A Stream that was started later, or a component that is gone, shows nothing of this one.
        if (current.current !== fiber) return
        const error = Exit.isSuccess(exit) ? undefined : toError(exit.cause)
        setState(({ latest }) => ({ latest, error, isRunning: false }))
      })
    },
    [runtime, make, stop]
  )

  const cancel = useCallback(() => {
    stop()
    setState(({ latest }) => ({ latest, error: undefined, isRunning: false }))
  }, [stop])

  useEffect(() => stop, [stop])

  return { ...state, start, cancel }
}
