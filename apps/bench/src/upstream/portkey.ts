/** Portkey's gateway, as `npx @portkey-ai/gateway --headless` runs it. */
import { createServer } from "node:net"
import { listening } from "../child.ts"

/** Portkey takes a port and reports none. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once("error", reject)
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0))
    })
  })

const port = await freePort()
process.env["NODE_ENV"] = "production"
process.argv.push("--headless", `--port=${port}`)
// It prints a progress bar, which is not part of the tables.
process.stdout.write = () => true
await import(import.meta.resolve("@portkey-ai/gateway/build/start-server.js"))
listening({ port, apiKey: "none" }, () => process.exit())
