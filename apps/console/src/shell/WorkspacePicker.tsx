/** Chooses the workspace whose figures the pages show. */
import { useRead } from "../api/hooks.ts"
import { useFrameSearch, useSetFrame } from "./navigation.ts"

/** The first 100 workspaces, which is what the API gives at once. */
export const useWorkspaces = () => useRead("GET /workspaces", { query: { limit: 100 } })

/** The names of workspaces by their ids. */
export const useWorkspaceName = (): ((id: string) => string) => {
  const { data } = useWorkspaces()
  return (id) => data?.data.find((workspace) => workspace.id === id)?.name ?? id
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
