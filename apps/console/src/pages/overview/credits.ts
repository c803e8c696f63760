/** What is left of the credits of the workspace that is shown, or of all. */
import { useRead } from "../../api/hooks.ts"
import { useScope } from "../../shell/navigation.ts"

export const useCredits = () => {
  const { workspace } = useScope()
  return useRead("GET /credits", { query: { workspace_id: workspace } })
}

/** In credits. Undefined: it is being read. */
export const useCreditsLeft = (): number | undefined => {
  const { data } = useCredits()
  // Sums of decimals are a hair off.
  return data === undefined ? undefined : Math.round((data.data.total_credits - data.data.total_usage) * 1e6) / 1e6
}
