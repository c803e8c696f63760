/** What alerts watch, and the bounds at which they fire. */
import type { Item } from "../../api/Contract.ts"
import { count, credits, duration, percent } from "../../parts/format.ts"

export type Alert = Item<"GET /alerts">
export type Kind = Alert["kind"]

interface KindOf {
  /** What it says in a list of templates. */
  readonly title: string
  /** The label of its bound in forms. */
  readonly bound: string
  /** The bound of its template, as a form has it. */
  readonly template: string
  /** Whether a form has the bound in percent and the API as a share. */
  readonly isShare: boolean
  readonly format: (value: number) => string
}

export const kinds: { readonly [K in Kind]: KindOf } = {
  budget_used: {
    title: "A key or guardrail has used most of its limit",
    bound: "Fires at this percentage of the limit",
    template: "80",
    isShare: true,
    format: percent
  },
  credits_left: {
    title: "A workspace runs out of credits",
    bound: "Fires below this many credits",
    template: "10",
    isShare: false,
    format: (value) => `${credits(value)} credits`
  },
  failed_share: {
    title: "Many requests fail",
    bound: "Fires at this percentage of failed requests",
    template: "10",
    isShare: true,
    format: percent
  },
  circuit_open: {
    title: "A model is not called at a provider, because it is down",
    bound: "Fires after so many seconds",
    template: "60",
    isShare: false,
    format: (value) => duration(value * 1000)
  },
  key_expires: {
    title: "A key expires soon",
    bound: "Fires so many days before",
    template: "7",
    isShare: false,
    format: (value) => `${count(Math.round(value * 10) / 10)} days`
  },
  reservations_abandoned: {
    title: "A crash left reservations to check",
    bound: "Fires at so many reservations",
    template: "1",
    isShare: false,
    format: count
  }
}

/** A bound of a form as the API takes it. */
export const thresholdOf = (kind: Kind, text: string): number =>
  kinds[kind].isShare ? Math.round(Number(text) * 100) / 10_000 : Number(text)

/** A bound of the API as a form has it. */
export const textOf = ({ kind, threshold }: Pick<Alert, "kind" | "threshold">): string =>
  String(kinds[kind].isShare ? Math.round(threshold * 10_000) / 100 : threshold)

export const isKind = (name: string): name is Kind => name in kinds

export const kindNames: ReadonlyArray<Kind> = Object.keys(kinds).filter(isKind)

/** When it fires, in a few words. */
export const ruleOf = ({ kind, min_requests, threshold, window_seconds }: Alert): string => {
  const bound = kinds[kind].format(threshold)
  switch (kind) {
    case "budget_used":
      return `${bound} of the limit used`
    case "credits_left":
      return `less than ${bound} left`
    case "failed_share":
      return `${bound} of requests fail in ${duration((window_seconds ?? 300) * 1000)}, of at least ${min_requests ?? 20}`
    case "circuit_open":
      return `down for ${bound}`
    case "key_expires":
      return `expires in less than ${bound}`
    case "reservations_abandoned":
      return `${bound} or more abandoned reservations`
  }
}
