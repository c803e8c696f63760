/** Gives a workspace another secret for its webhooks. */
import { useState } from "react"
import { useChange } from "../../api/hooks.ts"
import { SelectField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { SecretDialog } from "../../parts/SecretDialog.tsx"
import { Time } from "../../parts/Time.tsx"

const graces = [
  ["0", "Not at all: it ends at once"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"]
] as const

export const RotateSecret = ({
  onClose,
  workspace
}: {
  readonly workspace: { readonly id: string; readonly name: string }
  readonly onClose: () => void
}) => {
  const [grace, setGrace] = useState<(typeof graces)[number][0]>("86400")
  const rotate = useChange("POST /workspaces/:id/webhook-secret/rotate")
  if (rotate.data !== undefined) {
    const { previous_expires_at, secret } = rotate.data.data
    return (
      <SecretDialog title={`Webhook secret of ${workspace.name}`} secret={secret} onClose={onClose}>
        <p>Copy it now: it cannot be shown again. Give it to the programs that receive the webhooks.</p>
        {previous_expires_at !== null && (
          <p>
            The secret before it signs too, until <Time at={previous_expires_at} /> UTC.
          </p>
        )}
      </SecretDialog>
    )
  }
  return (
    <FormDialog
      title={`Rotate the webhook secret of ${workspace.name}`}
      action="Rotate the secret"
      change={rotate}
      dangerous={grace === "0"}
      onSubmit={() => rotate.mutate({ params: { id: workspace.id }, payload: { keep_previous_for: Number(grace) } })}
      onClose={onClose}
    >
      <p>
        All webhooks of the workspace are signed with the new secret from now on. It is shown once. In the time of grace
        they are signed with both, so that receivers can be changed one after the other.
      </p>
      <SelectField
        label="How long the present secret signs too"
        name="keep_previous_for"
        value={grace}
        options={graces}
        onChange={setGrace}
        error={rotate.error}
        hint={grace === "0" ? "Receivers that know only the present secret refuse the webhooks at once." : undefined}
      />
    </FormDialog>
  )
}
