/** Whether images can be drawn and read here. */
import { createRequire } from "node:module"
import process from "node:process"

/** The package that does it. Its native part is a package of its own for each platform. */
export const name = "@napi-rs/canvas"

const suffixes = ["", "-gnu", "-musl", "-msvc", "-gnueabihf"]

/**
 * Loads nothing, because it takes 35 MB. An installation may lack the package, or its native part: npm
 * leaves out what is optional and does not exist for a platform.
 */
export const isInstalled = (): boolean => {
  const resolves = (require: NodeJS.Require, id: string): boolean => {
    try {
      require.resolve(id)
      return true
    } catch {
      return false
    }
  }
  const here = createRequire(import.meta.url)
  if (!resolves(here, name)) return false
  const there = createRequire(here.resolve(name))
  return suffixes.some((suffix) => resolves(there, `${name}-${process.platform}-${process.arch}${suffix}`))
}
