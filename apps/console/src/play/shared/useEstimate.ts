/** What the request of a form would cost at most, before it is run. */
import { useEffect, useRef, useState } from "react"
import type { Json } from "@model-gateway/core/unstable/CodeSamples"
import type { Success } from "../../api/Contract.ts"
import { ApiError, errorOf, jsonOf } from "../../api/http.ts"
import { fetchWithKey } from "./exchange.ts"
import type { Kind } from "./models.ts"
import { useAccess } from "./useModels.ts"

export type Estimate = Success<"POST /estimate">["data"]

export interface Estimated {
  readonly estimate: Estimate | undefined
  /** What the gateway says of a request that it would refuse. */
  readonly error: ApiError | undefined
}

/** What two requests would cost together. */
export const bothOf = (first: Estimated, second: Estimated): Estimated => ({
  error: first.error ?? second.error,
  estimate:
    first.estimate === undefined || second.estimate === undefined
      ? undefined
      : { ...first.estimate, max_cost: first.estimate.max_cost + second.estimate.max_cost, offers: [] }
})

const none: Estimated = { estimate: undefined, error: undefined }

/** The form rests this long before it is estimated, in milliseconds. */
const rest = 400

/** The error as the request itself would get it: its fields are below `request` in an estimate. */
const ofRequest = ({ issues, message, requestId, status }: ApiError): ApiError => {
  const own = issues.map((issue) => ({ ...issue, path: issue.path.replace(/^request\./, "") }))
  const sentence = own.map(({ message: text, path }) => `${path}: ${text}`).join("; ")
  return new ApiError(sentence === "" ? message : sentence, { status, requestId, issues: own })
}

const ask = async (text: string, signal: AbortSignal): Promise<Estimated> => {
  const response = await fetchWithKey({ method: "POST", path: "/estimate", text }, signal)
  if (!response.ok) return { estimate: undefined, error: ofRequest(await errorOf(response)) }
  const { data } = await jsonOf<Success<"POST /estimate">>(response)
  return { estimate: data, error: undefined }
}

/** `request` is the same object as long as it says the same. Undefined: nothing to estimate. */
export const useEstimate = (operation: Kind, request: Json | undefined): Estimated => {
  const { label } = useAccess()
  const [estimated, setEstimated] = useState(none)
  /** The request that the estimate is of. */
  const answered = useRef("")
  useEffect(() => {
    if (request === undefined || label === undefined) {
      answered.current = ""
      return setEstimated(none)
    }
    const controller = new AbortController()
    const timer = setTimeout(() => {
      // Not before: a long request is not made to text for each key.
      const text = JSON.stringify({ operation, request })
      if (answered.current === text) return
      ask(text, controller.signal).then(
        (next) => {
          if (controller.signal.aborted) return
          answered.current = text
          setEstimated(next)
        },
        () => {}
      )
    }, rest)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [operation, request, label])
  return estimated
}
