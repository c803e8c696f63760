/** What needs attention, each with a link to the place where something can be done about it. */
import { useQueries } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { call } from "../../api/call.ts"
import { ApiError } from "../../api/http.ts"
import { useRead } from "../../api/hooks.ts"
import { Badge, type Tone } from "../../parts/Badge.tsx"
import { count, credits, percent, relative } from "../../parts/format.ts"
import { Skeleton } from "../../parts/Loaded.tsx"
import { useGuardrails, useKeys } from "../../parts/names.ts"
import { useScope } from "../../shell/navigation.ts"
import { PageLink } from "../../shell/PageLink.tsx"
import { useReadiness } from "../../shell/readiness.ts"
import { useWorkspaceName, useWorkspaces } from "../../shell/WorkspacePicker.tsx"
import { Down } from "../providers/Down.tsx"
import { providersOf } from "../providers/states.ts"
import { daysText, type Ending, endingOf, rateDays, useCredits, useSpendPerDay } from "./credits.ts"

/** The share of a budget above which it is shown. */
const nearlyUsed = 0.8

const day = 86_400_000

/** Keys that expire within this time are shown, and credits that last no longer. */
const soon = 7 * day

/** How many of one kind are shown. A link leads to all. */
const mostAlike = 4

interface Matter {
  readonly key: string
  readonly tone: Tone
  readonly word: string
  readonly text: ReactNode
}

/** The first few, and how many more there are. */
const few = (matters: ReadonlyArray<Matter>, all: ReactNode): ReadonlyArray<Matter> => {
  const [first] = matters
  if (first === undefined || matters.length <= mostAlike) return matters
  const more = matters.length - mostAlike
  return [
    ...matters.slice(0, mostAlike),
    {
      ...first,
      key: `${first.key} more`,
      text: (
        <>
          {more} more: {all}
        </>
      )
    }
  ]
}

const useHealth = () => useRead("GET /providers/health")

const providerMatters = (data: NonNullable<ReturnType<typeof useHealth>["data"]>): ReadonlyArray<Matter> => {
  const down = providersOf(data.data)
    .filter(({ stopped }) => stopped.length > 0)
    .map((provider): Matter => ({
      key: `down ${provider.name}`,
      tone: "bad",
      word: "Down",
      text: (
        <>
          <PageLink page="providers" search={{ id: provider.name }}>
            {provider.name}
          </PageLink>{" "}
          is <Down provider={provider} />
        </>
      )
    }))
  const refused = new Map(
    data.data.flatMap(({ credential, provider }) =>
      credential === "rejected" || credential === "out_of_credit" ? [[provider, credential] as const] : []
    )
  )
  const credentials = Array.from(refused, ([provider, credential]): Matter => ({
    key: `credential ${provider}`,
    tone: "bad",
    word: "Refused",
    text: (
      <>
        <PageLink page="providers" search={{ id: provider }}>
          {provider}
        </PageLink>{" "}
        {credential === "rejected" ? "refuses the gateway's key" : "says that the account has no credit left"}
      </>
    )
  }))
  return [...few(down, <PageLink page="providers">all providers</PageLink>), ...credentials]
}

const creditMatters = (ending: ReadonlyArray<Ending>): ReadonlyArray<Matter> =>
  few(
    ending
      .filter(({ days }) => days * day <= soon)
      .map(({ days, id, left, name }): Matter => ({
        key: `credits ${id}`,
        tone: left <= 0 ? "bad" : "warning",
        word: left <= 0 ? "No credits" : "Low credits",
        text: (
          <>
            <PageLink page="workspaces" search={{ id }}>
              {name}
            </PageLink>{" "}
            has {credits(left)} credits left
            {left > 0 && `, for ${daysText(days)} at the rate of the last ${rateDays} days`}
          </>
        )
      })),
    <PageLink page="workspaces">all workspaces</PageLink>
  )

