/** `pnpm bench`: prints the tables. `--quick` makes fewer rounds, to see that it runs. */
import { parseArgs } from "node:util"
import * as Client from "./client/index.ts"

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } })

for (const text of await Client.run(values.quick)) console.log(text)
