/** Reads what runs out. */
import { byGroup, useActivity } from "../../parts/activity.ts"
import { useGuardrails, useKeys } from "../../parts/names.ts"
import { useScope } from "../../shell/navigation.ts"
import { useWorkspaces } from "../../shell/WorkspacePicker.tsx"
import { rateSpan, useSpendPerDay } from "./credits.ts"
import { byTime, creditEndings, guardrailEndings, keyEndings } from "./endings.ts"

/** What each key spends per day. Of all workspaces: the keys of a guardrail can be of several. */
const useKeyRates = () => {
  const span = rateSpan()
  const { data, error } = useActivity({ interval: "day", group_by: "key", from: span.from })
  if (data === undefined) return { error, data: undefined }
  const groups = Array.from(byGroup(data, "key"), ([hash, items]) => {
    const credits = items.reduce((sum, { usage }) => sum + usage, 0)
    const withProviderKeys = items.reduce((sum, { byok_usage_inference }) => sum + byok_usage_inference, 0)
    return [hash, { credits: credits / span.days, withProviderKeys: withProviderKeys / span.days }] as const
  })
  return { error, data: new Map(groups) }
}

/** The keys that are checked, and what runs out, the first at the top. */
export const useEndings = () => {
  const { workspace } = useScope()
  const workspaces = useWorkspaces()
  const perDay = useSpendPerDay()
  const keys = useKeys()
  const guardrails = useGuardrails()
  const rates = useKeyRates()
  const now = Date.now()

  const all = keys.data?.data ?? []
  const shown = workspace === undefined ? all : all.filter(({ workspace_id }) => workspace_id === workspace)
  const credits =
    perDay.data === undefined
      ? []
      : creditEndings(
          (workspaces.data?.data ?? []).filter(({ id }) => workspace === undefined || workspace === id),
          perDay.data.of,
          now
        )
  const limits =
    rates.data === undefined
      ? []
      : [
          ...keyEndings(shown, rates.data, now),
          ...guardrailEndings(
            (guardrails.data?.data ?? []).filter(
              ({ id }) => workspace === undefined || shown.some(({ guardrail_id }) => guardrail_id === id)
            ),
            all,
            rates.data,
            now
          )
        ]
  return {
    now,
    endings: [...credits, ...limits].toSorted(byTime),
    /** How many keys were not checked. */
    unchecked: (keys.data?.total_count ?? 0) - all.length,
    reads: [
      ["The workspaces", workspaces],
      ["The spend of workspaces", perDay],
      ["The keys", keys],
      ["The spend of keys", rates],
      ["The guardrails", guardrails]
    ] as const
  }
}
