/** Whether the service is ready. */
import { Badge } from "../parts/Badge.tsx"
import { PageLink } from "./PageLink.tsx"
import { useReadiness } from "./readiness.ts"

export const Status = () => {
  const { data, isError } = useReadiness()
  return (
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
  )
}
