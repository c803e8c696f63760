/** What to do about an error. The gateway's own sentence says what is wrong. */
import type { ApiError } from "../../api/http.ts"

/** The class of `@model-gateway/core` that a program catches. */
export const classOf = (status: number): string => classes[status] ?? "GatewayError"

const classes: { readonly [status: number]: string } = {
  0: "TransportError",
  400: "BadRequest",
  401: "Unauthorized",
  402: "PaymentRequired",
  403: "Forbidden",
  404: "NotFound",
  413: "PayloadTooLarge",
  429: "TooManyRequests",
  500: "InternalServerError",
  502: "BadGateway",
  503: "ServiceUnavailable",
  504: "GatewayTimeout",
  524: "UpstreamTimeout",
  529: "ProviderOverloaded"
}

/** Whether the same request may succeed later. */
export const isRepeatable = (status: number): boolean => [0, 429, 500, 502, 503, 504, 524, 529].includes(status)

/** One sentence for the person. */
export const adviceOf = ({ issues, status }: Pick<ApiError, "status" | "issues">): string => {
  switch (status) {
    case 0:
      return "Run the request again when the gateway answers."
    case 400:
      return issues.length === 0
        ? "Change the request, then run it again."
        : "Correct the fields that are named, then run the request again."
    case 401:
      return "Enter another key. This one may have been deleted, disabled or rotated, or it may have expired."
    case 402:
      return "Add credits to the workspace, or raise the limit of the key or its guardrail."
    case 403:
      return "Use another key, or ask the operator what the guardrail of this one allows."
    case 404:
      return "Choose a model that the gateway offers to this key."
    case 413:
      return "Send less: fewer documents, a shorter recording or smaller images."
    case 429:
      return "Wait, then run it again. Programs with this project's client wait and retry by themselves."
    case 500:
      return "Run it again. If it fails again, tell the operator the request id."
    case 502:
      return "The provider failed. Run it again, or choose another model."
    case 503:
      return "No provider can serve it now. Run it again later, or choose another model."
    case 504:
    case 524:
      return "The provider took too long. Run it again, or send less."
    case 529:
      return "The provider has too much to do. Wait, then run it again, or choose another model."
    default:
      return "Tell the operator the request id."
  }
}