const keyMatters = (
  keys: NonNullable<ReturnType<typeof useKeys>["data"]>,
  workspace: string | undefined,
  now: number
): ReadonlyArray<Matter> => {
  const active = keys.data.filter(
    ({ disabled, expires_at, workspace_id }) =>
      !disabled &&
      (expires_at === null || Date.parse(expires_at) > now) &&
      (workspace === undefined || workspace_id === workspace)
  )
  const budgets = active.flatMap(({ hash, limit, limit_remaining, name }): ReadonlyArray<Matter> => {
    if (limit === null || limit_remaining === null || limit === 0) return []
    const share = 1 - limit_remaining / limit
    if (share < nearlyUsed) return []
    return [
      {
        key: `budget ${hash}`,
        tone: share >= 1 ? "bad" : "warning",
        word: share >= 1 ? "Used up" : "Nearly used",
        text: (
          <>
            The key{" "}
            <PageLink page="keys" search={{ id: hash }}>
              {name}
            </PageLink>{" "}
            has used {percent(share)} of {credits(limit)} credits
          </>
        )
      }
    ]
  })
  const expiring = active
    .filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) - now < soon)
    .map(({ expires_at, hash, name }): Matter => ({
      key: `expires ${hash}`,
      tone: "warning",
      word: "Expires",
      text: (
        <>
          The key{" "}
          <PageLink page="keys" search={{ id: hash }}>
            {name}
          </PageLink>{" "}
          expires {relative(expires_at ?? "", now)}
        </>
      )
    }))
  const all = <PageLink page="keys">all keys</PageLink>
  return [...few(budgets, all), ...few(expiring, all)]
}

const guardrailMatters = (guardrails: NonNullable<ReturnType<typeof useGuardrails>["data"]>): ReadonlyArray<Matter> =>
  few(
    guardrails.data.flatMap(({ id, limit_remaining, limit_usd, name }): ReadonlyArray<Matter> => {
      if (limit_usd === null || limit_remaining === null || limit_usd === 0) return []
      const share = 1 - limit_remaining / limit_usd
      if (share < nearlyUsed) return []
      return [
        {
          key: `guardrail ${id}`,
          tone: share >= 1 ? "bad" : "warning",
          word: share >= 1 ? "Used up" : "Nearly used",
          text: (
            <>
              The guardrail{" "}
              <PageLink page="guardrails" search={{ id }}>
                {name}
              </PageLink>{" "}
              has used {percent(share)} of {credits(limit_usd)} credits
            </>
          )
        }
      ]
    }),
    <PageLink page="guardrails">all guardrails</PageLink>
  )

/** How many workspaces are asked for failed deliveries, which the API lists by workspace. */
const mostWorkspaces = 10

/** The failed webhook deliveries of the last 7 days, by workspace. */
const useFailedDeliveries = () => {
  const { workspace } = useScope()
  const { data } = useWorkspaces()
  const ids = workspace === undefined ? (data?.data.map(({ id }) => id) ?? []).slice(0, mostWorkspaces) : [workspace]
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["failed deliveries", id],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => ({
        workspace: id,
        ...(await call(
          "GET /webhooks/deliveries",
          { query: { workspace_id: id, status: "failed", limit: 100 } },
          signal
        ))
      })
    }))
  })
}

