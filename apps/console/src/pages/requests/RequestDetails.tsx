/**
 * One request, by the id of its response (`req_…`) or of its generation (`gen_…`). It may have been
 * rejected before it was admitted, so both lists are asked.
 */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { call } from "../../api/call.ts"
import { ApiError, base } from "../../api/http.ts"
import { Badge, StatusBadge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count, credits, duration } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import type { PaidRequest } from "./PaidRequests.tsx"
import type { Rejected } from "./RejectedRequests.tsx"
import { Waterfall } from "./Waterfall.tsx"

interface Found {
  readonly paid: ReadonlyArray<PaidRequest>
  readonly rejected: ReadonlyArray<Rejected>
}

/** The entries of an id. GET `/generation` says less than the list, so it only says when. */
const entriesOf = async (id: string, signal: AbortSignal): Promise<ReadonlyArray<PaidRequest>> => {
  if (id.startsWith("req_")) return (await call("GET /generations", { query: { request_id: id } }, signal)).data
  const { data } = await call("GET /generation", { query: { id } }, signal)
  const from = data.created_at
  const to = new Date(Date.parse(from) + 1).toISOString()
  const listed = await call("GET /generations", { query: { from, to, limit: 1000 } }, signal)
  return listed.data.filter((entry) => entry.id === id)
}

const find = async (id: string, signal: AbortSignal): Promise<Found> => {
  const [paid, rejected] = await Promise.all([
    entriesOf(id, signal).catch((error: unknown): ReadonlyArray<PaidRequest> => {
      if (error instanceof ApiError && error.status === 404) return []
      throw error
    }),
    call("GET /requests/rejected", { query: { request_id: id } }, signal)
  ])
  return { paid, rejected: rejected.data }
}

const Row = ({ children, title }: { readonly title: string; readonly children: ReactNode }) => (
  <>
    <dt>{title}</dt>
    <dd>{children}</dd>
  </>
)

/** The tasks of the playground, by what the lists of paid and of rejected requests call them. */
const tasks: Readonly<Record<string, string>> = {
  rerank: "rerank",
  transcription: "transcription",
  transcribe: "transcription",
  video: "video",
  submitVideo: "video"
}

const PlayLink = ({ model, operation }: { readonly operation: string; readonly model: string | null }) => {
  const task = tasks[operation]
  if (task === undefined) return null
  const address = new URL("../play", base)
  address.searchParams.set("operation", task)
  if (model !== null) address.searchParams.set("model", model)
  return (
    <a className="button" href={address.href}>
      <Icon name="play" />
      Open the model in the playground
    </a>
  )
}

/** Counts such as `search_units`, as people read them. */
const Usage = ({ usage }: { readonly usage: PaidRequest["usage"] }) => {
  const entries = Object.entries(usage)
  return entries.length === 0
    ? "Not reported"
    : entries.map(([name, value]) => `${name.replaceAll("_", " ")}: ${count(value)}`).join(", ")
}

/** How the answer follows from the attempts. Undefined: not all of them failed. */
const answerOf = ({ attempts, error_status, status }: PaidRequest): string | undefined => {
  const tried = attempts.filter(({ outcome }) => outcome !== "CircuitOpen")
  if (status !== "failed" || error_status === null || tried.length === 0) return undefined
  if (tried.some(({ outcome }) => outcome === "Success")) return undefined
  return tried.length === 1
    ? `The only attempt failed; the gateway answered ${error_status} for it.`
    : `All ${tried.length} attempts failed; the gateway answered ${error_status} for the last one.`
}

