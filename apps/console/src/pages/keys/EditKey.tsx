/** The form that changes a key. It sends only the fields that were changed. */
import { useState } from "react"
import type { Payload } from "../../api/Contract.ts"
import { useChange } from "../../api/hooks.ts"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { amountOf, type KeyDraft, ManagementFields, NameAndExpiry, SpendingFields, timeOf } from "./KeyFields.tsx"
import type { Key } from "./Key.tsx"

const draftOf = (key: Key): KeyDraft => ({
  name: key.name,
  limit: key.limit === null ? "" : String(key.limit),
  reset: key.limit_reset ?? "",
  countsProviderKeys: key.include_byok_in_limit,
  isFreeTier: key.is_free_tier,
  expires: key.expires_at?.slice(0, 16) ?? "",
  role: key.role ?? "admin",
  workspaces: key.workspace_ids ?? []
})

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>) => one.join() === other.join()

const changesOf = (before: KeyDraft, after: KeyDraft): Payload<"PATCH /keys/:hash"> => ({
  ...(after.name !== before.name && { name: after.name }),
  ...(after.limit !== before.limit && { limit: amountOf(after.limit) }),
  ...(after.reset !== before.reset && { limit_reset: after.reset === "" ? null : after.reset }),
  ...(after.countsProviderKeys !== before.countsProviderKeys && { include_byok_in_limit: after.countsProviderKeys }),
  ...(after.isFreeTier !== before.isFreeTier && { is_free_tier: after.isFreeTier }),
  ...(after.expires !== before.expires && { expires_at: timeOf(after.expires) }),
  ...(after.role !== before.role && { role: after.role }),
  ...(!isSame(after.workspaces, before.workspaces) && {
    workspace_ids: after.workspaces.length === 0 ? null : after.workspaces
  })
})

export const EditKey = ({ of: key, onClose }: { readonly of: Key; readonly onClose: () => void }) => {
  const [before] = useState(() => draftOf(key))
  const [draft, setDraft] = useState(before)
  const change = useChange("PATCH /keys/:hash")
  const changes = changesOf(before, draft)
  const fields = {
    draft,
    set: (some: Partial<KeyDraft>) => setDraft({ ...draft, ...some }),
    error: change.error
  }
  return (
    <FormDialog
      title={`Edit key ${key.name}`}
      action="Save"
      change={change}
      disabled={Object.keys(changes).length === 0}
      onSubmit={() => change.mutate({ params: { hash: key.hash }, payload: changes }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <NameAndExpiry {...fields} />
      {key.is_management_key ? <ManagementFields {...fields} /> : <SpendingFields {...fields} />}
    </FormDialog>
  )
}
