/** The versions of this process in the metrics, and the series that exist from the start. */
import { Context, Effect, Layer } from "effect"
import { version as node } from "node:process"
import * as Metrics from "./Metrics.ts"

/** The version of the program that runs the service. Undefined: unknown. */
export const ProgramVersion = Context.Reference<string | undefined>(
  "@model-gateway/server/observability/BuildInfo/ProgramVersion",
  { defaultValue: () => undefined }
)

/** What runs. */
export interface Options {
  /** The version of the program. Default: `unknown`. */
  readonly version?: string | undefined
  readonly storage: "sqlite" | "postgres"
  /** The processes whose metrics are one page. Default: 1. */
  readonly workers?: number | undefined
}

/** Sets the versions once. */
export const layer = ({ storage, version = "unknown", workers = 1 }: Options): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.andThen(
      Effect.contextWith((context: Context.Context<never>) => Effect.sync(() => Metrics.prepareUnsafe(context))),
      Metrics.build(version, node, storage, workers)
    )
  )
