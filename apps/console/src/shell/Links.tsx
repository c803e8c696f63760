/** Links to what an id identifies, with its name. */
import { useRead, useSessionState } from "../api/hooks.ts"
import { shortId } from "../parts/format.ts"
import { useGuardrails } from "../parts/names.ts"
import { PageLink } from "./PageLink.tsx"

/** A key by its hash. Without a name, the name is read. */
export const KeyLink = ({ hash, name }: { readonly hash: string; readonly name?: string | undefined }) => {
  const { data } = useRead("GET /keys/:hash", { params: { hash } }, { enabled: name === undefined })
  return (
    <PageLink page="keys" search={{ id: hash }}>
      {name ?? data?.data.name ?? shortId(hash)}
    </PageLink>
  )
}

/** A guardrail by its id. */
export const GuardrailLink = ({ id }: { readonly id: string }) => {
  const all = useGuardrails().data?.data
  const known = all?.find((guardrail) => guardrail.id === id)
  const isUnknown = all !== undefined && known === undefined
  const { data } = useRead("GET /guardrails/:id", { params: { id } }, { enabled: isUnknown })
  return (
    <PageLink page="guardrails" search={{ id }}>
      {known?.name ?? data?.data.name ?? shortId(id)}
    </PageLink>
  )
}

/** Leads to the changes of something, which only a person who sees all workspaces may read. */
export const ChangesLink = ({ target }: { readonly target: string }) => {
  const { session } = useSessionState()
  return (
    session?.workspace_ids === null && (
      <>
        {" "}
        (
        <PageLink page="audit" search={{ target, range: "30d" }}>
          its changes
        </PageLink>
        )
      </>
    )
  )
}

/** Who makes changes without a key. */
export const actorsWithoutKey: ReadonlyMap<string, string> = new Map([
  ["operator", "Command line"],
  ["gateway", "The gateway"]
])

/** Who made a change: a key, the command line, or the gateway itself. Null: the gateway. */
export const Actor = ({ actor, label }: { readonly actor: string | null; readonly label?: string | undefined }) => {
  const name = actorsWithoutKey.get(actor ?? "gateway")
  if (actor === null || name !== undefined) return name
  return /^[0-9a-f]{64}$/.test(actor) ? <KeyLink hash={actor} /> : (label ?? actor)
}
