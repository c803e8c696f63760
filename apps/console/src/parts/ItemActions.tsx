/** What can be done with an item that works in the background: change, switch, test, delete. */
import { type ReactNode, useState } from "react"
import { DeleteDialog } from "./FormDialog.tsx"
import { Problem } from "./Problem.tsx"

interface Change {
  readonly isPending: boolean
  readonly error: Error | null
}

export const ItemActions = ({
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
  readonly edit: (close: () => void) => ReactNode
  /** Switches it on or off. */
  readonly switching: Change & { readonly label: string; readonly run: () => void }
  readonly test: Change & { readonly label: string; readonly running: string; readonly run: () => void }
  /** The result of the last test. */
  readonly tested: ReactNode
  /** `effect` is what the deletion does. */
  readonly deletion: { readonly change: Change; readonly run: () => void; readonly effect: ReactNode }
}) => {
  const [open, setOpen] = useState<"edit" | "delete">()
  const close = () => setOpen(undefined)
  return (
    <>
      <div className="bar">
        <button type="button" onClick={() => setOpen("edit")}>
          Change
        </button>
        <button type="button" disabled={switching.isPending} onClick={switching.run}>
          {switching.label}
        </button>
        <button type="button" disabled={test.isPending} onClick={test.run}>
          {test.isPending ? test.running : test.label}
        </button>
        <span className="end">
          <button type="button" className="danger" onClick={() => setOpen("delete")}>
            Delete
          </button>
        </span>
      </div>
      <div role="status">{tested}</div>
      {switching.error !== null && <Problem what={`The ${what} was not changed`} error={switching.error} />}
      {test.error !== null && <Problem what={`The ${what} was not tested`} error={test.error} />}
      {open === "edit" && edit(close)}
      {open === "delete" && (
        <DeleteDialog what={what} name={name} change={deletion.change} onDelete={deletion.run} onClose={close}>
          {deletion.effect}
        </DeleteDialog>
      )}
    </>
  )
}
