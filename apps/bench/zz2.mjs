import { Gateway } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { Effect, ManagedRuntime, Redacted } from "effect"
import * as Undici from "undici"
import { rerankRequest } from "./dist/client/messages.js"
import { Session } from "node:inspector"
import { writeFileSync } from "node:fs"
const [,, name, origin, rounds = "12", prof, telemetry] = process.argv
const apiKey = "mg_sk_benchmark", authorization = `Bearer ${apiKey}`
let call
if (name === "raw") {
  const pool = new Undici.Agent({ connections: 64 })
  call = async () => (await Undici.request(`${origin}/api/v1/rerank`, { dispatcher: pool, method: "POST", headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(rerankRequest) })).body.json()
} else {
  const runtime = ManagedRuntime.make(NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential: Redacted.make(apiKey), telemetry: telemetry !== "off" }))
  const gateway = await runtime.runPromise(Gateway.Gateway)
  call = () => Effect.runPromise(gateway.rerank(rerankRequest))
}
const batch = async (n) => { let left = n; await Promise.all(Array.from({length: 8}, async () => { while (left-- > 0) await call() })) }
await batch(6000)
const session = new Session(); session.connect()
const post = (m, p) => new Promise((r, j) => session.post(m, p, (e, x) => e ? j(e) : r(x)))
if (prof) { await post("Profiler.enable"); await post("Profiler.setSamplingInterval", { interval: 200 }); await post("Profiler.start") }
const cpu = [], wall = []
for (let i = 0; i < Number(rounds); i++) {
  const a = process.threadCpuUsage(), t = performance.now()
  await batch(2000)
  const b = process.threadCpuUsage(a)
  cpu.push((b.user + b.system) / 2000); wall.push((performance.now() - t) * 1000 / 2000)
}
if (prof) { const { profile } = await post("Profiler.stop"); writeFileSync(prof, JSON.stringify(profile)) }
const s = (x) => { x.sort((a,b)=>a-b); return `min ${x[0].toFixed(1)} p25 ${x[x.length>>2].toFixed(1)} med ${x[x.length>>1].toFixed(1)}` }
console.log(name.padEnd(6), telemetry ?? "", "cpu", s(cpu), "wall", s(wall))
process.exit()
