/** The form that creates a key, and assigns it to a guardrail. */
import { useState } from "react"
import type { Payload } from "../../api/Contract.ts"
import { useChange, useIdempotencyKey } from "../../api/hooks.ts"
import { SelectField, TextField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { useGuardrails } from "../../parts/names.ts"
import { useScope } from "../../shell/navigation.ts"
import { WorkspaceField } from "../../shell/WorkspacePicker.tsx"
import {
  amountOf,
  emptyDraft,
  type KeyDraft,
  ManagementFields,
  NameAndExpiry,
  SpendingFields,
  timeOf
} from "./KeyFields.tsx"
import type { NewKey } from "./ShownKey.tsx"

type Request = Payload<"POST /keys">

const requestOf = (draft: KeyDraft, workspace: string, management: boolean, user: string): Request => ({
  name: draft.name,
  ...(workspace !== "" && { workspace_id: workspace }),
  ...(draft.expires !== "" && { expires_at: timeOf(draft.expires) }),
  ...(management
    ? {
        is_management_key: true,
        role: draft.role,
        ...(draft.workspaces.length > 0 && { workspace_ids: draft.workspaces })
      }
    : {
        limit: amountOf(draft.limit),
        ...(draft.limit !== "" && draft.reset !== "" && { limit_reset: draft.reset }),
        include_byok_in_limit: draft.countsProviderKeys,
        is_free_tier: draft.isFreeTier,
        ...(user !== "" && { external: { user } })
      })
})

export const CreateKey = ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (key: NewKey) => void
}) => {
  const { workspace: chosen } = useScope()
  const guardrails = useGuardrails().data?.data ?? []
  const create = useChange("POST /keys")
  const assign = useChange("POST /guardrails/:id/assignments/keys")
  const idempotencyKey = useIdempotencyKey()
  const [draft, setDraft] = useState(emptyDraft)
  const [kind, setKind] = useState<"ordinary" | "management">("ordinary")
  const [workspace, setWorkspace] = useState(chosen ?? "")
  const [guardrail, setGuardrail] = useState("")
  const [user, setUser] = useState("")
  const set = (change: Partial<KeyDraft>) => setDraft({ ...draft, ...change })
  const isManagement = kind === "management"
  const fields = { draft, set, error: create.error }

  /** The key exists by now. If it cannot be assigned, the person gets it all the same. */
  const assigned = async (hash: string): Promise<Pick<NewKey, "guardrail" | "problem">> => {
    const found = guardrails.find(({ id }) => id === guardrail)
    if (isManagement || found === undefined) return {}
    try {
      await assign.mutateAsync({ params: { id: found.id }, payload: { key_hashes: [hash] } })
      return { guardrail: found }
    } catch (problem) {
      return { problem: problem instanceof Error ? problem : new Error(String(problem)) }
    }
  }

  /** Fails if the key was not created, which the form shows. */
  const submit = async () => {
    const payload = requestOf(draft, workspace, isManagement, user)
    const { data: record, key: text } = await create.mutateAsync({ payload, idempotencyKey: idempotencyKey(payload) })
    onCreated({ record, text, ...(await assigned(record.hash)) })
  }

  return (
    <FormDialog
      title="Create key"
      action="Create key"
      change={{ isPending: create.isPending || assign.isPending, error: create.error }}
      onSubmit={() => void submit().catch(() => {})}
      onClose={onClose}
    >
      <NameAndExpiry {...fields} />
      <div className="columns">
        <SelectField
          label="Kind"
          name="is_management_key"
          value={kind}
          options={[
            ["ordinary", "Ordinary: sends requests"],
            ["management", "Management: only manages"]
          ]}
          onChange={setKind}
        />
        <WorkspaceField value={workspace} onChange={setWorkspace} error={create.error} />
      </div>
      {isManagement ? (
        <ManagementFields {...fields} />
      ) : (
        <>
          <SpendingFields {...fields} />
          <div className="columns">
            <SelectField
              label="Guardrail"
              name="guardrail"
              value={guardrail}
              options={[["", "None"] as const, ...guardrails.map(({ id, name }) => [id, name] as const)]}
              onChange={setGuardrail}
            />
            <TextField
              label="End user"
              name="external"
              value={user}
              onChange={setUser}
              error={create.error}
              hint="Whom the key is for, as your own system names them."
            />
          </div>
        </>
      )}
    </FormDialog>
  )
}
