/**
 * Keeps compiled code between starts, in a folder of the user: a start takes a tenth less. Without
 * such a folder, or if it cannot be written, a start compiles as before.
 *
 * Who can write the folder can run code as its reader, so it is not in a folder for temporary
 * files. `NODE_COMPILE_CACHE` names another one, `NODE_DISABLE_COMPILE_CACHE=1` switches it off.
 */
import { existsSync, mkdirSync, statSync } from "node:fs"
// Not by name: an older Node, which is told that it is too old, has no such name.
import module from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"

/** Whether only this user can change what is in the folder. */
const isOwn = (folder: string): boolean => {
  const { mode, uid } = statSync(folder)
  return uid === process.getuid?.() && (mode & 0o022) === 0
}

export const enable = (): void => {
  // Node has done what these say.
  if (process.env["NODE_COMPILE_CACHE"] !== undefined || process.env["NODE_DISABLE_COMPILE_CACHE"] === "1") return
  try {
    const home = homedir()
    if (!isOwn(home)) return
    const caches = join(home, ".cache")
    const folder = join(caches, "model-gateway")
    // Node makes missing folders too, but tries forever where that is not possible, as in /proc.
    for (const missing of [caches, folder]) if (!existsSync(missing)) mkdirSync(missing, { mode: 0o700 })
    module.enableCompileCache(folder)
  } catch {
    // The user is unknown, has no home, or cannot write there.
  }
}
