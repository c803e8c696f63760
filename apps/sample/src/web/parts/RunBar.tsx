/**
 * Starts and cancels a task and shows its progress. Its space is reserved while nothing runs, so
 * that the layout does not shift.
 */
import { useEffect, useRef } from "react"
import { SubmitButton } from "./SubmitButton.tsx"

interface Props {
  readonly label: string
  readonly running: boolean
  readonly onCancel: () => void
  /** The status as text. Screen readers announce it. */
  readonly status: string
  /** From 0 to 1. Undefined: unknown. */
  readonly progress?: number | undefined
  /** The label of the progress bar. */
  readonly progressLabel: string
}

export const RunBar = ({ label, onCancel, progress, progressLabel, running, status }: Props) => {
  const run = useRef<HTMLButtonElement>(null)
  const cancel = useRef<HTMLButtonElement>(null)
  const cancelHadFocus = useRef(false)

  // When the focused Cancel button disappears, move the focus, so that it is not lost.
  useEffect(() => {
    if (!running && cancelHadFocus.current) run.current?.focus()
    cancelHadFocus.current = false
  }, [running])

  return (
    <div className="runbar">
      <div className="runbar-buttons">
        <SubmitButton ref={run} className="primary" busy={running}>
          {label}
        </SubmitButton>
        <button
          ref={cancel}
          type="button"
          hidden={!running}
          onClick={() => {
            cancelHadFocus.current = true
            onCancel()
          }}
          onBlur={(event) => {
            if (event.relatedTarget !== null) cancelHadFocus.current = false
          }}
          onFocus={() => (cancelHadFocus.current = true)}
        >
          Cancel
        </button>
        <p className="runbar-status" role="status">
          {status}
        </p>
      </div>
      <div className="runbar-track">
        {running ? <progress aria-label={progressLabel} value={progress} max={1} /> : null}
      </div>
    </div>
  )
}
