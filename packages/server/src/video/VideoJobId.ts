/**
 * The identifiers of video jobs: `video_` and a UUID v7 without hyphens, which starts with the time
 * in 12 hexadecimal digits. So their order is that of submission.
 */

/** What precedes the underscore. */
export const prefix = "video"

const timeEnd = `${prefix}_`.length + 12

/** Sorts before every identifier made at `time` or later. Epoch milliseconds. */
export const firstOf = (time: number): string => `${prefix}_${Math.max(0, time).toString(16).padStart(12, "0")}`

/** Sorts after every identifier. */
export const afterAll = `${prefix}_g`

/** Sorts before this identifier and every one that was made in the same millisecond or later. */
export const timeOf = (id: string): string => id.slice(0, timeEnd)
