/** Where modules of this folder lie that run as a thread or are loaded into another process. */
import { extname } from "node:path"

/**
 * A module of this folder, which has the same ending as this one: `.ts` in a test, `.js` once
 * built.
 */
export const sibling = (name: string): URL => new URL(`${name}${extname(import.meta.url)}`, import.meta.url)
