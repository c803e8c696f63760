/** Switches on that a list of requests is read again every 5 seconds. */
import { useScope, useSetSearch } from "../../shell/navigation.ts"

export const LiveButton = ({ isLive }: { readonly isLive: boolean }) => {
  const { range } = useScope()
  const set = useSetSearch("requests")
  const endsNow = range.to === undefined
  return (
    <button
      type="button"
      aria-pressed={isLive}
      disabled={!endsNow}
      title={endsNow ? "Reads again every 5 seconds" : "The range must end now"}
      onClick={() => void set({ live: isLive ? undefined : "true" })}
    >
      Live
    </button>
  )
}
