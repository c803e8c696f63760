/**
 * Starts and cancels an action, and shows how far it is. Its place is kept when nothing runs, so
 * that nothing jumps.
 */
import { useEffect, useRef } from "react"
import { SubmitButton } from "./SubmitButton.tsx"

interface Props {
  readonly label: string
  readonly running: boolean
  readonly onCancel: () => void
  /** What is happening or has happened, for the eye and for the ear. */
  readonly status: string
  /** From 0 to 1; undefined while nobody can tell. */
  readonly progress?: number | undefined
  /** What the bar measures. */
  readonly progressLabel: string
}

export const RunBar = ({ label, onCancel, progress, progressLabel, running, status }: Props) => {
  const run = useRef<HTMLButtonElement>(null)
  const cancel = useRef<HTMLButtonElement>(null)
  const cancelHadFocus = useRef(false)

  // A button that goes while it has the focus would leave a keyboard nowhere.
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
