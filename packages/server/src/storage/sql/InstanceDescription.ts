/**
 * Describes this process for the others: its version, and the states of its parts.
 *
 * The database has it with the heartbeats of the process, so that every process can list all of
 * them.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import * as Background from "../../internal/Background.ts"
import { Readiness } from "../../observability/Readiness.ts"
import { ProcessInstance } from "./ProcessInstance.ts"

/** The description of this process. */
export class InstanceDescription extends Context.Service<
  InstanceDescription,
  {
    /** Checks the parts of this process, and describes it. */
    readonly update: Effect.Effect<void>
  }
>()("@model-gateway/server/storage/sql/InstanceDescription") {}

/** What runs in this process. */
export interface Options {
  /** Default: unknown. */
  readonly version?: string | undefined
  /** The number of this process among the workers of a service. Default: it is the only one. */
  readonly worker?: number | undefined
}

/** Makes the description. */
export const make = Effect.fnUntraced(function* ({ version, worker }: Options) {
  const { describe } = yield* ProcessInstance
  const { report } = yield* Readiness
  return InstanceDescription.of({
    update: Effect.gen(function* () {
      const state = yield* report
      const checkedAt = yield* Clock.currentTimeMillis
      yield* describe({ version: version ?? null, worker: worker ?? null, checkedAt, state })
    })
  })
})

/** How often the parts are checked. */
const every = Duration.seconds(10)

/** Describes this process when the layer is built, and every 10 seconds. */
export const layer = (options: Options): Layer.Layer<InstanceDescription, never, ProcessInstance | Readiness> =>
  Background.layer({
    work: Effect.flatMap(InstanceDescription, ({ update }) => update),
    every,
    failure: "The state of this process could not be told"
  }).pipe(Layer.provideMerge(Layer.effect(InstanceDescription, make(options))))
