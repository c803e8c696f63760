/** One delivery: its attempts with what the receiver answered. */
import type { Item } from "../../api/Contract.ts"
import { useChange, useMay, useRead } from "../../api/hooks.ts"
import { Badge, StatusBadge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count, duration } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"

export type Delivery = Item<"GET /webhooks/deliveries">

const Attempt = ({ attempt, place }: { readonly attempt: Delivery["attempts"][number]; readonly place: number }) => {
  const { attempted_at, duration_ms, error, response_excerpt, status_code } = attempt
  return (
    <li className="attempt">
      <p className="bar">
        <strong>{count(place)}.</strong>
        <Badge tone={error === null ? "good" : "bad"}>
          {status_code === null ? "No answer" : `Status ${status_code}`}
        </Badge>
        <span className="figures hint">
          <Time at={attempted_at} /> UTC, {duration(duration_ms)}
        </span>
      </p>
      {error !== null && <p>{error}</p>}
      {response_excerpt !== null && <pre tabIndex={0}>{response_excerpt}</pre>}
    </li>
  )
}

const Shown = ({ delivery }: { readonly delivery: Delivery }) => {
  const { attempts, id, next_attempt_at, status } = delivery
  const again = useChange("POST /webhooks/deliveries/:id/redeliver")
  const mayRedeliver = useMay("admin")
  return (
    <>
      <div className="bar">
        <StatusBadge status={status} />
        {next_attempt_at !== null && (
          <span className="hint">
            Next attempt <Time at={next_attempt_at} ago />
          </span>
        )}
        {mayRedeliver && (
          <span className="end">
            <button type="button" disabled={again.isPending} onClick={() => again.mutate({ params: { id } })}>
              {again.isPending ? "Sending …" : "Send it again now"}
            </button>
          </span>
        )}
      </div>
      {again.error !== null && <Problem what="It was not sent again" error={again.error} />}
      <dl className="facts">
        <dt>Id</dt>
        <dd>
          <Id id={id} what="the id of the delivery" full />
        </dd>
        <dt>Event</dt>
        <dd>{delivery.type}</dd>
        <dt>About</dt>
        <dd>
          {delivery.video_id === null ? (
            <PageLink page="alerts" search={{ view: "firings" }}>
              an alert
            </PageLink>
          ) : (
            <PageLink page="videos" search={{ id: delivery.video_id }}>
              {delivery.video_id}
            </PageLink>
          )}
        </dd>
        <dt>Receiver</dt>
        <dd>{delivery.url}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={delivery.created_at} /> UTC
        </dd>
        {delivery.finished_at !== null && (
          <>
            <dt>{status === "failed" ? "Given up" : "Delivered"}</dt>
            <dd>
              <Time at={delivery.finished_at} /> UTC
            </dd>
          </>
        )}
      </dl>
      <section className="loaded">
        <h3>Attempts</h3>
        {attempts.length === 0 ? (
          <p className="hint">None yet.</p>
        ) : (
          <ol className="attempts">
            {attempts.map((attempt, index) => (
              <Attempt key={attempt.attempted_at} attempt={attempt} place={index + 1} />
            ))}
          </ol>
        )}
        {attempts.length >= 50 && <p className="hint">These are the latest 50.</p>}
      </section>
    </>
  )
}

export const DeliveryDetails = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const delivery = useRead("GET /webhooks/deliveries/:id", { params: { id } }, { refetchInterval: 5000 })
  return (
    <Dialog kind="side" title="Webhook delivery" onClose={onClose}>
      <Loaded value={delivery} what="The delivery" rows={8}>
        {({ data }) => <Shown delivery={data} />}
      </Loaded>
    </Dialog>
  )
}
