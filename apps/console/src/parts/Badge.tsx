/** A state: always an icon and a word, never a color alone. */
import type { ReactNode } from "react"
import { Icon, type IconName } from "./Icon.tsx"

export type Tone = "good" | "bad" | "warning" | "waiting" | "quiet"

const icons: { readonly [T in Tone]: IconName } = {
  good: "ok",
  bad: "failed",
  warning: "warning",
  waiting: "waiting",
  quiet: "off"
}

export const Badge = ({ children, tone }: { readonly tone: Tone; readonly children: ReactNode }) => (
  <span className={`badge ${tone}`}>
    <Icon name={icons[tone]} />
    {children}
  </span>
)

const tones: Readonly<Record<string, Tone>> = {
  completed: "good",
  delivered: "good",
  active: "good",
  closed: "good",
  ok: "good",
  failed: "bad",
  open: "bad",
  expired: "warning",
  half_open: "warning",
  "half-open": "warning",
  pending: "waiting",
  in_progress: "waiting",
  cancelled: "quiet",
  disabled: "quiet"
}

/** A status of the API. */
export const StatusBadge = ({ status }: { readonly status: string }) => (
  <Badge tone={tones[status] ?? "quiet"}>{status.replaceAll("_", " ")}</Badge>
)
