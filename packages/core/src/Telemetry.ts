/**
 * Traces, logs and metrics of the client's calls. Off by default in core and in browsers, where it
 * then adds nothing to a page. `@model-gateway/node` switches it on.
 *
 * With {@link layer}, each call has a span around the spans of its HTTP requests, each retry has a
 * debug log, and the metrics are updated. Spans are created only if a tracer is installed. All
 * names follow OpenTelemetry's conventions for generative AI and HTTP where these have one. Nothing
 * recorded contains a credential, the text of a document or a parameter of a request's body.
 *
 * @example
 * ```ts
 * import { GatewayClient, Telemetry } from "@model-gateway/core"
 * import { Layer } from "effect"
 *
 * const Client = GatewayClient.layer.pipe(Layer.provide(Telemetry.layer))
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { constUndefined } from "effect/Function"
import * as Layer from "effect/Layer"
import type { Call, Observer, Recorder, Retry } from "./internal/observer.ts"
import { make } from "./internal/recording.ts"

export type { Call, Observer, Recorder, Retry }

/**
 * The observer of the clients that are built with it. Default: undefined, and nothing is recorded.
 *
 * @category references
 * @since 0.1.0
 */
export const Telemetry = Context.Reference<Observer | undefined>("@model-gateway/core/Telemetry", {
  defaultValue: constUndefined
})

/**
 * Switches spans, logs and metrics on for the clients that it is provided to.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.sync(Telemetry, make)
