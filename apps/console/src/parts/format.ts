/** Figures, times and durations as text. All times are UTC. */

const creditsFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 })
const largeCredits = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const countFormat = new Intl.NumberFormat("en")
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 })
const listFormat = new Intl.ListFormat("en-GB", { type: "conjunction" })
const percentFormat = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

/** Credits, such as `12.34` or `0.00042`. */
export const credits = (amount: number): string =>
  (Math.abs(amount) >= 10 ? largeCredits : creditsFormat).format(amount)

/** A number of things, such as `1,204`. */
export const count = (value: number): string => countFormat.format(value)

/** A number with its noun, such as `1 key` or `1,204 keys`. */
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`

/** A short form for axes and tiles, such as `1.2K`. */
export const short = (value: number): string => compact.format(value)

/** A share, such as `3.4%`. */
export const percent = (share: number): string => percentFormat.format(share)

/** A duration of milliseconds, such as `184 ms`, `2.4 s` or `3 min 5 s`. */
export const duration = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) {
    const seconds = Math.round(ms / 1000)
    return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  }
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`
}

/** `2026-11-20 22:30:05`, in UTC. */
export const time = (iso: string): string => iso.slice(0, 19).replace("T", " ")

/** How far a time is from now, such as `3 min ago` or `in 2 d`. */
export const relative = (iso: string, now: number = Date.now()): string => {
  const distance = Date.parse(iso) - now
  const ms = Math.abs(distance)
  const text =
    ms < 60_000
      ? `${Math.round(ms / 1000)} s`
      : ms < 3_600_000
        ? `${Math.round(ms / 60_000)} min`
        : ms < 86_400_000
          ? `${Math.round(ms / 3_600_000)} h`
          : `${Math.round(ms / 86_400_000)} d`
  return distance > 0 ? `in ${text}` : `${text} ago`
}

/** A message as a sentence: with a capital letter and a full stop. */
export const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}

/** Names in a list, such as `keys, guardrails and credits`. */
export const listed = (names: ReadonlyArray<string>): string => listFormat.format(names)

/** The first characters of a long id. */
export const shortId = (id: string): string => (id.length > 18 ? `${id.slice(0, 14)}…` : id)
