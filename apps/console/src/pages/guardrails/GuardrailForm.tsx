/** The form that creates or changes a guardrail, with a preview of who loses what. */
import { useState } from "react"
import type { Item, Payload } from "../../api/Contract.ts"
import { useChange, useRead } from "../../api/hooks.ts"
import { DescriptionField, NameField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { type LimitDraft, LimitFields } from "../../parts/LimitFields.tsx"
import { useScope } from "../../shell/navigation.ts"
import { WorkspaceField } from "../../shell/WorkspacePicker.tsx"
import { amountOf } from "../keys/KeyFields.tsx"
import { Losses } from "./Losses.tsx"
import { type Choice, ModelPicker, ProviderPicker } from "./Picker.tsx"
import type { Restriction } from "./restriction.ts"

export type Guardrail = Item<"GET /guardrails">

interface Draft extends LimitDraft {
  readonly name: string
  readonly description: string
  readonly models: Choice
  readonly providers: Choice
}

const empty: Draft = {
  name: "",
  description: "",
  limit: "",
  reset: "monthly",
  models: { allowed: null, ignored: [] },
  providers: { allowed: null, ignored: [] }
}

const draftOf = (guardrail: Guardrail): Draft => ({
  name: guardrail.name,
  description: guardrail.description ?? "",
  limit: guardrail.limit_usd === null ? "" : String(guardrail.limit_usd),
  reset: guardrail.reset_interval ?? "",
  models: { allowed: guardrail.allowed_models, ignored: guardrail.ignored_models ?? [] },
  providers: { allowed: guardrail.allowed_providers, ignored: guardrail.ignored_providers ?? [] }
})

const orNull = (entries: ReadonlyArray<string>) => (entries.length === 0 ? null : entries)

const restrictionOf = ({ models, providers }: Draft): Restriction => ({
  allowed_models: models.allowed,
  ignored_models: orNull(models.ignored),
  allowed_providers: providers.allowed,
  ignored_providers: orNull(providers.ignored)
})

const requestOf = (draft: Draft): Payload<"POST /guardrails"> => ({
  name: draft.name,
  description: draft.description === "" ? null : draft.description,
  limit_usd: amountOf(draft.limit),
  reset_interval: draft.reset === "" ? null : draft.reset,
  ...restrictionOf(draft)
})

const Fields = ({
  draft,
  error,
  set
}: {
  readonly draft: Draft
  readonly error: Error | null
  readonly set: (change: Partial<Draft>) => void
}) => (
  <>
    <NameField draft={draft} error={error} set={set} />
    <DescriptionField draft={draft} error={error} set={set} />
    <LimitFields
      label="Limit of all its keys together, in credits"
      names={["limit_usd", "reset_interval"]}
      draft={draft}
      set={set}
      error={error}
      hint="Empty: no limit."
    />
    <ModelPicker value={draft.models} change={(models) => set({ models })} error={error} />
    <ProviderPicker value={draft.providers} change={(providers) => set({ providers })} error={error} />
  </>
)

export const CreateGuardrail = ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}) => {
  const { workspace: chosen } = useScope()
  const [draft, setDraft] = useState(empty)
  const [workspace, setWorkspace] = useState(chosen ?? "")
  const create = useChange("POST /guardrails")
  return (
    <FormDialog
      title="Create guardrail"
      action="Create guardrail"
      change={create}
      onSubmit={() =>
        create.mutate(
          { payload: { ...requestOf(draft), ...(workspace !== "" && { workspace_id: workspace }) } },
          { onSuccess: ({ data }) => onCreated(data.id) }
        )
      }
      onClose={onClose}
    >
      <Fields draft={draft} error={create.error} set={(change) => setDraft({ ...draft, ...change })} />
      <WorkspaceField
        label="Listed in the workspace"
        value={workspace}
        onChange={setWorkspace}
        error={create.error}
        hint="Keys of any workspace can be assigned to it."
      />
    </FormDialog>
  )
}

export const EditGuardrail = ({ of, onClose }: { readonly of: Guardrail; readonly onClose: () => void }) => {
  const [before] = useState(() => draftOf(of))
  const [draft, setDraft] = useState(before)
  const change = useChange("PATCH /guardrails/:id")
  const keys = useRead("GET /guardrails/:id/assignments/keys", { params: { id: of.id }, query: { limit: 100 } })
  const after = restrictionOf(draft)
  const isRestricted = JSON.stringify(after) !== JSON.stringify(restrictionOf(before))
  const affected = keys.data?.data.map(({ key_hash, key_name }) => ({ hash: key_hash, name: key_name, before: of }))
  return (
    <FormDialog
      title={`Edit guardrail ${of.name}`}
      action="Save"
      change={change}
      disabled={JSON.stringify(draft) === JSON.stringify(before)}
      onSubmit={() => change.mutate({ params: { id: of.id }, payload: requestOf(draft) }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Fields draft={draft} error={change.error} set={(some) => setDraft({ ...draft, ...some })} />
      {isRestricted && affected !== undefined && affected.length > 0 && (
        <Losses keys={affected} after={after} total={keys.data?.total_count ?? affected.length} />
      )}
    </FormDialog>
  )
}
