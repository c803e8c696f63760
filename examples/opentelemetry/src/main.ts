/**
 * `node src/main.ts <query> <document>...` ranks documents, and sends its spans to an OpenTelemetry
 * collector. The SDK reads its address and headers from the environment (`OTEL_EXPORTER_OTLP_…`).
 */
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Rerank } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Console, Effect, Layer } from "effect"

const search = Effect.fn("search")(function* (query: string, documents: ReadonlyArray<string>) {
  // With these, the spans that the gateway broadcasts become children of this one.
  const { spanId, traceId } = yield* Effect.currentSpan
  const trace = { trace_id: traceId, parent_span_id: spanId }
  const { results } = yield* Rerank.rerank({ model: "sandbox/bm25", query, documents, trace })
  return results
})

const program = Effect.gen(function* () {
  const [query = "pears", ...documents] = process.argv.slice(2)
  for (const { document } of yield* search(query, documents)) yield* Console.log(document.text)
})

const Tracing = NodeSdk.layer(() => ({
  resource: { serviceName: "shop" },
  spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter())
}))

NodeRuntime.runMain(Effect.provide(program, Layer.mergeAll(NodeGateway.layerConfig(), Tracing)))
