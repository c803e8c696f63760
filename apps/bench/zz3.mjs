import { Gateway, GatewayConfig, Telemetry, GatewayClient, SchemaCompiler } from "@model-gateway/core"
import { Effect, ManagedRuntime, Redacted, Layer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import { rerankRequest, rerankResponse } from "./dist/client/messages.js"
const text = JSON.stringify(rerankResponse)
const stub = HttpClient.makeWith((effect) => Effect.flatMap(effect, (request) => Effect.callback((resume) => { setImmediate(() => resume(Effect.succeed({ request, status: 200, headers: { "content-type": "application/json", "content-length": String(text.length) }, text: Effect.succeed(text) }))) })), (request) => Effect.succeed(request))
const run = async (telemetry) => {
  const runtime = ManagedRuntime.make(Gateway.layer.pipe(Layer.provide(Layer.succeed(SchemaCompiler.SchemaCompiler, ({ ast }) => SchemaJITCompiler.enable(ast))), Layer.provide(Layer.succeed(HttpClient.HttpClient, stub)), Layer.provide(Layer.succeed(GatewayConfig.GatewayConfig, GatewayConfig.make({ baseUrl: "http://127.0.0.1:1/api/v1", credential: Redacted.make("mg_sk_benchmark") }))), telemetry ? Layer.provide(Telemetry.layer) : (x) => x))
  const gateway = await runtime.runPromise(Gateway.Gateway)
  return () => Effect.runPromise(gateway.rerank(rerankRequest))
}
const raw = () => new Promise((resolve) => { const b = JSON.stringify(rerankRequest); setImmediate(() => resolve(JSON.parse(text))) })
const cases = { raw, plain: await run(false), telemetry: await run(true) }
const batch = async (call, n) => { let left = n; await Promise.all(Array.from({length: 8}, async () => { while (left-- > 0) await call() })) }
for (const c of Object.values(cases)) await batch(c, 8000)
const best = {}
for (let r = 0; r < 15; r++) for (const [name, c] of Object.entries(cases)) {
  const a = process.threadCpuUsage(); await batch(c, 4000); const b = process.threadCpuUsage(a)
  ;(best[name] ??= []).push((b.user + b.system) / 4000)
}
for (const [n, x] of Object.entries(best)) { x.sort((a,b)=>a-b); console.log(n.padEnd(10), "min", x[0].toFixed(1), "p10", x[2].toFixed(1), "p25", x[6].toFixed(1), "med", x[12].toFixed(1)) }
process.exit()
