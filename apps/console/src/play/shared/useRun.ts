/** Runs a request of a task, one at a time, and keeps what came of it. */
import { useCallback, useEffect, useRef, useState } from "react"
import { onSignOut } from "./access.ts"
import { type Call, type Exchange, exchange, NoKey } from "./exchange.ts"
import * as History from "./history.ts"
import type { Form, Task } from "./link.ts"

/** A finished run. */
export interface Outcome {
  readonly exchange: Exchange
  /** What was run, to see whether the form has changed since. */
  readonly input: string
  readonly form: Form
}

export interface Run {
  readonly isRunning: boolean
  readonly outcome: Outcome | undefined
  readonly isCanceled: boolean
  /** Runs a request. Without a key, it says so at the field of the key. */
  readonly start: (call: Call, form: Form) => Promise<Exchange | undefined>
  readonly cancel: () => void
  /** Removes the result. */
  readonly reset: () => void
}

/** The page shows the field of the key when this event arrives. */
export const keyWanted = "model-gateway-key-wanted"

/** Two forms are the same if this text is. */
export const fingerprint = (form: Form): string => JSON.stringify(form)

export const useRun = (task: Task): Run => {
  const [outcome, setOutcome] = useState<Outcome>()
  const [isRunning, setRunning] = useState(false)
  const [isCanceled, setCanceled] = useState(false)
  const running = useRef<AbortController>(undefined)

  const cancel = useCallback(() => running.current?.abort(), [])

  const reset = useCallback(() => {
    running.current?.abort()
    running.current = undefined
    setOutcome(undefined)
    setRunning(false)
    setCanceled(false)
  }, [])

  useEffect(() => onSignOut(reset), [reset])

  const start = useCallback(
    async (call: Call, form: Form) => {
      running.current?.abort()
      const controller = new AbortController()
      running.current = controller
      setRunning(true)
      setCanceled(false)
      try {
        const done = await exchange(call, controller.signal)
        if (running.current !== controller) return undefined
        setOutcome({ exchange: done, input: fingerprint(form), form })
        void History.add(task, form, done)
        return done
      } catch (error) {
        if (error instanceof NoKey) dispatchEvent(new Event(keyWanted))
        else if (running.current === controller) setCanceled(true)
        return undefined
      } finally {
        if (running.current === controller) setRunning(false)
      }
    },
    [task]
  )

  return { isRunning, outcome, isCanceled, start, cancel, reset }
}
