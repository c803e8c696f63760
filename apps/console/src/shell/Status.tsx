/** Whether the service is ready, and whether all its answers are simulated. */
import { useRead } from "../api/hooks.ts"
import { Badge } from "../parts/Badge.tsx"
import { PageLink } from "./PageLink.tsx"
import { useReadiness } from "./readiness.ts"

/** No provider has a key, neither of the gateway nor of a workspace. */
const SandboxOnly = () => {
  const providers = useRead("GET /providers")
  const isSandboxOnly = providers.data?.data.every(({ slug }) => slug === "sandbox") === true
  const keys = useRead("GET /byok", { query: { limit: 1 } }, { enabled: isSandboxOnly })
  if (!isSandboxOnly || keys.data?.total_count !== 0) return null
  return (
    <PageLink page="providers" className="status">
      <Badge tone="warning">Sandbox only</Badge>
    </PageLink>
  )
}

export const Status = () => {
  const { data, isError } = useReadiness()
  return (
    <>
      <PageLink page="overview" className="status">
        {isError ? (
          <Badge tone="bad">Not reachable</Badge>
        ) : data === undefined || data.status === "ready" ? (
          <Badge tone="good">Ready</Badge>
        ) : data.status === "degraded" ? (
          <Badge tone="warning">Degraded</Badge>
        ) : (
          <Badge tone="warning">Not ready</Badge>
        )}
      </PageLink>
      <SandboxOnly />
    </>
  )
}
