/** First table: what a call costs, by the client that makes it. */
import * as Child from "../child.ts"
import { compare, comparisonTable, type Row } from "../rounds.ts"
import * as Clients from "./clients.ts"

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
  const peer = await Child.start("./client/peer.js")
  const clients = await Clients.make(peer.origin)
  const options = { rounds: quick ? 3 : 21, calls: quick ? 100 : 400, concurrency: 8 }
  try {
    const rerank = await compare(clients.rerank, options)
    const transcription = await compare(clients.transcription, options)
    return [
      comparisonTable("Client: one rerank of 20 documents, 8 at once", "undici", rerank, target(rerank)),
      comparisonTable(
        "Client: one transcription of an 8 KB file, 8 at once",
        "undici",
        transcription,
        target(transcription)
      )
    ]
  } finally {
    await clients.close()
    await peer.stop()
  }
}
