/** Creates or changes a destination. */
import { useState } from "react"
import { useChange } from "../../api/hooks.ts"
import { AreaField, CheckField, NameField, SelectField, TextField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { KeyChoice } from "../../parts/KeyChoice.tsx"
import { SecretDialog } from "../../parts/SecretDialog.tsx"
import { type Destination, type Draft, draftOf, emptyDraft, fieldsOf, types } from "./draft.ts"
import { RulesField } from "./RulesField.tsx"
import { problemOfRules } from "./rules.ts"

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
  readonly workspace: string
}) => {
  const isWebhook = draft.type === "webhook"
  return (
    <>
      <NameField draft={draft} error={error} set={set} />
      {isNew && (
        <SelectField label="Type" name="type" value={draft.type} options={types} onChange={(type) => set({ type })} />
      )}
      <TextField
        label={isWebhook ? "URL" : "Traces endpoint"}
        name="config"
        type="url"
        value={draft.address}
        onChange={(address) => set({ address })}
        placeholder={isWebhook ? "https://app.example/hooks" : "https://collector.example/v1/traces"}
        error={error}
        required
      />
      {isWebhook && (
        <SelectField
          label="Method"
          name="method"
          value={draft.method}
          options={[
            ["POST", "POST"],
            ["PUT", "PUT"]
          ]}
          onChange={(method) => set({ method })}
        />
      )}
      <AreaField
        label="Headers"
        name="headers"
        rows={3}
        value={draft.headers}
        onChange={(headers) => set({ headers })}
        placeholder="authorization: Basic …"
        hint={
          isNew
            ? "One a line, as name: value. At most 32. Their values are not shown again."
            : "A header whose value is asterisks keeps its value, unless the destination moves to another origin."
        }
      />
      {isWebhook && (
        <TextField
          label={isNew ? "Signing secret (optional)" : "New signing secret (optional)"}
          name="signing_secret"
          type="password"
          value={draft.secret}
          onChange={(secret) => set({ secret })}
          hint={isNew ? "whsec_ and base64. Empty: the gateway makes one and shows it once." : "Empty: it stays."}
        />
      )}
      <TextField
        label="Share of events that are sent"
        name="sampling_rate"
        type="number"
        value={draft.rate}
        onChange={(rate) => set({ rate })}
        error={error}
        hint="From 0.0001 to 1, which is all. Events of one trace are sent together or not at all."
        required
      />
      <KeyChoice
        legend="Keys whose requests are sent"
        hashes={draft.keys}
        workspace={workspace}
        onChange={(keys) => set({ keys })}
      />
      <fieldset className="choices">
        <legend>What events say besides</legend>
        <CheckField
          label="Whether a provider key of the caller was used"
          checked={draft.sendsCost}
          onChange={(sendsCost) => set({ sendsCost })}
        />
        <CheckField
          label="The hash of the key"
          checked={draft.sendsIdentity}
          onChange={(sendsIdentity) => set({ sendsIdentity })}
        />
        <CheckField
          label="The callback URL of a video"
          checked={draft.sendsContext}
          onChange={(sendsContext) => set({ sendsContext })}
        />
      </fieldset>
      <RulesField json={draft.rules} error={error} onChange={(rules) => set({ rules })} />
    </>
  )
}

const isWhole = (draft: Draft): boolean =>
  draft.name.trim() !== "" && draft.address.trim() !== "" && problemOfRules(draft.rules) === undefined

export const CreateDestination = ({
  onClose,
  workspace
}: {
  readonly workspace: { readonly id: string; readonly name: string }
  readonly onClose: () => void
}) => {
  const [draft, setDraft] = useState(emptyDraft)
  const create = useChange("POST /observability/destinations")
  const secret = create.data?.signing_secret
  if (secret !== undefined) {
    return (
      <SecretDialog title={`Signing secret of ${draft.name}`} secret={secret} onClose={onClose}>
        <p>The destination was created. Its requests are signed with this secret. It cannot be shown again.</p>
      </SecretDialog>
    )
  }
  return (
    <FormDialog
      title={`New destination of the workspace ${workspace.name}`}
      action="Create destination"
      change={create}
      disabled={!isWhole(draft)}
      onSubmit={() =>
        create.mutate(
          {
            payload: {
              ...fieldsOf(draft),
              name: draft.name.trim(),
              type: draft.type,
              config: fieldsOf(draft).config ?? {},
              workspace_id: workspace.id
            }
          },
          {
            onSuccess: ({ signing_secret }) => {
              if (signing_secret === undefined) onClose()
            }
          }
        )
      }
      onClose={onClose}
    >
      <p>Each paid request of the workspace is sent to it from now on, without its inputs and outputs.</p>
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

export const EditDestination = ({
  destination,
  onClose
}: {
  readonly destination: Destination
  readonly onClose: () => void
}) => {
  const [draft, setDraft] = useState(() => draftOf(destination))
  const update = useChange("PATCH /observability/destinations/:id")
  return (
    <FormDialog
      title={`Edit ${destination.name ?? destination.id}`}
      action="Save"
      change={update}
      disabled={!isWhole(draft)}
      onSubmit={() =>
        update.mutate({ params: { id: destination.id }, payload: fieldsOf(draft) }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <Fields
        draft={draft}
        error={update.error}
        isNew={false}
        workspace={destination.workspace_id}
        set={(change) => setDraft({ ...draft, ...change })}
      />
    </FormDialog>
  )
}
