/** Whether the service is ready, and whether it has only simulated models. */
import { useQuery } from "@tanstack/react-query"
import { base } from "../api/http.ts"
import { Badge } from "../parts/Badge.tsx"
import { PageLink } from "./PageLink.tsx"

const useReadiness = () =>
  useQuery({
    queryKey: ["readyz"],
    // A service that is not ready answers 503, which is an answer too.
    queryFn: async ({ signal }) => (await fetch(new URL("../readyz", base), { signal })).ok,
    refetchInterval: 15_000
  })

export const Status = () => {
  const { data, isError } = useReadiness()
  return (
    <PageLink page="overview" className="status">
      {isError ? (
        <Badge tone="bad">Not reachable</Badge>
      ) : data === false ? (
        <Badge tone="warning">Not ready</Badge>
      ) : (
        <Badge tone="good">Ready</Badge>
      )}
    </PageLink>
  )
}
