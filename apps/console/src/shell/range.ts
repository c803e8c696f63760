/** The range of time that the pages show. It is in the URL. */

const hour = 3_600_000

/** The ranges to choose from, in milliseconds. */
export const ranges = { "1h": hour, "24h": 24 * hour, "7d": 7 * 24 * hour, "30d": 30 * 24 * hour } as const

export type RangeName = keyof typeof ranges

export const rangeNames: ReadonlyArray<RangeName> = ["1h", "24h", "7d", "30d"]

export const rangeLabels: { readonly [Name in RangeName]: string } = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days"
}

/** What all pages have in their query. */
export interface FrameSearch {
  /** Default: `24h`. */
  readonly range?: RangeName | undefined
  /** With `to`: a range of its own, as times in UTC. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** The id of a workspace. Undefined: all. */
  readonly workspace?: string | undefined
}

export interface Range {
  readonly from: string
  /** Undefined: now. */
  readonly to: string | undefined
  /** Milliseconds. */
  readonly length: number
}

/** The full minute before now, so that the same range is the same read for a minute. */
const minute = () => Math.floor(Date.now() / 60_000) * 60_000

export const rangeOf = ({ from, range, to }: FrameSearch): Range => {
  if (from !== undefined) {
    return { from, to, length: (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from) }
  }
  const length = ranges[range ?? "24h"]
  return { from: new Date(minute() - length).toISOString(), to: undefined, length }
}

/** The interval whose bars can still be told apart. */
export const intervalOf = ({ length }: Range): "hour" | "day" => (length > 3 * 24 * hour ? "day" : "hour")
