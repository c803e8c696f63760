/** All facts of a workspace, its ledger, and what can be done with it. */
import { useState } from "react"
import { useMay, useRead, useSessionState } from "../../api/hooks.ts"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { credits } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { CreditsForm } from "./CreditsForm.tsx"
import { DeleteWorkspace } from "./DeleteWorkspace.tsx"
import { Ledger } from "./Ledger.tsx"
import { EditWorkspace, shapes, type Workspace } from "./WorkspaceForm.tsx"

const Actions = ({ of, onDeleted }: { readonly of: Workspace; readonly onDeleted: () => void }) => {
  const isAdmin = useMay("admin")
  const [open, setOpen] = useState<"add" | "correct" | "edit" | "delete">()
  const close = () => setOpen(undefined)
  return (
    <div className="bar">
      <button type="button" className="primary" onClick={() => setOpen("add")}>
        Add credits
      </button>
      <button type="button" onClick={() => setOpen("correct")}>
        Correct credits
      </button>
      {isAdmin && (
        <>
          <button type="button" onClick={() => setOpen("edit")}>
            Edit
          </button>
          {!of.is_default && (
            <button type="button" className="danger end" onClick={() => setOpen("delete")}>
              Delete
            </button>
          )}
        </>
      )}
      {(open === "add" || open === "correct") && <CreditsForm of={of} way={open} onClose={close} />}
      {open === "edit" && <EditWorkspace of={of} onClose={close} />}
      {open === "delete" && <DeleteWorkspace of={of} onClose={close} onDeleted={onDeleted} />}
    </div>
  )
}

const Facts = ({ of }: { readonly of: Workspace }) => {
  const { session } = useSessionState()
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
        {session?.workspace_ids === null && (
          <>
            {" "}
            (
            <PageLink page="audit" search={{ target: of.id, range: "30d" }}>
              its changes
            </PageLink>
            )
          </>
        )}
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
