/** A form in a dialog, and the dialog that asks before something is deleted. */
import { type ReactNode, useState } from "react"
import { Dialog } from "./Dialog.tsx"
import { TextField } from "./Fields.tsx"
import { Problem } from "./Problem.tsx"

interface Change {
  readonly isPending: boolean
  readonly error: Error | null
}

export const FormDialog = ({
  action,
  change,
  children,
  dangerous = false,
  disabled = false,
  onClose,
  onSubmit,
  title
}: {
  readonly title: string
  /** The words of the button, such as "Create key". */
  readonly action: string
  readonly change: Change
  readonly dangerous?: boolean
  readonly disabled?: boolean
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}) => (
  <Dialog title={title} onClose={onClose}>
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (!change.isPending) onSubmit()
      }}
    >
      {children}
      {change.error !== null && <Problem what={`"${action}" failed`} error={change.error} />}
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className={dangerous ? "danger" : "primary"} disabled={disabled || change.isPending}>
          {change.isPending ? "Working …" : action}
        </button>
      </footer>
    </form>
  </Dialog>
)

/** Asks for the name of what is deleted. */
export const DeleteDialog = ({
  change,
  children,
  name,
  onClose,
  onDelete,
  what
}: {
  /** What it is, such as "key". */
  readonly what: string
  readonly name: string
  readonly change: Change
  readonly onDelete: () => void
  readonly onClose: () => void
  /** What the deletion does. */
  readonly children: ReactNode
}) => {
  const [typed, setTyped] = useState("")
  return (
    <FormDialog
      title={`Delete ${what} ${name}`}
      action={`Delete ${what}`}
      dangerous
      disabled={typed !== name}
      change={change}
      onSubmit={onDelete}
      onClose={onClose}
    >
      <div className="form">{children}</div>
      <TextField label={`Type ${name} to confirm`} name="confirm" value={typed} onChange={setTyped} autoFocus />
    </FormDialog>
  )
}
