/** All facts of a workspace, its ledger, and what can be done with it. */
import { useState } from "react"
import { useChange, useMay, useRead } from "../../api/hooks.ts"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { credits } from "../../parts/format.ts"
import { ItemActions } from "../../parts/ItemActions.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { ChangesLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { CreditsForm } from "./CreditsForm.tsx"
import { DeletionOfWorkspace } from "./DeletionOfWorkspace.tsx"
import { Ledger } from "./Ledger.tsx"
import { EditWorkspace, shapes, type Workspace } from "./WorkspaceForm.tsx"

/** The buttons that change the credits, and their form. */
const Credits = ({ of }: { readonly of: Workspace }) => {
  const [way, setWay] = useState<"add" | "correct">()
  return (
    <>
      <button type="button" className="primary" onClick={() => setWay("add")}>
        Add credits
      </button>
      <button type="button" onClick={() => setWay("correct")}>
        Correct credits
      </button>
      {way !== undefined && <CreditsForm of={of} way={way} onClose={() => setWay(undefined)} />}
    </>
  )
}

const Actions = ({ of, onDeleted }: { readonly of: Workspace; readonly onDeleted: () => void }) => {
  const isAdmin = useMay("admin")
  const remove = useChange("DELETE /workspaces/:id")
  return (
    <ItemActions
      what="workspace"
      name={of.name}
      edit={isAdmin && ((close) => <EditWorkspace of={of} onClose={close} />)}
      deletion={
        isAdmin &&
        !of.is_default && {
          change: remove,
          run: () => remove.mutate({ params: { id: of.id } }, { onSuccess: onDeleted }),
          effect: <DeletionOfWorkspace of={of} />
        }
      }
    >
      <Credits of={of} />
    </ItemActions>
  )
}

const Facts = ({ of }: { readonly of: Workspace }) => {
  const { data } = useRead("GET /credits", { query: { workspace_id: of.id } })
  return (
    <dl className="facts">
      <dt>Credits left</dt>
      <dd className="figures">
        <strong>{credits(of.credits)}</strong>
        {data !== undefined && (
          <span className="hint">
            {" "}
            of {credits(data.data.total_credits)} added, {credits(data.data.total_usage)} spent
          </span>
        )}
      </dd>
      <dt>Slug</dt>
      <dd>
        <code>{of.slug}</code>
        {of.is_default && <span className="hint"> (the default workspace)</span>}
      </dd>
      {of.description !== null && (
        <>
          <dt>For</dt>
          <dd>{of.description}</dd>
        </>
      )}
      <dt>Callback URL of videos</dt>
      <dd>{of.default_callback_url ?? "None"}</dd>
      <dt>Shape of files</dt>
      <dd>{shapes.find(([shape]) => shape === of.file_shape)?.[1] ?? of.file_shape}</dd>
      <dt>Id</dt>
      <dd>
        <Id id={of.id} what="the id" full />
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={of.created_at} />
        {of.created_by !== null && ` by user ${of.created_by}`}
        <ChangesLink target={of.id} />
      </dd>
    </dl>
  )
}

export const WorkspaceDetails = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const workspace = useRead("GET /workspaces/:id", { params: { id } })
  const mayChange = useMay("operator")
  return (
    <Dialog kind="side" title={workspace.data?.data.name ?? "Workspace"} onClose={onClose}>
      <Loaded value={workspace} what="The workspace" rows={10}>
        {({ data }) => (
          <>
            {mayChange && <Actions of={data} onDeleted={onClose} />}
            <Facts of={data} />
            <div className="bar">
              <PageLink page="keys" className="button" search={{ workspace: data.id }}>
                Keys
              </PageLink>
              <PageLink page="usage" className="button" search={{ workspace: data.id }}>
                Usage
              </PageLink>
              <PageLink page="requests" className="button" search={{ workspace: data.id }}>
                Requests
              </PageLink>
            </div>
            <Ledger of={data} />
          </>
        )}
      </Loaded>
    </Dialog>
  )
}
