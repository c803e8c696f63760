/** Stores a provider key, or changes it. */
import { useState } from "react"
import { useChange, useRead } from "../../api/hooks.ts"
import { AreaField, CheckField, SelectField, TextField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { KeyChoice } from "../../parts/KeyChoice.tsx"
import { type Draft, draftOf, emptyDraft, fieldsOf, type ProviderKey, uses } from "./draft.ts"

/** The models of a provider, with or without a credential of the gateway. */
const useModels = (provider: string): ReadonlyArray<string> => {
  const { data } = useRead("GET /providers/health")
  const models = data?.data.filter((endpoint) => endpoint.provider === provider).map(({ model }) => model) ?? []
  return [...new Set(models)].toSorted()
}

const ModelChoice = ({
  models,
  onChange,
  provider
}: {
  readonly provider: string
  readonly models: ReadonlyArray<string>
  readonly onChange: (models: ReadonlyArray<string>) => void
}) => {
  const known = useModels(provider)
  const all = [...known, ...models.filter((model) => !known.includes(model))]
  return (
    <fieldset className="choices">
      <legend>Models that it is for</legend>
      <p className="hint">{models.length === 0 ? "None is chosen: all models." : `${models.length} chosen.`}</p>
      {all.map((model) => (
        <CheckField
          key={model}
          label={model}
          checked={models.includes(model)}
          onChange={(chosen) => onChange(chosen ? [...models, model] : models.filter((other) => other !== model))}
        />
      ))}
    </fieldset>
  )
}

const Fields = ({
  draft,
  error,
  isNew,
  set,
  workspace
}: {
  readonly draft: Draft
  readonly error: Error | null
  readonly isNew: boolean
  readonly set: (change: Partial<Draft>) => void
  readonly workspace: string | undefined
}) => (
  <>
    <TextField
      label={isNew ? "Key of the provider" : "New key of the provider (optional)"}
      name="key"
      type="password"
      value={draft.secret}
      onChange={(secret) => set({ secret })}
      error={error}
      required={isNew}
      hint={isNew ? "It is stored encrypted and never shown again." : "Empty: the present key stays."}
    />
    <TextField
      label="Name (optional)"
      name="name"
      value={draft.name}
      onChange={(name) => set({ name })}
      error={error}
    />
    <SelectField
      label="When it is used"
      name="is_fallback"
      value={draft.use}
      options={uses}
      onChange={(use) => set({ use })}
      error={error}
    />
    <SelectField
      label="The account has zero data retention"
      name="declared_zdr"
      value={draft.zdr}
      options={[
        ["", "Not known"],
        ["yes", "Yes"],
        ["no", "No: do not use it for requests that ask for it"]
      ]}
      onChange={(zdr) => set({ zdr })}
      error={error}
    />
    <ModelChoice provider={draft.provider} models={draft.models} onChange={(models) => set({ models })} />
    <KeyChoice
      legend="API keys that may use it"
      hashes={draft.keys}
      workspace={workspace}
      onChange={(keys) => set({ keys })}
    />
    <AreaField
      label="Users whose keys may use it (optional)"
      name="allowed_user_ids"
      rows={2}
      value={draft.users}
      onChange={(users) => set({ users })}
      error={error}
      hint="One a line. Empty: all."
    />
  </>
)

export const CreateProviderKey = ({
  onClose,
  workspace
}: {
  readonly workspace: { readonly id: string; readonly name: string }
  readonly onClose: () => void
}) => {
  const [draft, setDraft] = useState(emptyDraft)
  const create = useChange("POST /byok")
  const health = useRead("GET /providers/health")
  const providers = [...new Set(health.data?.data.map(({ provider }) => provider))].toSorted()
  return (
    <FormDialog
      title={`New provider key of the workspace ${workspace.name}`}
      action="Store provider key"
      change={create}
      disabled={draft.provider === "" || draft.secret.trim() === ""}
      onSubmit={() =>
        create.mutate(
          {
            payload: {
              ...fieldsOf(draft),
              provider: draft.provider,
              key: draft.secret.trim(),
              workspace_id: workspace.id
            }
          },
          { onSuccess: onClose }
        )
      }
      onClose={onClose}
    >
      <p>Requests of the workspace use it at its provider, which bills the owner of the key. They cost no credits.</p>
      <SelectField
        label="Provider"
        name="provider"
        value={draft.provider}
        options={[["", "Choose a provider"], ...providers.map((name) => [name, name] as const)]}
        onChange={(provider) => setDraft({ ...draft, provider, models: [] })}
        error={create.error}
      />
      <Fields
        draft={draft}
        error={create.error}
        isNew
        workspace={workspace.id}
        set={(change) => setDraft({ ...draft, ...change })}
      />
    </FormDialog>
  )
}

export const EditProviderKey = ({ of: key, onClose }: { readonly of: ProviderKey; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(key))
  const update = useChange("PATCH /byok/:id")
  return (
    <FormDialog
      title={`Edit ${key.name ?? key.label}`}
      action="Save"
      change={update}
      onSubmit={() => update.mutate({ params: { id: key.id }, payload: fieldsOf(draft) }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Fields
        draft={draft}
        error={update.error}
        isNew={false}
        workspace={key.workspace_id ?? undefined}
        set={(change) => setDraft({ ...draft, ...change })}
      />
    </FormDialog>
  )
}
