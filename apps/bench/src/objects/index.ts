/**
 * `pnpm bench objects`: uploads and downloads of files of 25 MB through the gateway, on a local
 * folder and on an S3-compatible server, in turns. The server is the one of the tests, in Python.
 */
import { availableParallelism } from "node:os"
import { credentials, startS3 } from "@model-gateway/test-services/S3"
import * as Child from "../child.ts"
import { compare, type Contender, type Row, table, timed } from "../rounds.ts"

const bytes = 25_000_000

const content = new Blob([Buffer.alloc(bytes, "model gateway ")])

const upload = async ({ apiKey, origin }: Child.Child): Promise<string> => {
  const body = new FormData()
  body.append("purpose", "bench")
  body.append("file", content, "bench.bin")
  const response = await fetch(`${origin}/api/v1/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
    body
  })
  const text = await response.text()
  const [, id] = /"id":"(file_\w+)"/.exec(text) ?? []
  if (id === undefined) throw new Error(`${response.status}: ${text}`)
  return id
}

const call = async ({ apiKey, origin }: Child.Child, id: string, method: "GET" | "DELETE"): Promise<void> => {
  const suffix = method === "GET" ? "/content" : ""
  const response = await fetch(`${origin}/api/v1/files/${id}${suffix}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}` }
  })
  const size = (await response.arrayBuffer()).byteLength
  if (response.status !== 200 || (method === "GET" && size !== bytes)) throw new Error(`${response.status}: ${size}`)
}

const uploads = (name: string, child: Child.Child): Contender => ({
  name,
  batch: async (size) => {
    const stored: Array<string> = []
    const time = await timed(async () => stored.push(await upload(child)), size)
    for (const id of stored) await call(child, id, "DELETE")
    return time
  }
})

const downloads = (name: string, child: Child.Child, id: string): Contender => ({
  name,
  batch: (size) => timed(() => call(child, id, "GET"), size)
})

const tableOf = (title: string, rows: ReadonlyArray<Row>): string =>
  table(
    title,
    ["time × local min", "median", "max", "MB/s"],
    rows.map(({ microseconds, name, ratio: { max, median, min } }) => [
      name,
      ...[min, median, max].map((value) => value.toFixed(2)),
      (bytes / microseconds.median).toFixed(0)
    ])
  )

/** The tables. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const s3 = await startS3()
  Object.assign(process.env, credentials)
  const children: Array<Child.Child> = []
  try {
    const local = await Child.start("./objects/gateway.js")
    children.push(local)
    const shared = await Child.start("./objects/gateway.js", [s3.url()])
    children.push(shared)
    const options = { rounds: quick ? 2 : 5, calls: 4, concurrency: 2 }
    const where = `25 MB, 2 at once, ${availableParallelism()} cores for client, gateway and object store`
    const sent = await compare([uploads("local folder", local), uploads("S3", shared)], options)
    const ids = [await upload(local), await upload(shared)] as const
    const read = await compare([downloads("local folder", local, ids[0]), downloads("S3", shared, ids[1])], options)
    return [tableOf(`Objects: upload of ${where}`, sent), tableOf(`Objects: download of ${where}`, read)]
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    await s3.stop()
  }
}
