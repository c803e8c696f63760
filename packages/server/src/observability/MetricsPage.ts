/**
 * The page of `/metrics`. It has the metrics of this process, unless the program that runs several
 * processes makes one page of all.
 */
import { Context, type Effect } from "effect"

/** Makes the page of the one of this process. Default: that one. */
export const MetricsPage = Context.Reference<(own: Effect.Effect<string>) => Effect.Effect<string>>(
  "@model-gateway/server/observability/MetricsPage",
  { defaultValue: () => (own) => own }
)
