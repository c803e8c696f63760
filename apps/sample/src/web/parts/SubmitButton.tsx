/** Submits a form. Ignores clicks while the task runs, and the second click of a double click. */
import type { ReactNode, RefObject } from "react"

interface Props {
  readonly busy: boolean
  readonly children: ReactNode
  readonly className?: string
  readonly ref?: RefObject<HTMLButtonElement | null>
}

export const SubmitButton = ({ busy, children, ...rest }: Props) => (
  <button
    {...rest}
    type="submit"
    aria-disabled={busy}
    onClick={(event) => {
      // A quick task ends before the second click of a double click. `detail` counts clicks.
      if (busy || event.detail > 1) event.preventDefault()
    }}
  >
    {children}
  </button>
)
