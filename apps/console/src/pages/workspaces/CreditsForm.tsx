/** Adds credits to a workspace, or takes away what was added by mistake. */
import { useState } from "react"
import { useChange, useIdempotencyKey } from "../../api/hooks.ts"
import { TextField } from "../../parts/Fields.tsx"
import { credits } from "../../parts/format.ts"
import { FormDialog } from "../../parts/FormDialog.tsx"
import type { Workspace } from "./WorkspaceForm.tsx"

export const CreditsForm = ({
  of,
  onClose,
  way
}: {
  readonly of: Workspace
  readonly way: "add" | "correct"
  readonly onClose: () => void
}) => {
  const [amount, setAmount] = useState("")
  const [note, setNote] = useState("")
  const add = useChange("POST /workspaces/:id/credits")
  const idempotencyKey = useIdempotencyKey()
  const corrects = way === "correct"
  const change = corrects ? -Number(amount) : Number(amount)
  const isValid = amount !== "" && Number(amount) > 0 && (!corrects || note.trim() !== "")
  const submit = () => {
    const payload = { amount: change, ...(note.trim() !== "" && { note: note.trim() }) }
    add.mutate({ params: { id: of.id }, payload, idempotencyKey: idempotencyKey(payload) }, { onSuccess: onClose })
  }
  return (
    <FormDialog
      title={corrects ? `Correct the credits of ${of.name}` : `Add credits to ${of.name}`}
      action={corrects ? "Take away" : "Add credits"}
      dangerous={corrects}
      change={add}
      disabled={!isValid}
      onSubmit={submit}
      onClose={onClose}
    >
      {corrects && (
        <p>Takes away what was added by mistake. The balance may go below 0. The ledger keeps both entries.</p>
      )}
      <TextField
        label={corrects ? "Credits to take away" : "Credits to add"}
        name="amount"
        type="number"
        value={amount}
        onChange={setAmount}
        error={add.error}
        required
        autoFocus
        hint={
          isValid
            ? `${credits(of.credits)} now, ${credits(of.credits + change)} afterwards. 1 credit is 1 USD.`
            : `${credits(of.credits)} now. 1 credit is 1 USD.`
        }
      />
      <TextField
        label="Note"
        name="note"
        value={note}
        onChange={setNote}
        error={add.error}
        required={corrects}
        hint="For the ledger, such as the number of an invoice."
      />
    </FormDialog>
  )
}
