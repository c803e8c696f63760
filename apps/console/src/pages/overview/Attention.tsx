/** What needs attention, each with a link to the place where something can be done about it. */
import { useQueries } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { call } from "../../api/call.ts"
import { useRead } from "../../api/hooks.ts"
import { Badge, type Tone } from "../../parts/Badge.tsx"
import { count } from "../../parts/format.ts"
import { Skeleton } from "../../parts/Loaded.tsx"
import { useScope } from "../../shell/navigation.ts"
import { PageLink } from "../../shell/PageLink.tsx"
import { useReadiness } from "../../shell/readiness.ts"
import { useWorkspaceName, useWorkspaces } from "../../shell/WorkspacePicker.tsx"
import { Down } from "../providers/Down.tsx"
import { providersOf } from "../providers/states.ts"
import { areRead, areReading, NotRead, type Reads } from "./reads.tsx"

/** Deliveries that failed within this time are shown. */
const recently = 7 * 86_400_000

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
  const workspaceName = useWorkspaceName()
  const { workspace } = useScope()
  const now = Date.now()
  const health = useHealth()
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
    const recent = data?.data.filter(({ finished_at }) => now - Date.parse(finished_at ?? "") < recently) ?? []
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
  const reserved =
    abandoned.data?.data.filter(({ workspace_id }) => workspace === undefined || workspace_id === workspace).length ?? 0
  const matters: ReadonlyArray<Matter> = [
    ...parts,
    ...(health.data === undefined ? [] : providerMatters(health.data)),
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

  const reads: Reads = [
    ["The providers", health],
    ["The reservations", abandoned],
    ["The state of the service", readiness],
    ...deliveries.map((read) => ["The webhook deliveries", read] as const)
  ]
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
      {matters.length === 0 &&
        (areReading(reads) ? (
          <Skeleton rows={5} />
        ) : (
          areRead(reads) && (
            <p>
              <Badge tone="good">Nothing needs attention</Badge>
            </p>
          )
        ))}
      <NotRead reads={reads} />
    </section>
  )
}
