/**
 * Which failed requests are recorded. A caller in a loop, or an attack, would otherwise fill the
 * disk and hide everything else.
 *
 * Of each minute, the first {@link perSource} requests of each source are recorded, and at most
 * {@link perMinute} of all. Requests without a stored key have a smaller share of their own, so that
 * strangers never use up what is left for callers. A source is a key, or an address without a key,
 * with a status.
 */
import type { Omission } from "./RejectedRequests.ts"

/** The requests of one source that are recorded in a minute. */
export const perSource = 30

/** The requests that are recorded in a minute: with a stored key, and without one. */
export const perMinute = { known: 600, unknown: 60 }

const minute = 60_000

/** What was left out in a minute that is over. */
export interface EndedMinute {
  /** Of each source with a recorded request: the last one of them, and how many followed. */
  readonly omissions: ReadonlyArray<Omission>
  /** The others, whose source had none or had more than all sources may have. */
  readonly others: number
}

/** Decides for one process. */
export interface FailureSampling {
  /** Whether to record a request, under this id. Ends the minute before, if it is over. */
  readonly take: (request: { readonly source: string; readonly isKnown: boolean; readonly id: string }) => boolean
  /** Begins a new minute if the last one is over, and returns what it left out. */
  readonly next: (now: number) => EndedMinute | undefined
}

interface Source {
  lastId: string
  taken: number
  omitted: number
}

/** Starts with a minute that begins `now`, in monotonic milliseconds. Call `next` before `take`. */
export const make = (now: number): FailureSampling => {
  let startedAt = now
  /** At most as many as {@link perMinute} allows: a source is added when its request is taken. */
  let sources = new Map<string, Source>()
  let taken = { known: 0, unknown: 0 }
  let others = 0

  return {
    take: ({ id, isKnown, source }) => {
      const known = sources.get(source)
      if (known !== undefined && known.taken >= perSource) {
        known.omitted++
        return false
      }
      const share = isKnown ? "known" : "unknown"
      if (taken[share] >= perMinute[share]) {
        if (known === undefined) others++
        else known.omitted++
        return false
      }
      taken[share]++
      if (known === undefined) sources.set(source, { lastId: id, taken: 1, omitted: 0 })
      else {
        known.lastId = id
        known.taken++
      }
      return true
    },
    next: (now) => {
      if (now - startedAt < minute) return undefined
      const omissions = [...sources.values()].flatMap(({ lastId, omitted }) =>
        omitted === 0 ? [] : [{ id: lastId, omitted }]
      )
      const ended = { omissions, others }
      startedAt = now
      sources = new Map()
      taken = { known: 0, unknown: 0 }
      others = 0
      return ended
    }
  }
}
