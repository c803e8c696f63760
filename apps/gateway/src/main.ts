#!/usr/bin/env node
/** The executable `model-gateway`. */
import { Console, Effect } from "effect"
import * as Process from "./Process.ts"
import * as Program from "./Program.ts"
import { nodeProblem } from "./Version.ts"

Process.run(nodeProblem === undefined ? Program.run(process.argv.slice(2)) : Effect.as(Console.error(nodeProblem), 1))
