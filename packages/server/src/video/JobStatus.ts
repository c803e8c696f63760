/**
 * Which states a video job has and which moves between them there are.
 *
 * `pending` → `in_progress` → `completed` or `failed`; either of the first two → `cancelled` or `expired`. The last four are final.
 *
 * Specification: "Video job `status`"; the moves are the contract's.
 */
import { isFinal, type Status } from "@model-gateway/core/Video"

/** From each state, the states that may come next. */
export const moves: Readonly<Record<Status, ReadonlyArray<Status>>> = {
  pending: ["in_progress", "cancelled", "expired"],
  in_progress: ["completed", "failed", "cancelled", "expired"],
  completed: [],
  failed: [],
  cancelled: [],
  expired: []
}

/** Every state, in the order a job may pass through them. */
export const all: ReadonlyArray<Status> = ["pending", "in_progress", "completed", "failed", "cancelled", "expired"]

/** Whether a job may go from the one state to the other. */
export const canMove = (from: Status, to: Status): boolean => moves[from].includes(to)

/** The states from which a job may go to this one: what an update of its row is conditional on. */
export const sourcesOf = (to: Status): ReadonlyArray<Status> => all.filter((from) => canMove(from, to))

/** The states in which there is still something to do. */
export const open: ReadonlyArray<Status> = all.filter((status) => !isFinal(status))
