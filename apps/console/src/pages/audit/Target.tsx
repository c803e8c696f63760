/** What a change was about, as a link to its page. */
import type { ReactNode } from "react"
import { shortId } from "../../parts/format.ts"
import { useGuardrailName, useKeyName } from "../../parts/names.ts"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaces } from "../../shell/WorkspacePicker.tsx"
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
  alert: "Alert",
  console_session: "Session",
  console_link: "Link"
}

/** The name of a target: as the entry has it, else as it is now, else the start of its id. */
export const useTargetName = (): ((entry: Entry) => string) => {
  const keyName = useKeyName()
  const guardrailName = useGuardrailName()
  const workspaces = useWorkspaces().data?.data
  return ({ after, before, target_id, target_kind }) => {
    const name = after?.["name"] ?? before?.["name"]
    if (typeof name === "string") return name
    if (target_kind === "key") return keyName(target_id)
    if (target_kind === "guardrail") return guardrailName(target_id)
    return workspaces?.find(({ id }) => id === target_id)?.name ?? shortId(target_id)
  }
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
    case "console_session":
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

export const Target = ({ name, of }: { readonly of: Entry; readonly name: string }) => (
  <span>
    {kinds[of.target_kind] ?? of.target_kind} {linkOf(of, name)}
  </span>
)
