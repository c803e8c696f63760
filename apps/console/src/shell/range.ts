/** The range of time that the pages show. It is in the URL. */

const hour = 3_600_000

/** The ranges to choose from that end now, in milliseconds. */
const lengths = { "1h": hour, "24h": 24 * hour, "7d": 7 * 24 * hour, "30d": 30 * 24 * hour } as const

/** `today` and `yesterday` are UTC days. */
export type RangeName = keyof typeof lengths | "today" | "yesterday"

export const rangeNames: ReadonlyArray<RangeName> = ["1h", "24h", "7d", "30d", "today", "yesterday"]

export const rangeLabels: { readonly [Name in RangeName]: string } = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  today: "Today (UTC)",
  yesterday: "Yesterday (UTC)"
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

export const rangeOf = ({ from, range = "24h", to }: FrameSearch): Range => {
  if (from !== undefined) {
    return { from, to, length: (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from) }
  }
  const now = minute()
  const today = now - (now % (24 * hour))
  if (range === "yesterday") {
    return { from: new Date(today - 24 * hour).toISOString(), to: new Date(today).toISOString(), length: 24 * hour }
  }
  const length = range === "today" ? Math.max(now - today, 60_000) : lengths[range]
  return { from: new Date(now - length).toISOString(), to: undefined, length }
}

/** The interval whose bars can still be told apart. */
export const intervalOf = ({ length }: Range): "minute" | "hour" | "day" =>
  length > 3 * 24 * hour ? "day" : length > 2 * hour ? "hour" : "minute"
