import * as Clients from "./dist/client/clients.js"
import { fork } from "node:child_process"
import { once } from "node:events"
const name = process.argv[2], op = process.argv[3] ?? "rerank", rounds = Number(process.argv[4] ?? 10)
const origin = process.argv[5]
const c = await Clients.make(origin)
const call = c[op].find((x) => x.name === name).call
const batch = async (n) => { let left = n; await Promise.all(Array.from({length: 8}, async () => { while (left-- > 0) await call() })) }
await batch(4000)
const cpu = [], wall = []
for (let i = 0; i < rounds; i++) {
  const a = process.threadCpuUsage(), t = performance.now()
  await batch(2000)
  const b = process.threadCpuUsage(a)
  cpu.push((b.user + b.system) / 2000); wall.push((performance.now() - t) * 1000 / 2000)
}
const s = (x) => { x.sort((a,b)=>a-b); return `min ${x[0].toFixed(1)} med ${x[x.length>>1].toFixed(1)}` }
console.log(op, name.padEnd(20), "cpu", s(cpu), "wall", s(wall))
process.exitCode=0; await c.close(); setTimeout(()=>process.exit(),50)
