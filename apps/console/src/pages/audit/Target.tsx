/** What a change was about, as a link to its page. */
import type { ReactNode } from "react"
import { shortId } from "../../parts/format.ts"
import { KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import type { Entry } from "./difference.ts"

const kinds: Readonly<Record<string, string>> = {
  key: "Key",
  guardrail: "Guardrail",
  workspace: "Workspace",
  provider_key: "Provider key",
  destination: "Destination",
  webhook_secret: "Webhook secret",
  webhook_delivery: "Webhook",
  reservation: "Reservation",
  alert: "Alert"
}

/** Its name as the entry has it, or else the start of its id. */
const nameOf = ({ after, before, target_id }: Entry): string => {
  const name = after?.["name"] ?? before?.["name"]
  return typeof name === "string" ? name : shortId(target_id)
}

const linkOf = ({ target_id: id, target_kind }: Entry, name: ReactNode): ReactNode => {
  switch (target_kind) {
    case "key":
      return (
        <PageLink page="keys" search={{ id }}>
          {name}
        </PageLink>
      )
    case "guardrail":
      return (
        <PageLink page="guardrails" search={{ id }}>
          {name}
        </PageLink>
      )
    case "workspace":
      return (
        <PageLink page="workspaces" search={{ id }}>
          {name}
        </PageLink>
      )
    case "provider_key":
      return (
        <PageLink page="provider-keys" search={{ id }}>
          {name}
        </PageLink>
      )
    case "destination":
      return (
        <PageLink page="destinations" search={{ id }}>
          {name}
        </PageLink>
      )
    case "webhook_delivery":
      return (
        <PageLink page="webhooks" search={{ id }}>
          {name}
        </PageLink>
      )
    case "webhook_secret":
      return <PageLink page="webhooks">{name}</PageLink>
    case "reservation":
      return <PageLink page="system">{name}</PageLink>
    case "alert":
      return (
        <PageLink page="alerts" search={{ id }}>
          {name}
        </PageLink>
      )
    default:
      return name
  }
}

export const Target = ({ of }: { readonly of: Entry }) => (
  <>
    {kinds[of.target_kind] ?? of.target_kind} {linkOf(of, nameOf(of))}
  </>
)

/** The same, with the name that a key has now if the entry has none. */
export const NamedTarget = ({ of }: { readonly of: Entry }) => {
  const isGone = of.after === null
  return of.target_kind === "key" && !isGone ? (
    <>
      Key <KeyLink hash={of.target_id} />
    </>
  ) : (
    <Target of={of} />
  )
}
