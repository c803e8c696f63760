/**
 * One client in its own process, with one connection to each server. Between two messages it calls
 * GET `/key` on the servers in turn, one call at a time, and then reports the milliseconds of each
 * call.
 */
import { Client } from "undici"

/** The reported times of each server, in the order of the servers. */
export type Answer = ReadonlyArray<ReadonlyArray<number>>

const [apiKey = "", ...origins] = process.argv.slice(2)
const headers = { authorization: `Bearer ${apiKey}` }
const servers = origins.map((origin) => ({ client: new Client(origin), milliseconds: new Array<number>() }))

const ask = async (client: Client): Promise<number> => {
  const startedAt = performance.now()
  const { body, statusCode } = await client.request({ method: "GET", path: "/api/v1/key", headers })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`GET /key: ${statusCode} ${text}`)
  return performance.now() - startedAt
}

let asking = false

const askOn = async (): Promise<void> => {
  asking = true
  while (asking) {
    for (const { client, milliseconds } of servers) milliseconds.push(await ask(client))
  }
  const answer: Answer = servers.map(({ milliseconds }) => milliseconds.splice(0))
  process.send?.(answer)
}

process.on("message", (message: "begin" | "enough") => {
  if (message === "begin") void askOn()
  else asking = false
})
process.once("disconnect", () => process.exit())
process.send?.("ready")
