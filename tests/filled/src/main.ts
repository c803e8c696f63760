/**
 * `pnpm console:demo`: starts a gateway with a month of use, and prints its address and keys.
 * `pnpm console:demo --empty`: one without use.
 */
import { once } from "node:events"
import { startEmpty, startFilled } from "./Filled.ts"

const print = (rows: ReadonlyArray<readonly [name: string, value: string]>): void => {
  for (const [name, value] of rows) console.log(`${name.padEnd(20)} ${value}`)
}

const isEmpty = process.argv.includes("--empty")
if (!isEmpty) console.log("Once a day, filling a gateway with a month of use takes up to a minute.")
const filled = isEmpty ? undefined : await startFilled()
const gateway = filled ?? (await startEmpty())
print([
  ["Address", gateway.origin],
  ["Management key", gateway.managementKey],
  ["Ordinary key", gateway.key]
])
if (filled !== undefined) {
  const { failedRequest, operatorKey, viewerKey } = filled.known
  print([
    ["Viewer's key", viewerKey],
    ["Operator's key", operatorKey],
    ["A failed request", failedRequest]
  ])
}
console.log("Ctrl-C ends it and deletes its data.")
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")])
await gateway.stop()
