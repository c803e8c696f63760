/** On Vercel's edge runtime, which evaluates a script and sends it an event for each request. */
import { EdgeRuntime, runServer } from "edge-runtime"
import { readFileSync } from "node:fs"

const runtime = new EdgeRuntime({
  extend: (context) => Object.assign(context, { process: { env: process.env } }),
  initialCode: `${readFileSync(new URL("dist/program.script.js", import.meta.url), "utf8")}
const handle = program.serve(process.env)
addEventListener("fetch", (event) => event.respondWith(handle(event.request)))`
})

const server = await runServer({ runtime, port: 0, host: "127.0.0.1" })

console.log(new URL(server.url).origin.replace("localhost", "127.0.0.1"))
