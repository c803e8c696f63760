/**
 * The attempts of a video job: its submissions to providers.
 *
 * They are kept with the job until it ends, and are then reported by its event and the request log.
 */
import type { ProviderAttempt } from "../accounting/ProviderAttempt.ts"
import type { VideoJob } from "./VideoJob.ts"

/** A job may be submitted very often, so it keeps this many of its first and latest attempts. */
const maxFirst = 5
const maxLatest = 20

/** Adds attempts, and drops those in the middle if there are too many. */
export const add = (
  before: ReadonlyArray<ProviderAttempt>,
  made: ReadonlyArray<ProviderAttempt>
): ReadonlyArray<ProviderAttempt> => {
  const all = [...before, ...made]
  return all.length <= maxFirst + maxLatest ? all : [...all.slice(0, maxFirst), ...all.slice(-maxLatest)]
}

/**
 * The attempts of a job that has ended. The one that was accepted is billed if the job was
 * completed; otherwise nobody knows. A submission whose end was not recorded, because the process
 * stopped or the job was canceled meanwhile, is `Interrupted`. How long it took is not known.
 */
export const atEnd = ({
  askedAt,
  attempts,
  handle,
  isByok,
  provider,
  status
}: Pick<
  VideoJob,
  "askedAt" | "attempts" | "handle" | "isByok" | "provider" | "status"
>): ReadonlyArray<ProviderAttempt> => {
  if (status === "completed") {
    return attempts.map((attempt) => (attempt.outcome === "Success" ? { ...attempt, billed: "yes" } : attempt))
  }
  if (askedAt === null || handle !== null) return attempts
  const isRecorded = attempts.some((one) => one.provider === provider && (one.started_at ?? 0) >= askedAt)
  if (isRecorded) return attempts
  return add(attempts, [
    {
      provider,
      outcome: "Interrupted",
      seconds: 0,
      billed: "unknown",
      ...(isByok ? { is_byok: true } : {}),
      started_at: askedAt
    }
  ])
}
