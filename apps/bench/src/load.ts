/** Calls of a server for some time: its CPU time for each, and how long they take. */
import { setTimeout } from "node:timers/promises"
import { Pool } from "undici"
import type * as Child from "./child.ts"

/** The request that is repeated. */
export interface Call {
  readonly path: string
  readonly method: "GET" | "POST"
  readonly body?: string
  readonly headers: () => Readonly<Record<string, string>>
}

export interface Target {
  readonly child: Pick<Child.Child, "origin" | "usage">
  readonly call: Call
}

export interface Figures {
  /** Microseconds of CPU time that the server's process used for one request. */
  readonly cpu: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

/** Work that a server does after the answer belongs to the request too. */
const settleMillis = 100

const at = (sorted: ReadonlyArray<number>, fraction: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? Number.NaN

/** Makes the calls of a target over connections that stay open. */
export interface Caller {
  readonly measure: (milliseconds: number) => Promise<Figures>
  /** The calls so far. */
  readonly calls: () => number
  readonly close: () => Promise<void>
}

/**
 * A caller that has as many calls open as it has connections. A status other than 200 is an error.
 */
export const caller = ({ call, child }: Target, connections: number): Caller => {
  const { body = null, headers, method, path } = call
  const pool = new Pool(child.origin, { connections, pipelining: 1 })
  let calls = 0
  const measure = async (milliseconds: number): Promise<Figures> => {
    const times: Array<number> = []
    const before = await child.usage()
    const startedAt = performance.now()
    const end = startedAt + milliseconds
    const worker = async () => {
      for (let now = startedAt; now < end;) {
        const { body: answer, statusCode } = await pool.request({ path, method, headers: headers(), body })
        const text = await answer.text()
        if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`)
        const ended = performance.now()
        times.push(ended - now)
        now = ended
      }
    }
    await Promise.all(Array.from({ length: connections }, worker))
    const seconds = (performance.now() - startedAt) / 1000
    await setTimeout(settleMillis)
    const after = await child.usage()
    calls += times.length
    const sorted = times.toSorted((a, b) => a - b)
    return {
      cpu: (after.cpu - before.cpu) / times.length,
      p50: at(sorted, 0.5),
      p99: at(sorted, 0.99),
      perSecond: times.length / seconds
    }
  }
  return { measure, calls: () => calls, close: () => pool.close() }
}
