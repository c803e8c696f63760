/** What the page knows of video jobs. */
import type { Item } from "../../api/Contract.ts"
import { percent } from "../../parts/format.ts"

export type ListedVideo = Item<"GET /videos">

/** The states of a job, and those that it stays in. */
export const statuses = ["pending", "in_progress", "completed", "failed", "cancelled", "expired"] as const

const final: ReadonlyArray<string> = ["completed", "failed", "cancelled", "expired"]

export const isFinal = (status: string): boolean => final.includes(status)

/** How much of a job is done, if its provider says so. */
export const Progress = ({ progress }: { readonly progress: number | undefined }) =>
  progress === undefined ? (
    <span className="hint">no progress reported</span>
  ) : (
    <span className="progress figures">
      <progress aria-label="Progress" max={1} value={progress} /> {percent(progress)}
    </span>
  )
