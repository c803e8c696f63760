/** Chooses the workspace whose figures the pages show. */
import type { ReactNode } from "react"
import { useRead } from "../api/hooks.ts"
import { SelectField } from "../parts/Fields.tsx"
import { Problem } from "../parts/Problem.tsx"
import { useFrameSearch, useSetFrame } from "./navigation.ts"

/** The first 100 workspaces, which is what the API gives at once. */
export const useWorkspaces = () => useRead("GET /workspaces", { query: { limit: 100 } })

/** The names of workspaces by their ids. */
export const useWorkspaceName = (): ((id: string) => string) => {
  const { data } = useWorkspaces()
  return (id) => data?.data.find((workspace) => workspace.id === id)?.name ?? id
}

/**
 * The workspace of the lists that are of one workspace: that of the frame, else the default one.
 * Undefined: it is being read.
 */
export const useOneWorkspace = (): { readonly id: string; readonly name: string } | undefined => {
  const { workspace } = useFrameSearch()
  const all = useWorkspaces().data?.data
  if (workspace !== undefined)
    return { id: workspace, name: all?.find(({ id }) => id === workspace)?.name ?? workspace }
  return all?.find(({ is_default }) => is_default) ?? all?.[0]
}

/** A list of one workspace, or why it is not known of which. */
export const OfOneWorkspace = ({ children }: { readonly children: ReactNode }) => {
  const { error, refetch } = useWorkspaces()
  if (useOneWorkspace() !== undefined || error === null) return children
  return (
    <Problem what="The workspaces could not be read" error={error}>
      <button type="button" onClick={() => void refetch()}>
        Try again
      </button>
    </Problem>
  )
}

/** Says which workspace a list is of while the frame has all of them. */
export const OneWorkspace = () => {
  const { workspace } = useFrameSearch()
  const one = useOneWorkspace()
  if (workspace !== undefined || one === undefined) return null
  return <p className="hint">This list is of the workspace {one.name}. Choose another one at the top.</p>
}

/** A workspace in a form. */
export const WorkspaceField = ({
  label = "Workspace",
  none = "Your default workspace",
  ...field
}: {
  readonly label?: string
  /** What it says if none is chosen. */
  readonly none?: string
  readonly hint?: string
  /** Its id. Empty: none. */
  readonly value: string
  readonly onChange: (id: string) => void
  readonly error: Error | null
}) => {
  const workspaces = useWorkspaces().data?.data ?? []
  const options = [["", none] as const, ...workspaces.map(({ id, name }) => [id, name] as const)]
  return <SelectField {...field} label={label} name="workspace_id" options={options} />
}

export const WorkspacePicker = () => {
  const { data } = useWorkspaces()
  const { workspace = "" } = useFrameSearch()
  const set = useSetFrame()
  return (
    <select
      aria-label="Workspace"
      className="workspace"
      value={workspace}
      onChange={({ target }) => void set({ workspace: target.value })}
    >
      <option value="">All workspaces</option>
      {data?.data.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}
