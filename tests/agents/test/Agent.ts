/**
 * An agent with a scripted model: each step looks at the result of the step before and decides which
 * tool is called next, as a model would.
 */
import type { Client } from "@modelcontextprotocol/client"
import { objectOf } from "./Gateway.ts"

export interface Outcome {
  /** The structured content. Empty for a tool error. */
  readonly output: Readonly<Record<string, unknown>>
  /** All text of the result. */
  readonly text: string
  readonly isError: boolean
  /** The addresses of the linked resources. */
  readonly links: ReadonlyArray<string>
  /** The reports of progress, in their order. */
  readonly progress: ReadonlyArray<{ readonly progress: number; readonly message: string | undefined }>
}

/** What the model decides to call. */
export interface Decision {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Runs at each report of progress, and may cancel the call. */
  readonly onProgress?: (message: string, stop: AbortController) => void
}

/** Calls one tool. A canceled call is rejected. */
export const act = async (client: Client, decision: Decision): Promise<Outcome> => {
  const stop = new AbortController()
  const progress: Array<Outcome["progress"][number]> = []
  const result = await client.callTool(
    { name: decision.tool, arguments: { ...decision.arguments } },
    {
      signal: stop.signal,
      onprogress: (report) => {
        progress.push({ progress: report.progress, message: report.message })
        decision.onProgress?.(report.message ?? "", stop)
      }
    }
  )
  return {
    output: result.structuredContent === undefined ? {} : objectOf(result.structuredContent),
    text: result.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    isError: result.isError === true,
    links: result.content.flatMap((block) => (block.type === "resource_link" ? [block.uri] : [])),
    progress
  }
}

/** Runs the script: from each outcome to the next decision, until there is none. */
export const run = async (
  client: Client,
  model: Generator<Decision, void, Outcome>
): Promise<ReadonlyArray<Outcome>> => {
  const outcomes: Array<Outcome> = []
  let next = model.next()
  while (next.done !== true) {
    const outcome = await act(client, next.value)
    outcomes.push(outcome)
    next = model.next(outcome)
  }
  return outcomes
}
