/** The version of this executable and the Node it needs, from its package.json. */
import { readFileSync } from "node:fs"
import { isBuiltin } from "node:module"

const manifestUrl = new URL("../package.json", import.meta.url)

const manifest: unknown = JSON.parse(readFileSync(manifestUrl, "utf8"))

/** Whether it runs from a clone of the project, which has a Node of its own. */
const isInClone = !manifestUrl.pathname.includes("/node_modules/")

/** Such as `0.1.0`. */
export const version: string =
  typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown"

/** The versions of Node that can run it, such as `^22.19.0 || >=24.0.0`. */
const requiredNode =
  typeof manifest === "object" &&
  manifest !== null &&
  "engines" in manifest &&
  typeof manifest.engines === "object" &&
  manifest.engines !== null &&
  "node" in manifest.engines
    ? String(manifest.engines.node)
    : "unknown"

const ranges = requiredNode.split(" || ")

/** The version that a range begins with. */
const leastOf = (range = ""): string => range.replace(/^\D+/, "")

/** For comparisons. `localeCompare` would load the data of languages, at every start. */
const numberOf = (version: string): number =>
  version.split(".").reduce((number, part) => number * 1000 + Number.parseInt(part, 10), 0)

/** Whether a version is in a range of the form `^1.2.3` (the same major version) or `>=1.2.3`. */
const isInRange = (version: string, range: string): boolean => {
  const least = leastOf(range)
  return (
    numberOf(version) >= numberOf(least) && (range.startsWith(">=") || version.split(".")[0] === least.split(".")[0])
  )
}

/** Why a Node cannot run the gateway; undefined if it can. The database needs `node:sqlite`. */
export const problemOfNode = (node: string, hasSqlite: boolean, isInClone: boolean): string | undefined =>
  hasSqlite && ranges.some((range) => isInRange(node, range))
    ? undefined
    : `model-gateway needs Node ${leastOf(ranges[0])} or newer, of ${requiredNode}, with node:sqlite; this is Node ${node}. ` +
      `Install Node 24 from https://nodejs.org${isInClone ? ", or run it with node_modules/.bin/node of the clone" : ""}.`

/** Why this Node cannot run the gateway; undefined if it can. */
export const nodeProblem: string | undefined = problemOfNode(process.versions.node, isBuiltin("node:sqlite"), isInClone)
