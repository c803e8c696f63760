/**
 * How the calls of one offer ended, over several spans of time that end now.
 *
 * The memory of an offer is fixed, about 11 KB. A span consists of buckets, of which the oldest is
 * used again. A bucket counts calls, failures and, in classes that grow by a quarter, the durations
 * of successes. So a span is up to a bucket shorter, and a percentile at most a quarter too high.
 */

const minute = 60_000

const spans = {
  "5m": { bucket: minute / 2, buckets: 10 },
  "1h": { bucket: 5 * minute, buckets: 12 },
  "1d": { bucket: 60 * minute, buckets: 24 }
} as const

/** The name of a span of time. */
export type Span = keyof typeof spans

/** The calls of a span of time. */
export interface Counted {
  readonly calls: number
  readonly failures: number
  /** In milliseconds. Undefined: no call succeeded. */
  readonly p50: number | undefined
  readonly p95: number | undefined
}

const growth = Math.log(1.25)

/** From 1 millisecond to 10 minutes. */
const classes = 61

const classOf = (millis: number): number =>
  Math.min(classes - 1, Math.max(0, Math.ceil(Math.log(Math.max(millis, 1)) / growth)))

/** The longest duration of a class. */
const durationOf = (index: number): number => Math.round(Math.exp(index * growth))

/** Calls, failures, and the classes. */
const width = 2 + classes

interface Ring {
  readonly record: (now: number, millis: number | undefined) => void
  readonly read: (now: number) => Counted
}

const makeRing = ({ bucket, buckets }: { readonly bucket: number; readonly buckets: number }): Ring => {
  const counts = new Uint32Array(buckets * width)
  /** The number of the bucket that each place has, since the epoch. */
  const numbers = new Float64Array(buckets).fill(-1)

  const add = (index: number) => {
    counts[index] = (counts[index] ?? 0) + 1
  }

  return {
    record: (now, millis) => {
      const number = Math.floor(now / bucket)
      const place = number % buckets
      if (numbers[place] !== number) {
        numbers[place] = number
        counts.fill(0, place * width, (place + 1) * width)
      }
      const start = place * width
      add(start)
      add(millis === undefined ? start + 1 : start + 2 + classOf(millis))
    },
    read: (now) => {
      const oldest = Math.floor(now / bucket) - buckets
      const sums = new Float64Array(width)
      for (const [place, number] of numbers.entries()) {
        if (number <= oldest) continue
        for (let index = 0; index < width; index++) {
          sums[index] = (sums[index] ?? 0) + (counts[place * width + index] ?? 0)
        }
      }
      const [calls = 0, failures = 0] = sums
      const percentile = (share: number): number | undefined => {
        let left = Math.ceil((calls - failures) * share)
        if (left === 0) return undefined
        const index = sums.subarray(2).findIndex((count) => (left -= count) <= 0)
        return durationOf(index)
      }
      return { calls, failures, p50: percentile(0.5), p95: percentile(0.95) }
    }
  }
}

/** The calls of one offer. Times are epoch milliseconds. */
export interface CallStatistics {
  /** Counts a call that ended now. `millis` is how long it took, undefined if it failed. */
  readonly record: (now: number, millis: number | undefined) => void
  readonly read: (now: number) => Readonly<Record<Span, Counted>>
}

/** Without calls. */
export const make = (): CallStatistics => {
  const rings = { "5m": makeRing(spans["5m"]), "1h": makeRing(spans["1h"]), "1d": makeRing(spans["1d"]) }
  const all = Object.values(rings)
  return {
    record: (now, millis) => {
      for (const ring of all) ring.record(now, millis)
    },
    read: (now) => ({ "5m": rings["5m"].read(now), "1h": rings["1h"].read(now), "1d": rings["1d"].read(now) })
  }
}
