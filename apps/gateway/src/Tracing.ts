/** Sends the spans of the service to an OpenTelemetry collector, by OTLP over HTTP. */
import * as Tracing from "@model-gateway/server/Tracing"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { ConfigProvider, Effect, Layer, Redacted, Tracer } from "effect"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import type { Settings } from "./Settings.ts"
import { version } from "./Version.ts"

/** Pairs such as `team=search,region=eu`, with values in percent-encoding. */
const pairsOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at < 1 ? [] : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]]
    })
  )

const samplingOf = ({ sampler, samplerRatio }: Settings["traces"]): Tracing.Sampling => {
  const followsCaller = sampler.startsWith("parentbased_")
  if (sampler.endsWith("always_on")) return { followsCaller, ratio: 1 }
  return { followsCaller, ratio: sampler.endsWith("always_off") ? 0 : samplerRatio }
}

/** The tracer of the settings. `endpoint` is the collector's URL. */
export const layer = (traces: Settings["traces"], endpoint: string): Layer.Layer<never> =>
  Layer.effect(
    Tracer.Tracer,
    Effect.map(
      OtlpTracer.make({
        url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
        headers: traces.headers === undefined ? undefined : pairsOf(Redacted.value(traces.headers)),
        resource: {
          serviceName: traces.serviceName,
          serviceVersion: version,
          attributes: pairsOf(traces.resourceAttributes ?? "")
        },
        exportInterval: "2 seconds"
      }),
      (tracer) => Tracing.guarded(tracer, samplingOf(traces))
    )
  ).pipe(
    Layer.provide([
      OtlpExporter.layerFlusher,
      traces.protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf,
      NodeHttpClient.layerUndici,
      // The settings have been read from the environment and from the file.
      ConfigProvider.layer(ConfigProvider.fromUnknown({}))
    ])
  )
