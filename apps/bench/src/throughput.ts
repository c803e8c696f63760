/** Requests per second and latency of a server under constant load. */
import autocannon from "autocannon"
import type * as Child from "./child.ts"

/** The request that is repeated. */
export interface Request {
  readonly path: string
  readonly method: "GET" | "POST"
  readonly body?: string
}

export interface Load {
  readonly connections: number
  readonly seconds: number
}

export interface Throughput {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

/** Fails if any response is not a 2xx. */
export const throughput = async (
  child: Child.Child,
  { path, ...request }: Request,
  { connections, seconds }: Load
): Promise<Throughput> => {
  const result = await autocannon({
    url: `${child.origin}${path}`,
    connections,
    duration: seconds,
    ...request,
    headers: {
      authorization: `Bearer ${child.apiKey}`,
      ...(request.body === undefined ? undefined : { "content-type": "application/json" })
    }
  })
  if (result.non2xx + result.errors > 0) {
    throw new Error(
      `${path}: answers that were no success: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`
    )
  }
  return { perSecond: result["2xx"] / result.duration, p50: result.latency.p50, p99: result.latency.p99 }
}
