/** The version of this executable and the Node it needs, from its package.json. */
import { readFileSync } from "node:fs"
import { isBuiltin } from "node:module"

const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))

/** Such as `0.1.0`. */
export const version: string =
  typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown"

const requiredNode =
  typeof manifest === "object" &&
  manifest !== null &&
  "engines" in manifest &&
  typeof manifest.engines === "object" &&
  manifest.engines !== null &&
  "node" in manifest.engines
    ? String(manifest.engines.node).replace(">=", "")
    : "unknown"

/** Why a Node cannot run the gateway; undefined if it can. The database needs `node:sqlite`. */
export const problemOfNode = (node: string, hasSqlite: boolean): string | undefined =>
  hasSqlite && node.localeCompare(requiredNode, undefined, { numeric: true }) >= 0
    ? undefined
    : `model-gateway needs Node ${requiredNode} or newer, with node:sqlite; this is Node ${node}. ` +
      "In a clone of the project, run it with node_modules/.bin/node."

/** Why this Node cannot run the gateway; undefined if it can. */
export const nodeProblem: string | undefined = problemOfNode(process.versions.node, isBuiltin("node:sqlite"))
