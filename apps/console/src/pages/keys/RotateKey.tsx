/** Gives a key a new secret, and the one before a time of grace. */
import { useState } from "react"
import { useChange, useIdempotencyKey } from "../../api/hooks.ts"
import { SelectField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import type { Key } from "./Key.tsx"
import type { NewKey } from "./ShownKey.tsx"

const graces = [
  ["0", "Nothing: it ends at once"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"]
] as const

export const RotateKey = ({
  of: key,
  onClose,
  onRotated
}: {
  readonly of: Key
  readonly onClose: () => void
  readonly onRotated: (key: NewKey) => void
}) => {
  const [grace, setGrace] = useState<(typeof graces)[number][0]>("86400")
  const rotate = useChange("POST /keys/:hash/rotate")
  const idempotencyKey = useIdempotencyKey()
  const submit = () => {
    const payload = { grace_seconds: Number(grace) }
    rotate.mutate(
      { params: { hash: key.hash }, payload, idempotencyKey: idempotencyKey(payload) },
      {
        onSuccess: ({ data: record, key: text, previous_expires_at: previousExpiresAt }) =>
          onRotated({ record, text, previousExpiresAt })
      }
    )
  }
  return (
    <FormDialog
      title={`Rotate key ${key.name}`}
      action="Rotate key"
      change={rotate}
      dangerous={grace === "0"}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>
        The key gets a new secret, which is shown once. Its hash, usage, limits, guardrail and files stay. A secret that
        an earlier rotation still accepts ends at once.
      </p>
      <SelectField
        label="How long the present secret is still accepted"
        name="grace_seconds"
        value={grace}
        options={graces}
        onChange={setGrace}
        error={rotate.error}
        hint={
          grace === "0"
            ? "Right for a secret that leaked. Programs that use it stop working at once."
            : "Give your programs the new secret in this time."
        }
      />
    </FormDialog>
  )
}
