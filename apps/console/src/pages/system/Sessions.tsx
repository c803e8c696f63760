/** Who is signed in to the console. */
import { useState } from "react"
import type { Item } from "../../api/Contract.ts"
import { useChange, useRead } from "../../api/hooks.ts"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"

type Session = Item<"GET /console/sessions">

const ways: { readonly [K in Session["kind"]]: string } = {
  key: "Management key",
  link: "One-time link",
  oidc: "OpenID Connect",
  proxy: "Proxy"
}

const EndDialog = ({ onClose, session }: { readonly session: Session; readonly onClose: () => void }) => {
  const end = useChange("DELETE /console/sessions/:id")
  return (
    <FormDialog
      title={`End the session of ${session.label}`}
      action="End session"
      dangerous
      change={end}
      onSubmit={() => end.mutate({ params: { id: session.id } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        {session.is_current ? "This is your session. You" : "The person"} must sign in again. Disable or delete a key
        that should not sign in any more.
      </p>
    </FormDialog>
  )
}

const EndAllDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const end = useChange("DELETE /console/sessions")
  return (
    <FormDialog
      title="End all sessions"
      action="End all sessions"
      dangerous
      change={end}
      onSubmit={() => end.mutate({}, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>Everybody must sign in again, also you. Links that were not used yet still sign in once.</p>
    </FormDialog>
  )
}

const columnsOf = (end: (session: Session) => void): ReadonlyArray<Column<Session>> => [
  {
    key: "who",
    title: "Who",
    width: "minmax(9rem, 2fr)",
    cell: ({ actor, is_current, label }) => (
      <>
        <PageLink page="audit" search={{ actor }}>
          {label}
        </PageLink>
        {is_current && <span className="hint"> (you)</span>}
      </>
    ),
    sort: ({ label }) => label
  },
  { key: "way", title: "Way", width: "minmax(8rem, 1fr)", cell: ({ kind }) => ways[kind], sort: ({ kind }) => kind },
  { key: "role", title: "Role", width: "5.5rem", cell: ({ role }) => role, sort: ({ role }) => role },
  { key: "address", title: "Address", width: "minmax(7rem, 1fr)", cell: ({ address }) => address },
  {
    key: "began",
    title: "Began",
    width: "6rem",
    cell: ({ created_at }) => <Time at={created_at} ago />,
    sort: ({ created_at }) => created_at
  },
  {
    key: "used",
    title: "Last used",
    width: "6rem",
    cell: ({ last_used_at }) => <Time at={last_used_at} ago />,
    sort: ({ last_used_at }) => last_used_at
  },
  {
    key: "actions",
    title: "Actions",
    width: "5rem",
    cell: (session) => (
      <button
        type="button"
        className="quiet"
        aria-label={`End the session of ${session.label}`}
        onClick={() => end(session)}
      >
        End
      </button>
    )
  }
]

export const Sessions = () => {
  const sessions = useRead("GET /console/sessions", {}, { refetchInterval: 15_000 })
  const [ending, setEnding] = useState<Session | "all">()
  const close = () => setEnding(undefined)
  return (
    <section className="card" aria-labelledby="sessions">
      <div className="bar">
        <h2 id="sessions">Sessions of the console</h2>
        <span className="end">
          <button type="button" className="danger" onClick={() => setEnding("all")}>
            End all
          </button>
        </span>
      </div>
      <Loaded value={sessions} what="The sessions" rows={2}>
        {({ data, has_more }) => (
          <>
            <Table label="Sessions of the console" columns={columnsOf(setEnding)} rows={data} rowKey={({ id }) => id} />
            {has_more && <p className="hint">These are the 1,000 that were used last. There are others.</p>}
          </>
        )}
      </Loaded>
      {ending === "all" && <EndAllDialog onClose={close} />}
      {ending !== undefined && ending !== "all" && <EndDialog session={ending} onClose={close} />}
    </section>
  )
}
