/** The form that creates or changes a workspace. */
import { useState } from "react"
import type { Item, Payload } from "../../api/Contract.ts"
import { useChange } from "../../api/hooks.ts"
import { DescriptionField, NameField, SelectField, TextField } from "../../parts/Fields.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"

export type Workspace = Item<"GET /workspaces">

export const shapes: ReadonlyArray<readonly [Workspace["file_shape"], string]> = [
  ["native", "Native"],
  ["compat_a", "Compatible with clients of provider A"],
  ["compat_b", "Compatible with clients of provider B"]
]

interface Draft {
  readonly name: string
  readonly slug: string
  readonly description: string
  readonly callback: string
  readonly shape: Workspace["file_shape"]
}

const empty: Draft = { name: "", slug: "", description: "", callback: "", shape: "native" }

const draftOf = (workspace: Workspace): Draft => ({
  name: workspace.name,
  slug: workspace.slug,
  description: workspace.description ?? "",
  callback: workspace.default_callback_url ?? "",
  shape: workspace.file_shape
})

const requestOf = (draft: Draft): Payload<"POST /workspaces"> => ({
  name: draft.name,
  slug: draft.slug,
  description: draft.description === "" ? null : draft.description,
  default_callback_url: draft.callback === "" ? null : draft.callback,
  file_shape: draft.shape
})

/** The slug that a name suggests, such as `search-team`. */
const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 64)

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
    <NameField
      draft={draft}
      error={error}
      set={({ name }) => set({ name, ...(draft.slug === slugOf(draft.name) && { slug: slugOf(name) }) })}
    />
    <TextField
      label="Slug"
      name="slug"
      value={draft.slug}
      onChange={(slug) => set({ slug })}
      error={error}
      required
      hint="For URLs and commands: lower-case letters, digits and single hyphens."
    />
    <DescriptionField draft={draft} error={error} set={set} />
    <TextField
      label="Callback URL of videos"
      name="default_callback_url"
      type="url"
      placeholder="https://example.com/hooks/video"
      value={draft.callback}
      onChange={(callback) => set({ callback })}
      error={error}
      hint="For video jobs whose request has no callback_url. Empty: none."
    />
    <SelectField
      label="Shape of answers about files"
      name="file_shape"
      value={draft.shape}
      options={shapes}
      onChange={(shape) => set({ shape })}
      error={error}
      hint="When a request does not choose one."
    />
  </>
)

export const CreateWorkspace = ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}) => {
  const [draft, setDraft] = useState(empty)
  const create = useChange("POST /workspaces")
  return (
    <FormDialog
      title="Create workspace"
      action="Create workspace"
      change={create}
      onSubmit={() => create.mutate({ payload: requestOf(draft) }, { onSuccess: ({ data }) => onCreated(data.id) })}
      onClose={onClose}
    >
      <Fields draft={draft} error={create.error} set={(some) => setDraft({ ...draft, ...some })} />
      <p className="hint">It starts without credits: add some afterwards.</p>
    </FormDialog>
  )
}

export const EditWorkspace = ({ of, onClose }: { readonly of: Workspace; readonly onClose: () => void }) => {
  const [before] = useState(() => draftOf(of))
  const [draft, setDraft] = useState(before)
  const change = useChange("PATCH /workspaces/:id")
  return (
    <FormDialog
      title={`Edit workspace ${of.name}`}
      action="Save"
      change={change}
      disabled={JSON.stringify(draft) === JSON.stringify(before)}
      onSubmit={() => change.mutate({ params: { id: of.id }, payload: requestOf(draft) }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Fields draft={draft} error={change.error} set={(some) => setDraft({ ...draft, ...some })} />
    </FormDialog>
  )
}
