/** `pnpm bench`: prints the tables. `--quick` makes fewer rounds, to see that it runs. */
import { parseArgs } from "node:util"
import * as Bundle from "./bundle/index.ts"
import * as Client from "./client/index.ts"
import * as Rendering from "./rendering/index.ts"
import * as Service from "./service/index.ts"

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } })

for (const { run } of [Client, Service, Rendering, Bundle]) {
  for (const text of await run(values.quick)) console.log(text)
}
