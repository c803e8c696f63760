/** Locates modules of this folder that run in a thread or are loaded into another process. */
import { extname } from "node:path"

/**
 * A module of this folder with the same extension as this one: `.ts` in a test, `.js` once built.
 */
export const sibling = (name: string): URL => new URL(`${name}${extname(import.meta.url)}`, import.meta.url)
