/** For how many of its models a provider is down, and since when. */
import { count, time } from "../../parts/format.ts"
import { Time } from "../../parts/Time.tsx"
import type { Provider } from "./states.ts"

/**
 * Such as `down for 2 of 2 models since 2026-11-20 22:30:05 UTC (3 min ago)`. `or earlier`: no call
 * succeeded since the gateway started.
 */
export const Down = ({ provider: { endpoints, mayBeLonger, since, stopped } }: { readonly provider: Provider }) => (
  <>
    down for {count(stopped.length)} of {count(endpoints.length)} {endpoints.length === 1 ? "model" : "models"}
    {since === undefined ? (
      ", as another process of the gateway found"
    ) : (
      <>
        {" "}
        since {time(since)} UTC{mayBeLonger && " or earlier"} (<Time at={since} ago />)
      </>
    )}
  </>
)
