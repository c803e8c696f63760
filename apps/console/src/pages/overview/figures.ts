/** The figures of the overview. */
import { type ActivityQuery, fewEnoughFrom, spanOf, useActivity } from "../../parts/activity.ts"
import { intervalOf } from "../../shell/range.ts"
import { useScope } from "../../shell/navigation.ts"

/**
 * Reads the activity of the range. Only requests tell durations and reasons of failures, and at
 * most 10,000 are read. A range with more has sums of whole days, and the rest of its latest
 * requests.
 */
export const useFigures = () => {
  const { range, workspace } = useScope()
  const interval = intervalOf(range)
  const span = spanOf(range, interval)
  const query = { workspace_id: workspace, details: "true" } as const satisfies ActivityQuery
  const exact: ActivityQuery = { ...query, ...span, interval }
  const models = useActivity({ ...exact, group_by: "model" })
  const latestFrom = fewEnoughFrom(models.error)
  const isSummed = latestFrom !== undefined

  const days = { ...spanOf(range, "day"), interval: "day", workspace_id: workspace } as const
  const modelDays = useActivity(isSummed ? { ...days, group_by: "model" } : undefined)
  const keyDays = useActivity(isSummed ? { ...days, group_by: "key" } : undefined)

  const detailed = isSummed ? { from: latestFrom, ...(range.to !== undefined && { to: range.to }) } : span
  const course = useActivity({ ...query, ...detailed, interval })
  const whole = useActivity({ ...query, ...detailed, interval: "range" })
  const keys = useActivity({ ...query, ...span, interval: "range", group_by: "key" })
  const failures = useActivity(isSummed ? { ...query, ...detailed, interval: "range", group_by: "model" } : undefined)
  return {
    range,
    isSummed,
    /** From when on there are durations and reasons of failures. */
    latestFrom,
    interval: isSummed ? ("day" as const) : interval,
    span: isSummed ? spanOf(range, "day") : span,
    detailed: { interval, span: detailed, course, whole, failures: isSummed ? failures : models },
    models: isSummed ? modelDays : models,
    keys: isSummed ? keyDays : keys
  }
}

export type Figures = ReturnType<typeof useFigures>
