/** The fields of a key in the forms that create and change it. */
import { useSessionState } from "../../api/hooks.ts"
import { includes, type Role } from "../../api/session.ts"
import { CheckField, NameField, SelectField, TextField } from "../../parts/Fields.tsx"
import { type LimitDraft, LimitFields } from "../../parts/LimitFields.tsx"
import { useWorkspaces } from "../../shell/WorkspacePicker.tsx"

/** The fields as texts of the form. */
export interface KeyDraft extends LimitDraft {
  readonly name: string
  readonly countsProviderKeys: boolean
  readonly isFreeTier: boolean
  /** A time in UTC as an input has it, such as `2026-11-20T22:30`. */
  readonly expires: string
  readonly role: Role
  /** Empty: all. */
  readonly workspaces: ReadonlyArray<string>
}

export const emptyDraft: KeyDraft = {
  name: "",
  limit: "",
  reset: "monthly",
  countsProviderKeys: false,
  isFreeTier: false,
  expires: "",
  role: "viewer",
  workspaces: []
}

/** An amount of a form. Null: none. */
export const amountOf = (text: string): number | null => (text.trim() === "" ? null : Number(text))

/** A time of a form as the API takes it. Null: none. */
export const timeOf = (text: string): string | null => (text === "" ? null : new Date(`${text}Z`).toISOString())

const roleTexts: Readonly<Record<Role, string>> = {
  viewer: "Viewer: reads",
  operator: "Operator: also changes keys, guardrails and credits",
  admin: "Admin: also changes everything else"
}

const roles: ReadonlyArray<Role> = ["viewer", "operator", "admin"]

interface Part {
  readonly draft: KeyDraft
  readonly error: Error | null
  readonly set: (change: Partial<KeyDraft>) => void
}

export const NameAndExpiry = ({ draft, error, set }: Part) => (
  <>
    <NameField draft={draft} error={error} set={set} />
    <TextField
      label="Expires (UTC)"
      name="expires_at"
      type="datetime-local"
      value={draft.expires}
      onChange={(expires) => set({ expires })}
      error={error}
      hint="Empty: never."
    />
  </>
)

/** What an ordinary key may spend. */
export const SpendingFields = ({ draft, error, set }: Part) => (
  <>
    <LimitFields
      label="Limit in credits"
      names={["limit", "limit_reset"]}
      draft={draft}
      set={set}
      error={error}
      hint="Empty: only the workspace's credits limit the key."
    />
    <CheckField
      label="Count requests with the caller's provider keys toward the limit"
      checked={draft.countsProviderKeys}
      onChange={(countsProviderKeys) => set({ countsProviderKeys })}
    />
    <CheckField
      label="Free tier: free models only, which spend no credits"
      checked={draft.isFreeTier}
      onChange={(isFreeTier) => set({ isFreeTier })}
    />
  </>
)

/** What a management key may do. */
export const ManagementFields = ({ draft, error, set }: Part) => {
  const { session } = useSessionState()
  const { data } = useWorkspaces()
  const own = session?.role ?? "viewer"
  return (
    <>
      <SelectField
        label="Role"
        name="role"
        value={draft.role}
        options={roles.flatMap((role) => (includes(own, role) ? [[role, roleTexts[role]] as const] : []))}
        onChange={(role) => set({ role, ...(role === "admin" && { workspaces: [] }) })}
        error={error}
        hint="A key can have at most the role of the person who creates it."
      />
      {draft.role !== "admin" && (
        <fieldset className="choices">
          <legend>Workspaces that it sees and changes</legend>
          {session?.workspace_ids === null && (
            <CheckField
              label="All, also those of the future"
              checked={draft.workspaces.length === 0}
              onChange={(all) => set({ workspaces: all ? [] : (data?.data.slice(0, 1).map(({ id }) => id) ?? []) })}
            />
          )}
          {data?.data.map(({ id, name }) => (
            <CheckField
              key={id}
              label={name}
              checked={draft.workspaces.includes(id)}
              onChange={(checked) =>
                set({
                  workspaces: checked
                    ? [...draft.workspaces, id]
                    : draft.workspaces.filter((workspace) => workspace !== id)
                })
              }
            />
          ))}
        </fieldset>
      )}
    </>
  )
}
