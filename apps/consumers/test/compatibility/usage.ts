import type { Entry } from "./Entry.ts"

export const entries: ReadonlyArray<Entry> = []