const Paid = ({ request }: { readonly request: PaidRequest }) => {
  const workspaceName = useWorkspaceName()
  const { error_message, error_status, external_user, provider, request_id, trace, upstream_model, video_id } = request
  return (
    <section className="request" aria-label={`Generation ${request.id}`}>
      <p className="request-summary">
        <StatusBadge status={request.status} />
        {error_status !== null && <span>Status {error_status}</span>}
        <span>{credits(request.cost)} credits</span>
        <span>{duration(request.duration_ms)}</span>
        <span>
          {request.attempts.length} {request.attempts.length === 1 ? "attempt" : "attempts"}
        </span>
      </p>
      {error_message != null && (
        <div className="problem">
          <Icon name="warning" />
          <div>
            <strong>Why it {request.status}:</strong> {error_message}
          </div>
        </div>
      )}
      <h3>What was tried</h3>
      {answerOf(request) !== undefined && <p>{answerOf(request)}</p>}
      <Waterfall request={request} />
      <h3>The request</h3>
      <dl className="facts">
        <Row title="Admitted">
          <Time at={request.created_at} /> UTC
        </Row>
        <Row title="Operation">{request.operation}</Row>
        <Row title="Model">
          <PageLink page="models" search={{ id: request.model }}>
            {request.model}
          </PageLink>
        </Row>
        <Row title="Provider">
          {provider === null ? (
            "None was tried"
          ) : (
            <>
              <PageLink page="providers" search={{ id: provider }}>
                {provider}
              </PageLink>
              {upstream_model !== null && ` as ${upstream_model}`}
            </>
          )}
        </Row>
        <Row title="Key">
          <KeyLink hash={request.key_hash} />
        </Row>
        <Row title="Workspace">{workspaceName(request.workspace_id)}</Row>
        <Row title="User">
          {external_user === null ? (
            "None"
          ) : (
            <PageLink page="requests" search={{ user: external_user }}>
              {external_user}
            </PageLink>
          )}
        </Row>
        <Row title="Usage">
          <Usage usage={request.usage} />
        </Row>
        <Row title="Cost">
          {credits(request.cost)} credits{request.is_byok && ", billed by the caller's provider account"}
        </Row>
        {trace != null &&
          Object.entries(trace).map(([name, value]) => (
            <Row key={name} title={`Trace: ${name.replaceAll("_", " ")}`}>
              {String(value)}
            </Row>
          ))}
      </dl>
      <h3>Ids</h3>
      <dl className="facts">
        {request_id != null && (
          <Row title="Request">
            <Id id={request_id} what="the request id" full />
          </Row>
        )}
        <Row title="Generation">
          <Id id={request.id} what="the generation id" full />
        </Row>
        {video_id !== null && (
          <Row title="Video">
            <Id id={video_id} what="the video id" full />{" "}
            <PageLink page="videos" search={{ id: video_id }}>
              Show the video
            </PageLink>
          </Row>
        )}
        <Row title="Key hash">
          <Id id={request.key_hash} what="the key hash" full />
        </Row>
        <Row title="Workspace">
          <Id id={request.workspace_id} what="the workspace id" full />
        </Row>
      </dl>
      <div className="bar">
        <PlayLink operation={request.operation} model={request.model} />
      </div>
    </section>
  )
}

const RejectedOne = ({ request }: { readonly request: Rejected }) => {
  const workspaceName = useWorkspaceName()
  return (
    <section className="request" aria-label="Rejected request">
      <p className="request-summary">
        <Badge tone="bad">rejected with status {request.status}</Badge>
        <span>0 credits</span>
        <span>{duration(request.duration_ms)}</span>
      </p>
      <div className="problem">
        <Icon name="warning" />
        <div>
          <strong>Why it was rejected:</strong> {request.message ?? "There was no answer: the caller disconnected."}
        </div>
      </div>
      <p className="hint">It failed before it was admitted, so no provider was tried.</p>
      <dl className="facts">
        <Row title="Answered">
          <Time at={request.created_at} /> UTC
        </Row>
        <Row title="Operation">{request.operation}</Row>
        <Row title="Model">{request.model ?? "Not known"}</Row>
        <Row title="Key">{request.key_hash === null ? "None" : <KeyLink hash={request.key_hash} />}</Row>
        <Row title="Workspace">{request.workspace_id === null ? "None" : workspaceName(request.workspace_id)}</Row>
        <Row title="Address">{request.address}</Row>
        <Row title="Request">
          <Id id={request.request_id} what="the request id" full />
        </Row>
        {request.omitted > 0 && (
          <Row title="Not listed">{count(request.omitted)} more like it within the same minute</Row>
        )}
      </dl>
      <div className="bar">
        <PageLink
          page="requests"
          className="button"
          search={{ view: "rejected", error_status: String(request.status), key: request.key_hash ?? undefined }}
        >
          Others like it
        </PageLink>
        <PlayLink operation={request.operation} model={request.model} />
      </div>
    </section>
  )
}

export const RequestDetails = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const found = useQuery({ queryKey: ["request", id], queryFn: ({ signal }) => find(id, signal) })
  return (
    <Dialog title={`Request ${id}`} kind="side" onClose={onClose}>
      <Loaded value={found} what="The request" rows={10}>
        {({ paid, rejected }) =>
          paid.length + rejected.length === 0 ? (
            <Empty title="The gateway has no request with this id.">
              <p>
                A request appears when it has ended. Old ones are deleted after the time that the settings say. Those
                that were rejected are kept for 7 days, and of many alike, at most 30 a minute.
              </p>
            </Empty>
          ) : (
            <>
              {paid.map((request) => (
                <Paid key={request.id} request={request} />
              ))}
              {rejected.map((request) => (
                <RejectedOne key={request.id} request={request} />
              ))}
            </>
          )
        }
      </Loaded>
    </Dialog>
  )
}
