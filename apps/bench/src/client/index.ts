/** First table: what a call costs, by the client that makes it. */
import { fork } from "node:child_process"
import { compare, type Row, table } from "../rounds.ts"
import * as Clients from "./clients.ts"

const startPeer = async () => {
  const child = fork(new URL("./peer.js", import.meta.url), { stdio: "inherit" })
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once("message", (address: { port: number }) => resolve(address))
    child.once("exit", (code) => reject(new Error(`the peer ended with code ${code}`)))
  })
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.disconnect() }
}

const ours = "@model-gateway/node"

const target = (rows: ReadonlyArray<Row>) => {
  const mine = rows.find(({ name }) => name === ours)?.ratio.median ?? Number.NaN
  return ({ name, ratio }: Row): string =>
    name === ours
      ? `≤ 1.40: ${ratio.median <= 1.4 ? "reached" : "missed"}`
      : name === "undici.request" || name === "fetch"
        ? ""
        : `slower than ours: ${ratio.median > mine ? "yes" : "no"}`
}

/** The tables, one an operation. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const peer = await startPeer()
  const clients = await Clients.make(peer.origin)
  const options = { rounds: quick ? 3 : 21, calls: quick ? 100 : 400, concurrency: 8 }
  try {
    const rerank = await compare(clients.rerank, options)
    const transcription = await compare(clients.transcription, options)
    return [
      table("Client: one rerank of 20 documents, 8 at once", "× undici", rerank, target(rerank)),
      table("Client: one transcription of an 8 KB file, 8 at once", "× undici", transcription, target(transcription))
    ]
  } finally {
    await clients.close()
    peer.stop()
  }
}
