/**
 * Keeps compiled code between starts, in a folder of the user: a start takes a tenth less. Without
 * such a folder, or if it cannot be written, a start compiles as before.
 *
 * Who can write the folder can run code as its reader, so it is not in a folder for temporary
 * files. `NODE_COMPILE_CACHE` names another one, `NODE_DISABLE_COMPILE_CACHE=1` switches it off.
 */
import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs"
// Not a named import: a Node that is too old has no such export, and has to be told so.
import module from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"

/** Whether it is a folder, not a link, of this user, in which nobody else can write. */
const isOwn = (folder: string): boolean => {
  const status = lstatSync(folder)
  return status.isDirectory() && status.uid === process.getuid?.() && (status.mode & 0o022) === 0
}

export const enable = (): void => {
  // Node has done what these say.
  if (process.env["NODE_COMPILE_CACHE"] !== undefined || process.env["NODE_DISABLE_COMPILE_CACHE"] === "1") return
  try {
    const home = realpathSync(homedir())
    if (!isOwn(home)) return
    const caches = join(home, ".cache")
    const folder = join(caches, "model-gateway")
    // Node makes missing folders too, but tries forever where that is not possible, as in /proc.
    for (const missing of [caches, folder]) if (!existsSync(missing)) mkdirSync(missing, { mode: 0o700 })
    if (isOwn(caches) && isOwn(folder)) module.enableCompileCache(folder)
  } catch {
    // The user is unknown, has no home, or cannot write there.
  }
}
