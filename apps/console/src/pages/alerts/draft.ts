/** The fields of an alert as texts of a form, and as the API takes them. */
import type { Payload } from "../../api/Contract.ts"
import { type Alert, type Kind, kinds, textOf, thresholdOf } from "./kinds.tsx"

export interface Draft {
  readonly name: string
  readonly kind: Kind
  readonly threshold: string
  readonly window: string
  readonly minRequests: string
  /** Empty: all. */
  readonly workspace: string
  readonly key: string
  readonly guardrail: string
  readonly model: string
  readonly provider: string
  readonly target: "webhook" | "slack"
  readonly url: string
}

/** A template: an alert of a kind, with its usual bound. */
export const templateOf = (kind: Kind): Draft => ({
  name: kinds[kind].title,
  kind,
  threshold: kinds[kind].template,
  window: "300",
  minRequests: "20",
  workspace: "",
  key: "",
  guardrail: "",
  model: "",
  provider: "",
  target: "webhook",
  url: ""
})

export const draftOf = (alert: Alert): Draft => ({
  name: alert.name,
  kind: alert.kind,
  threshold: textOf(alert),
  window: String(alert.window_seconds ?? 300),
  minRequests: String(alert.min_requests ?? 20),
  workspace: alert.workspace_id ?? "",
  key: alert.key_hash ?? "",
  guardrail: alert.guardrail_id ?? "",
  model: alert.model ?? "",
  provider: alert.provider ?? "",
  target: alert.target.type === "slack" ? "slack" : "webhook",
  url: ""
})

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim())

/** What it watches, and the bound. */
export const fieldsOf = (draft: Draft) => {
  const { kind } = draft
  return {
    name: draft.name.trim(),
    threshold: thresholdOf(kind, draft.threshold),
    ...(kind === "failed_share" && {
      window_seconds: Number(draft.window),
      min_requests: Number(draft.minRequests),
      model: orNull(draft.model)
    }),
    ...(kind !== "circuit_open" && { workspace_id: orNull(draft.workspace) }),
    ...((kind === "budget_used" || kind === "key_expires") && { key_hash: orNull(draft.key) }),
    ...(kind === "budget_used" && { guardrail_id: orNull(draft.guardrail) }),
    ...(kind === "circuit_open" && { model: orNull(draft.model), provider: orNull(draft.provider) })
  } satisfies Payload<"PATCH /alerts/:id">
}
