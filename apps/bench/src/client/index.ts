/** First table: the cost of a call, by client. */
import { fork } from "node:child_process"
import { once } from "node:events"
import * as Child from "../child.ts"
import { compare, comparisonTable, type Contender, type Options, type Row } from "../rounds.ts"
import { names } from "./clients.ts"

const ours = "@model-gateway/node"

const target = (rows: ReadonlyArray<Row>) => {
  const mine = rows.find(({ name }) => name === ours)?.ratio.median ?? Number.NaN
  return ({ name, ratio }: Row): string =>
    name === ours
      ? `≤ 1.25: ${ratio.median <= 1.25 ? "reached" : "missed"}`
      : name === "undici.request" || name === "fetch"
        ? ""
        : `slower than ours: ${ratio.median > mine ? "yes" : "no"}`
}

type Operation = keyof typeof names

const start = async (operation: Operation, name: string, origin: string) => {
  const child = fork(new URL("./contender.js", import.meta.url), [operation, name, origin], { stdio: "inherit" })
  await once(child, "message")
  const contender: Contender = {
    name,
    batch: async (size) => {
      child.send(size)
      const [microseconds] = (await once(child, "message")) as [number]
      return microseconds
    }
  }
  return { contender, stop: () => child.disconnect() }
}

const measure = async (operation: Operation, origin: string, options: Options): Promise<ReadonlyArray<Row>> => {
  const started = await Promise.all(names[operation].map((name) => start(operation, name, origin)))
  try {
    return await compare(
      started.map(({ contender }) => contender),
      options
    )
  } finally {
    for (const { stop } of started) stop()
  }
}

/** The tables, one per operation. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const peer = await Child.start("./client/peer.js")
  const options = { rounds: quick ? 3 : 21, calls: quick ? 200 : 2000, concurrency: 8 }
  try {
    const rerank = await measure("rerank", peer.origin, options)
    const transcription = await measure("transcription", peer.origin, options)
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
    await peer.stop()
  }
}
