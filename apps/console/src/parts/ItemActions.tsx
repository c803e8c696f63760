/** The buttons for an item: edit, switch on and off, test, delete. Each one is optional. */
import { type ReactNode, useState } from "react"
import { DeleteDialog } from "./FormDialog.tsx"
import { Problem } from "./Problem.tsx"

interface Change {
  readonly isPending: boolean
  readonly error: Error | null
}

export const ItemActions = ({
  children,
  deletion,
  edit,
  name,
  switching,
  test,
  tested,
  what
}: {
  /** What it is, such as "alert". */
  readonly what: string
  readonly name: string
  /** The form that changes it. */
  readonly edit?: ((close: () => void) => ReactNode) | false
  /** Switches it on or off. */
  readonly switching?: (Change & { readonly label: string; readonly run: () => void }) | false
  readonly test?: Change & { readonly label: string; readonly running: string; readonly run: () => void }
  /** The result of the last test. */
  readonly tested?: ReactNode
  /** `effect` is what the deletion does. */
  readonly deletion?: { readonly change: Change; readonly run: () => void; readonly effect: ReactNode } | false
  /** Other buttons. */
  readonly children?: ReactNode
}) => {
  const [open, setOpen] = useState<"edit" | "delete">()
  const close = () => setOpen(undefined)
  return (
    <>
      <div className="bar">
        {children}
        {edit && (
          <button type="button" onClick={() => setOpen("edit")}>
            Edit
          </button>
        )}
        {switching && (
          <button type="button" disabled={switching.isPending} onClick={switching.run}>
            {switching.label}
          </button>
        )}
        {test && (
          <button type="button" disabled={test.isPending} onClick={test.run}>
            {test.isPending ? test.running : test.label}
          </button>
        )}
        {deletion && (
          <button type="button" className="danger end" onClick={() => setOpen("delete")}>
            Delete
          </button>
        )}
      </div>
      {test && <div role="status">{tested}</div>}
      {switching && switching.error !== null && (
        <Problem what={`The ${what} was not changed`} error={switching.error} />
      )}
      {test && test.error !== null && <Problem what={`The ${what} was not tested`} error={test.error} />}
      {open === "edit" && edit && edit(close)}
      {open === "delete" && deletion && (
        <DeleteDialog what={what} name={name} change={deletion.change} onDelete={deletion.run} onClose={close}>
          {deletion.effect}
        </DeleteDialog>
      )}
    </>
  )
}
