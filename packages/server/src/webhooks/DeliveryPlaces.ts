/**
 * The places of webhooks that one process sends at the same time: who may take the next one.
 *
 * A receiver that hangs keeps its place for 15 seconds. So that others are not kept waiting:
 *
 * - one workspace takes a part of the places, and one receiver a few of these;
 * - a workspace always has a few places of its own, also while all others are taken;
 * - a receiver that times out loses its places for a while. What is due to it waits, and then one
 *   webhook is tried. The pause doubles with each further time-out, and ends with an answer.
 *
 * A receiver is a host of one workspace: no workspace can make another one's webhooks wait.
 */
import * as LruMap from "../internal/LruMap.ts"

/** Where a webhook goes. */
export interface Receiver {
  readonly workspaceId: string
  readonly host: string
}

/** How many webhooks may be sent at the same time. */
export interface Limits {
  /** Of all workspaces, before only the places of their own are left. */
  readonly concurrency: number
  readonly perWorkspace: number
  readonly perHost: number
}

/** The places. */
export interface DeliveryPlaces {
  readonly enter: (receiver: Receiver) => void
  readonly leave: (receiver: Receiver) => void
  readonly hasRoom: (receiver: Receiver) => boolean
  /** Whether there is no room for any receiver. */
  readonly isFull: () => boolean
  /** The workspaces and the receivers that have no room. */
  readonly full: () => {
    readonly workspaces: ReadonlyArray<string>
    readonly hosts: ReadonlyArray<readonly [workspaceId: string, host: string]>
  }
  /** The milliseconds that are left of the receiver's pause. `now` is monotonic. */
  readonly pauseLeft: (receiver: Receiver, now: number) => number
  /** Starts a pause at this time, unless the receiver has one. */
  readonly timedOut: (receiver: Receiver, now: number) => void
  /** An attempt ended in time: the receiver's next time-out is its first one. */
  readonly inTime: (receiver: Receiver) => void
}

/** The places that each workspace has of its own. */
const ownPlaces = 2

/** Places of all workspaces, as a multiple of the concurrency. Each takes a connection. */
const maxFactor = 4

/** The first pause. Each further time-out doubles it. */
const firstPauseMillis = 5000

const maxPauseMillis = 5 * 60_000

/** Above this number of receivers, the pause that was used the least recently is forgotten. */
const maxReceivers = 10_000

interface Pause {
  readonly failures: number
  readonly until: number
}

const keyOf = ({ host, workspaceId }: Receiver): string => `${workspaceId}\n${host}`

/** Makes places, all of them free. */
export const make = ({ concurrency, perHost, perWorkspace }: Limits): DeliveryPlaces => {
  const maxPlaces = concurrency * maxFactor
  let total = 0
  const workspaces = new Map<string, number>()
  const receivers = new Map<string, Receiver & { readonly count: number }>()
  const pauses = LruMap.make<string, Pause>(maxReceivers)

  const add = (receiver: Receiver, by: 1 | -1): void => {
    const { host, workspaceId } = receiver
    const key = keyOf(receiver)
    total += by
    const inWorkspace = (workspaces.get(workspaceId) ?? 0) + by
    if (inWorkspace === 0) workspaces.delete(workspaceId)
    else workspaces.set(workspaceId, inWorkspace)
    const count = (receivers.get(key)?.count ?? 0) + by
    if (count === 0) receivers.delete(key)
    else receivers.set(key, { workspaceId, host, count })
  }

  const failuresOf = (key: string): number => pauses.get(key)?.failures ?? 0

  /** After a time-out, one webhook shows whether the receiver answers again. */
  const isHostFull = (key: string): boolean => (receivers.get(key)?.count ?? 0) >= (failuresOf(key) > 0 ? 1 : perHost)

  /** What a workspace may take now. */
  const share = (): number => (total < concurrency ? perWorkspace : Math.min(perWorkspace, ownPlaces))

  const isFull = (): boolean => total >= maxPlaces

  return {
    enter: (receiver) => add(receiver, 1),
    leave: (receiver) => add(receiver, -1),
    hasRoom: (receiver) =>
      !isFull() && (workspaces.get(receiver.workspaceId) ?? 0) < share() && !isHostFull(keyOf(receiver)),
    isFull,
    full: () => ({
      workspaces: [...workspaces].flatMap(([id, count]) => (count < share() ? [] : [id])),
      hosts: [...receivers].flatMap(([key, { host, workspaceId }]) =>
        isHostFull(key) ? [[workspaceId, host] as const] : []
      )
    }),
    pauseLeft: (receiver, now) => Math.max(0, (pauses.get(keyOf(receiver))?.until ?? now) - now),
    timedOut: (receiver, now) => {
      const key = keyOf(receiver)
      const pause = pauses.get(key)
      // Of the webhooks that hang together, the first one counts.
      if (pause !== undefined && pause.until > now) return
      const failures = (pause?.failures ?? 0) + 1
      const length = Math.min(maxPauseMillis, firstPauseMillis * 2 ** Math.min(failures - 1, 20))
      pauses.set(key, { failures, until: now + length })
    },
    inTime: (receiver) => {
      const key = keyOf(receiver)
      if (failuresOf(key) > 0) pauses.set(key, { failures: 0, until: Number.NEGATIVE_INFINITY })
    }
  }
}
