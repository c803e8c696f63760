/** The paid requests and the rejected ones: filters, bars over time, a table, and one in detail. */
import type { ReactNode } from "react"
import { usePageSearch, useSetSearch } from "../shell/navigation.ts"
import { PaidRequests } from "./requests/PaidRequests.tsx"
import { RejectedRequests } from "./requests/RejectedRequests.tsx"
import { RequestDetails } from "./requests/RequestDetails.tsx"
import "./requests/requests.css"

const views = [
  [undefined, "Paid requests"],
  ["rejected", "Rejected requests"]
] as const

const Requests = (): ReactNode => {
  const { id, view } = usePageSearch("requests")
  const set = useSetSearch("requests")
  return (
    <>
      <div className="bar" role="group" aria-label="Which requests">
        {views.map(([value, title]) => (
          <button
            key={title}
            type="button"
            aria-pressed={view === value}
            // The two lists have other states and operations.
            onClick={() => void set({ view: value, status: undefined, error_status: undefined, operation: undefined })}
          >
            {title}
          </button>
        ))}
      </div>
      {view === "rejected" ? <RejectedRequests /> : <PaidRequests />}
      {id !== undefined && <RequestDetails key={id} id={id} onClose={() => void set({ id: undefined })} />}
    </>
  )
}

export default Requests
