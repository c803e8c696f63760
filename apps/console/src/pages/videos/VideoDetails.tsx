/** One video job: what it is doing, the finished videos to play and download, and what it cost. */
import { useState } from "react"
import { linkTo } from "../../api/call.ts"
import type { Success } from "../../api/Contract.ts"
import { useChange, useMay, useRead } from "../../api/hooks.ts"
import { StatusBadge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { credits } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { isFinal, type ListedVideo, Progress } from "./jobs.tsx"

type Video = Success<"GET /videos/:id">

const CancelDialog = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const change = useChange("POST /videos/:id/cancel")
  return (
    <FormDialog
      title="Cancel this video?"
      action="Cancel the video"
      dangerous
      change={change}
      onSubmit={() => change.mutate({ params: { id } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        The gateway stops following the job and tells the provider. The reserved credits are released: a canceled video
        costs nothing. This cannot be undone.
      </p>
    </FormDialog>
  )
}

const Player = ({ id, index, total }: { readonly id: string; readonly index: number; readonly total: number }) => {
  const address = linkTo("GET /videos/:id/content", { params: { id }, query: { index } })
  const name = total === 1 ? `${id}.mp4` : `${id}-${index + 1}.mp4`
  const [failed, setFailed] = useState(false)
  return (
    <figure className="player">
      {failed ? (
        <p className="issue">The video cannot be played. It may have been deleted: see the error of a download.</p>
      ) : (
        <video controls playsInline preload="metadata" src={address} onError={() => setFailed(true)}>
          Your browser cannot play this video. Download it.
        </video>
      )}
      <figcaption className="bar">
        {total > 1 && (
          <span className="hint">
            Video {index + 1} of {total}
          </span>
        )}
        <a className="button" href={address} download={name}>
          <Icon name="download" />
          Download
        </a>
      </figcaption>
    </figure>
  )
}

const Facts = ({ listed, video }: { readonly video: Video; readonly listed: ListedVideo | undefined }) => {
  const { created_at, generation_id, model, usage } = video
  return (
    <dl className="facts">
      <dt>Id</dt>
      <dd>
        <Id id={video.id} what="the id of the video" full />
      </dd>
      {model !== undefined && (
        <>
          <dt>Model</dt>
          <dd>
            <PageLink page="models" search={{ id: model }}>
              {model}
            </PageLink>
          </dd>
        </>
      )}
      {listed?.key_hash !== undefined && (
        <>
          <dt>Key</dt>
          <dd>
            <PageLink page="keys" search={{ id: listed.key_hash }}>
              {listed.key_name ?? listed.key_hash}
            </PageLink>
          </dd>
        </>
      )}
      {created_at !== undefined && (
        <>
          <dt>Submitted</dt>
          <dd>
            <Time at={created_at} /> UTC
          </dd>
        </>
      )}
      {listed?.finished_at != null && (
        <>
          <dt>Finished</dt>
          <dd>
            <Time at={listed.finished_at} /> UTC
          </dd>
        </>
      )}
      {usage?.cost != null && (
        <>
          <dt>Cost</dt>
          <dd>
            {credits(usage.cost)} credits{usage.is_byok === true && ", billed by the provider to the key's owner"}
          </dd>
        </>
      )}
      {generation_id !== undefined && (
        <>
          <dt>Request</dt>
          <dd>
            <PageLink page="requests" search={{ id: generation_id }}>
              {generation_id}
            </PageLink>
          </dd>
        </>
      )}
      <dt>Webhook</dt>
      <dd>
        <PageLink page="webhooks" search={{ video: video.id }}>
          Deliveries of its events
        </PageLink>
      </dd>
    </dl>
  )
}

const Shown = ({ listed, video }: { readonly video: Video; readonly listed: ListedVideo | undefined }) => {
  const { error, id, status, unsigned_urls = [], warnings = [] } = video
  const mayCancel = useMay("operator") && !isFinal(status)
  const [canceling, setCanceling] = useState(false)
  return (
    <>
      <p className="bar">
        <StatusBadge status={status} />
        {!isFinal(status) && <Progress progress={video.progress} />}
        {mayCancel && (
          <span className="end">
            <button type="button" className="danger" onClick={() => setCanceling(true)}>
              Cancel the video
            </button>
          </span>
        )}
      </p>
      {error !== undefined && (
        <div className="problem">
          <Icon name="warning" />
          <div>{error}</div>
        </div>
      )}
      {unsigned_urls.map((_, index) => (
        <Player key={index} id={id} index={index} total={unsigned_urls.length} />
      ))}
      {warnings.length > 0 && (
        <ul className="warnings">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      <Facts video={video} listed={listed} />
      {canceling && <CancelDialog id={id} onClose={() => setCanceling(false)} />}
    </>
  )
}

export const VideoDetails = ({
  id,
  listed,
  onClose
}: {
  readonly id: string
  /** The job as the list has it. Undefined: it is not in the list. */
  readonly listed: ListedVideo | undefined
  readonly onClose: () => void
}) => {
  const [isRunning, setRunning] = useState(false)
  const video = useRead("GET /videos/:id", { params: { id } }, { refetchInterval: isRunning && 2000 })
  const running = video.data !== undefined && !isFinal(video.data.status)
  if (running !== isRunning) setRunning(running)
  return (
    <Dialog kind="side" title="Video" onClose={onClose}>
      <Loaded value={video} what="The video" rows={8}>
        {(data) => <Shown video={data} listed={listed} />}
      </Loaded>
    </Dialog>
  )
}
