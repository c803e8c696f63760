/** What the deletion of a workspace does, and what is in the way. */
import { useRead } from "../../api/hooks.ts"
import { counted, credits } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import type { Workspace } from "./WorkspaceForm.tsx"

/** What the gateway refuses to delete a workspace with. */
const InTheWay = ({ of }: { readonly of: Workspace }) => {
  const query = { workspace_id: of.id, limit: 1 } as const
  const keys = useRead("GET /keys", { query: { ...query, include_disabled: true } })
  const files = useRead("GET /files", { query })
  const pending = useRead("GET /videos", { query: { ...query, status: "pending" } })
  const running = useRead("GET /videos", { query: { ...query, status: "in_progress" } })
  const keyCount = keys.data?.total_count ?? 0
  const hasFiles = (files.data?.data.length ?? 0) > 0
  const hasVideos = [pending, running].some(({ data }) => (data?.data.length ?? 0) > 0)
  if (keyCount === 0 && !hasFiles && !hasVideos) return null
  return (
    <div className="note">
      <Icon name="warning" />
      <div>
        <p>In the way are:</p>
        <ul className="lines">
          {keyCount > 0 && (
            <li>
              <PageLink page="keys" search={{ workspace: of.id }}>
                {counted(keyCount, "key")}
              </PageLink>
              , which must be deleted first, disabled ones too
            </li>
          )}
          {hasFiles && (
            <li>
              files, which must be deleted first with{" "}
              <code>DELETE /api/v1/files/&#123;id&#125;?workspace_id={of.id}</code>
            </li>
          )}
          {hasVideos && (
            <li>
              <PageLink page="videos" search={{ workspace: of.id }}>
                videos that are still running
              </PageLink>
              : wait until they end, or cancel them
            </li>
          )}
        </ul>
      </div>
    </div>
  )
}

export const DeletionOfWorkspace = ({ of }: { readonly of: Workspace }) => (
  <>
    <p>
      {of.credits === 0 ? "" : `Its ${credits(of.credits)} credits become those of the default workspace. `}
      Its provider keys, destinations, webhook deliveries and ended videos are deleted. Its guardrails stay, and the
      request log keeps its entries.
    </p>
    <InTheWay of={of} />
  </>
)
