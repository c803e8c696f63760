/**
 * The slots in which one process works on video jobs. A job needs one while the worker waits for an
 * upstream.
 *
 * Each provider has slots of its own, so a provider that hangs delays no job of another one. At one
 * provider, a workspace gets at most half of them, and workspaces that wait are served in turn.
 *
 * What is left to do for jobs that have ended, such as canceling them upstream, uses other slots.
 * So it does not delay open jobs at a provider that does not answer.
 */
import { Data, Duration, Effect, type Scope } from "effect"
import * as FairShare from "@model-gateway/offers/FairShare"
import type { VideoJob } from "./VideoJob.ts"

/** A slot, released when its scope closes. */
export interface Slot {
  /** Whether the job waited for it, so that its row may have changed. */
  readonly hasWaited: boolean
  /** Whether other jobs wait for a slot of the same kind. */
  readonly isWanted: () => boolean
  /** Gives it up before the scope closes. */
  readonly release: Effect.Effect<void>
}

/** The job gets no slot now, and too many others wait already. */
export class NoSlot extends Data.TaggedError("NoSlot")<{ readonly provider: string }> {
  override readonly message = `All slots for video jobs at the provider ${this.provider} are taken.`
}

/** The slots of this process. */
export interface VideoSlots {
  /** Takes a slot for an open job. Waits for it for up to {@link maxWait}. */
  readonly open: (job: Owner) => Effect.Effect<Slot, NoSlot, Scope.Scope>
  /** Takes a slot for a job that has ended. Waits for it likewise. */
  readonly ended: (job: Owner) => Effect.Effect<Slot, NoSlot, Scope.Scope>
  /** As `ended`, if a slot is free now. */
  readonly endedNow: (job: Owner) => Effect.Effect<Slot, NoSlot, Scope.Scope>
}

/** Who needs a slot. */
export type Owner = Pick<VideoJob, "provider" | "workspaceId">

/** A job that has waited this long goes back to the queue, so that another process may take it. */
export const maxWait = Duration.seconds(5)

/** The slots for jobs that have ended, as a part of those for open ones. */
const endedPart = 1 / 4

/** The jobs that may wait in memory for the slots of a provider, for each of its slots. */
const waitingPerSlot = 2

/** The jobs of one workspace that may wait in memory, as a part of the slots of a provider. */
const waitingPart = 1 / 4

const partOf = (slots: number, part: number): number => Math.max(1, Math.floor(slots * part))

/**
 * The greatest number of jobs with a slot, or waiting for one, at this many providers. A process
 * that takes as many messages always has room for a job of each provider.
 */
export const maxJobs = (slotsPerProvider: number, providers: number): number =>
  providers * (slotsPerProvider + partOf(slotsPerProvider, endedPart) + 2 * slotsPerProvider * waitingPerSlot)

/** Makes the slots. Each provider has as many for open jobs. */
export const make = (slotsPerProvider: number): VideoSlots => {
  const slotsOf = (capacity: number) => {
    const shares = new Map<string, FairShare.FairShare>()
    const shareOf = (provider: string): FairShare.FairShare => {
      const share = shares.get(provider) ?? FairShare.make({ capacity, perOwner: partOf(capacity, 1 / 2) })
      shares.set(provider, share)
      return share
    }

    return Effect.fnUntraced(function* ({ provider, workspaceId }: Owner, patience: Duration.Duration) {
      const share = shareOf(provider)
      const ticket = yield* Effect.acquireRelease(
        Effect.sync(() => share.enter(workspaceId, 1)),
        ({ leave }) => Effect.sync(leave)
      )
      const hasWaited = !ticket.isGranted()
      if (hasWaited) {
        const isCrowded =
          share.waiting() > slotsPerProvider * waitingPerSlot ||
          share.waiting(workspaceId) > partOf(slotsPerProvider, waitingPart)
        yield* Effect.timeoutOrElse(ticket.granted, {
          duration: isCrowded ? Duration.zero : patience,
          orElse: () => Effect.andThen(Effect.sync(ticket.leave), Effect.fail(new NoSlot({ provider })))
        })
      }
      return { hasWaited, isWanted: () => share.waiting() > 0, release: Effect.sync(ticket.leave) }
    })
  }

  const open = slotsOf(slotsPerProvider)
  const ended = slotsOf(partOf(slotsPerProvider, endedPart))
  return {
    open: (job) => open(job, maxWait),
    ended: (job) => ended(job, maxWait),
    endedNow: (job) => ended(job, Duration.zero)
  }
}