export const Attention = () => {
  const { workspace } = useScope()
  const workspaceName = useWorkspaceName()
  const now = Date.now()
  const health = useHealth()
  const money = useCredits()
  const perDay = useSpendPerDay()
  const workspaces = useWorkspaces()
  const keys = useKeys()
  const guardrails = useGuardrails()
  const deliveries = useFailedDeliveries()
  const abandoned = useRead("GET /reservations", { query: { state: "abandoned" } })
  const readiness = useReadiness()

  const parts = Object.entries(readiness.data?.parts ?? {}).flatMap(([name, part]): ReadonlyArray<Matter> =>
    part.status === "ready"
      ? []
      : [
          {
            key: `part ${name}`,
            tone: part.status === "degraded" ? "warning" : "bad",
            word: part.status === "degraded" ? "Degraded" : "Down",
            text: (
              <>
                <PageLink page="system">The {name.replaceAll("_", " ")}</PageLink> fails. {part.message}
              </>
            )
          }
        ]
  )
  const failed = deliveries.flatMap(({ data }): ReadonlyArray<Matter> => {
    const recent = data?.data.filter(({ finished_at }) => now - Date.parse(finished_at ?? "") < soon) ?? []
    if (data === undefined || recent.length === 0) return []
    const number = recent.length === 100 ? "100 or more" : count(recent.length)
    return [
      {
        key: `deliveries ${data.workspace}`,
        tone: "bad",
        word: "Failed",
        text: (
          <>
            <PageLink page="webhooks" search={{ status: "failed", workspace: data.workspace }}>
              {number} webhook {recent.length === 1 ? "delivery" : "deliveries"}
            </PageLink>{" "}
            of {workspaceName(data.workspace)} failed in the last 7 days
          </>
        )
      }
    ]
  })
  const reserved = abandoned.data?.data.length ?? 0
  const matters: ReadonlyArray<Matter> = [
    ...parts,
    ...(health.data === undefined ? [] : providerMatters(health.data)),
    ...creditMatters(endingOf(workspaces.data?.data ?? [], perDay.data?.of, workspace)),
    ...(keys.data === undefined ? [] : keyMatters(keys.data, workspace, now)),
    ...(guardrails.data === undefined ? [] : guardrailMatters(guardrails.data)),
    ...failed,
    ...(reserved === 0
      ? []
      : [
          {
            key: "reservations",
            tone: "warning" as const,
            word: "Check",
            text: (
              <>
                <PageLink page="system">{reserved === 1 ? "1 request" : `${count(reserved)} requests`}</PageLink> ended
                with a crash. A provider may have billed {reserved === 1 ? "it" : "them"}
              </>
            )
          }
        ])
  ]

  const reads = [
    ["The providers", health],
    ["The credits", money],
    ["The spend per day", perDay],
    ["The workspaces", workspaces],
    ["The keys", keys],
    ["The guardrails", guardrails],
    ["The reservations", abandoned],
    ["The state of the service", readiness],
    ...deliveries.map((read) => ["The webhook deliveries", read] as const)
  ] as const
  const isForbidden = (error: Error | null) => error instanceof ApiError && error.status === 403
  const broken = reads.filter(([, { error }]) => error !== null && !isForbidden(error))
  const hidden = reads.filter(([, { error }]) => isForbidden(error)).map(([what]) => what.toLowerCase())
  const unchecked = (keys.data?.total_count ?? 0) - (keys.data?.data.length ?? 0)
  const isReading = reads.some(([, { data, error }]) => data === undefined && error === null)
  return (
    <section className="card attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      {matters.length > 0 && (
        <ul>
          {matters.map(({ key, text, tone, word }) => (
            <li key={key}>
              <Badge tone={tone}>{word}</Badge>
              <span>{text}</span>
            </li>
          ))}
        </ul>
      )}
      {isReading && matters.length === 0 && <Skeleton rows={5} />}
      {!isReading && matters.length === 0 && broken.length + hidden.length === 0 && (
        <p>
          <Badge tone="good">Nothing needs attention</Badge>
        </p>
      )}
      {broken.map(([what, { error }], index) => (
        <p key={index} className="issue">
          {what} could not be read: {error?.message}
        </p>
      ))}
      {hidden.length > 0 && (
        <p className="hint">Your role may not read {[...new Set(hidden)].join(", ")}, which were not checked.</p>
      )}
      {unchecked > 0 && (
        <p className="hint">Of the keys, the 1,000 that used most were checked. {count(unchecked)} were not.</p>
      )}
    </section>
  )
}
