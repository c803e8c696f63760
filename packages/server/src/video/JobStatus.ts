/**
 * The states of a video job and the allowed transitions between them.
 *
 * `pending` → `in_progress` → `completed` or `failed`. Both `pending` and `in_progress` →
 * `cancelled` or `expired`. The last four states are final.
 *
 * Specification: "Video job". The contract defines the transitions.
 */
import { isFinal, type Status } from "@model-gateway/core/Video"

/** For each state, the states that may follow it. */
export const moves: Readonly<Record<Status, ReadonlyArray<Status>>> = {
  pending: ["in_progress", "cancelled", "expired"],
  in_progress: ["completed", "failed", "cancelled", "expired"],
  completed: [],
  failed: [],
  cancelled: [],
  expired: []
}

/** Every state, in the order in which a job may pass through them. */
export const all: ReadonlyArray<Status> = ["pending", "in_progress", "completed", "failed", "cancelled", "expired"]

/** Whether a job may change from one state to the other. */
export const canMove = (from: Status, to: Status): boolean => moves[from].includes(to)

/**
 * The states from which a job may change to this one. Updates of a job's row are conditional on
 * them.
 */
export const sourcesOf = (to: Status): ReadonlyArray<Status> => all.filter((from) => canMove(from, to))

/** The states that are not final. */
export const open: ReadonlyArray<Status> = all.filter((status) => !isFinal(status))
