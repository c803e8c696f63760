/** Creates an alert from a template, or changes one. */
import { useState } from "react"
import { useChange, useOffsetPages, useRead } from "../../api/hooks.ts"
import { SelectField, TextField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { useGuardrails } from "../../parts/names.ts"
import { WorkspaceField } from "../../shell/WorkspacePicker.tsx"
import { type Draft, draftOf, fieldsOf, templateOf } from "./draft.ts"
import { type Alert, kindNames, kinds } from "./kinds.tsx"

interface Part {
  readonly draft: Draft
  readonly error: Error | null
  readonly set: (change: Partial<Draft>) => void
}

const KeyField = ({ draft, error, set }: Part) => {
  const keys = useOffsetPages("GET /keys", { query: { limit: 100 } }).rows ?? []
  const unknown = draft.key !== "" && !keys.some(({ hash }) => hash === draft.key)
  return (
    <SelectField
      label="Key"
      name="key_hash"
      value={draft.key}
      options={[
        ["", draft.kind === "key_expires" ? "Any key" : "No key"],
        ...keys.map(({ hash, name }) => [hash, name] as const),
        ...(unknown ? [[draft.key, draft.key] as const] : [])
      ]}
      onChange={(key) => set({ key })}
      error={error}
    />
  )
}

const GuardrailField = ({ draft, error, set }: Part) => {
  const guardrails = useGuardrails().data?.data ?? []
  return (
    <SelectField
      label="Or guardrail"
      name="guardrail_id"
      value={draft.guardrail}
      options={[["", "No guardrail"], ...guardrails.map(({ id, name }) => [id, name] as const)]}
      onChange={(guardrail) => set({ guardrail })}
      error={error}
    />
  )
}

const ModelFields = ({ draft, error, set }: Part) => {
  const models = useRead("GET /models").data?.data ?? []
  const providers = models.find(({ id }) => id === draft.model)?.providers ?? []
  return (
    <>
      <SelectField
        label="Model"
        name="model"
        value={draft.model}
        options={[
          ["", draft.kind === "circuit_open" ? "Choose a model" : "All models"],
          ...[...new Set(models.map(({ id }) => id))].map((id) => [id, id] as const)
        ]}
        onChange={(model) => set({ model, provider: "" })}
        error={error}
      />
      {draft.kind === "circuit_open" && (
        <SelectField
          label="Provider"
          name="provider"
          value={draft.provider}
          options={[["", "Any provider of the model"], ...providers.map((name) => [name, name] as const)]}
          onChange={(provider) => set({ provider })}
          error={error}
        />
      )}
    </>
  )
}

const Fields = ({ isNew, ...part }: Part & { readonly isNew: boolean }) => {
  const { draft, error, set } = part
  const { kind } = draft
  return (
    <>
      <TextField
        label="Name"
        name="name"
        value={draft.name}
        onChange={(name) => set({ name })}
        error={error}
        required
      />
      <TextField
        label={kinds[kind].bound}
        name="threshold"
        type="number"
        value={draft.threshold}
        onChange={(threshold) => set({ threshold })}
        error={error}
        required
      />
      {kind !== "circuit_open" && (
        <WorkspaceField
          none={kind === "credits_left" ? "Choose a workspace" : "All workspaces"}
          value={draft.workspace}
          onChange={(workspace) => set({ workspace })}
          error={error}
        />
      )}
      {(kind === "budget_used" || kind === "key_expires") && <KeyField {...part} />}
      {kind === "budget_used" && <GuardrailField {...part} />}
      {(kind === "circuit_open" || kind === "failed_share") && <ModelFields {...part} />}
      {kind === "failed_share" && (
        <div className="columns">
          <TextField
            label="Seconds that are looked at"
            name="window_seconds"
            type="number"
            value={draft.window}
            onChange={(window) => set({ window })}
            error={error}
            required
          />
          <TextField
            label="Only with so many requests"
            name="min_requests"
            type="number"
            value={draft.minRequests}
            onChange={(minRequests) => set({ minRequests })}
            error={error}
            required
          />
        </div>
      )}
      <SelectField
        label="It is sent as"
        name="type"
        value={draft.target}
        options={[
          ["webhook", "Webhook: JSON, signed with the workspace's webhook secret"],
          ["slack", "Message as Slack's incoming webhooks take it"]
        ]}
        onChange={(target) => set({ target })}
      />
      <TextField
        label={isNew ? "URL" : "New URL (optional)"}
        name="target"
        type="url"
        value={draft.url}
        onChange={(url) => set({ url })}
        placeholder={draft.target === "slack" ? "https://hooks.slack.com/services/…" : "https://hooks.example/alerts"}
        hint={isNew ? undefined : "Empty: it stays, and so does the form of the message."}
        error={error}
        required={isNew}
      />
    </>
  )
}

export const CreateAlert = ({ onClose }: { readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => templateOf("circuit_open"))
  const create = useChange("POST /alerts")
  return (
    <FormDialog
      title="New alert"
      action="Create alert"
      change={create}
      onSubmit={() =>
        create.mutate(
          {
            payload: { ...fieldsOf(draft), kind: draft.kind, target: { type: draft.target, url: draft.url.trim() } }
          },
          { onSuccess: onClose }
        )
      }
      onClose={onClose}
    >
      <SelectField
        label="Template"
        name="kind"
        value={draft.kind}
        options={kindNames.map((kind) => [kind, kinds[kind].title] as const)}
        onChange={(kind) => setDraft({ ...templateOf(kind), target: draft.target, url: draft.url })}
      />
      <Fields draft={draft} error={create.error} isNew set={(change) => setDraft({ ...draft, ...change })} />
    </FormDialog>
  )
}

export const EditAlert = ({ alert, onClose }: { readonly alert: Alert; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(alert))
  const update = useChange("PATCH /alerts/:id")
  return (
    <FormDialog
      title={`Edit ${alert.name}`}
      action="Save"
      change={update}
      onSubmit={() =>
        update.mutate(
          {
            params: { id: alert.id },
            payload: {
              ...fieldsOf(draft),
              ...(draft.url.trim() !== "" && { target: { type: draft.target, url: draft.url.trim() } })
            }
          },
          { onSuccess: onClose }
        )
      }
      onClose={onClose}
    >
      {alert.state === "firing" && <p>The alert is firing. A change of what it watches resolves it first.</p>}
      <Fields draft={draft} error={update.error} isNew={false} set={(change) => setDraft({ ...draft, ...change })} />
    </FormDialog>
  )
}
