// How clients behave when a server misbehaves: each is run against the same server, and the table
// in docs/reference/client-comparison.md has the results. They are counts and outcomes, not times.
// `vitest run --update` writes the table.
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { type Compared, compared, type Made, type Options } from "./support/compared.ts"
import { type Answer, half, type HostilePeer, start, status } from "./support/hostilePeer.ts"

const page = fileURLToPath(new URL("../../../docs/reference/client-comparison.md", import.meta.url))

interface Row {
  readonly title: string
  readonly answer: Answer
  readonly cell: (client: Made, peer: HostilePeer) => Promise<string>
}

const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "no Error"
  return error instanceof DOMException ? error.name : error.constructor.name
}

/** How a call ends: the class of its error, or its result. */
const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then((result) => `resolves with ${typeof result === "object" ? "an object" : `a ${typeof result}`}`, nameOf)

/**
 * How a call ends, if it does before something else does. Then it is aborted, which not every
 * client notices while it waits.
 */
const endOf = async (client: Made, options: Options, before: Promise<string>): Promise<string> => {
  const controller = new AbortController()
  const call = outcome(client.call({ ...options, signal: controller.signal }))
  const end = await Promise.race([call, before])
  controller.abort()
  return end
}

const requests = (count: number) => (count === 1 ? "1 request" : `${count} requests`)

/** A call is aborted when it sends more requests than this. */
const maxRequests = 4

/** Counts the requests of one call, and the idempotency keys of those. */
const attempts =
  (options: Options = {}): Row["cell"] =>
  async (client, peer) => {
    const end = await endOf(
      client,
      options,
      peer.arrived(maxRequests + 1).then(() => "still retrying")
    )
    const count = peer.keys.length > maxRequests ? `more than ${maxRequests} requests` : requests(peer.keys.length)
    const keys = new Set(peer.keys)
    const key = keys.has(undefined) ? "no key" : keys.size > 1 ? "a key each" : "one key"
    return `${count}, ${key}: ${end}`
  }

/** How a call ends within that time, if it does. */
const within =
  (milliseconds: number, options: Options = {}): Row["cell"] =>
  async (client, peer) => {
    const end = await endOf(client, options, setTimeout(milliseconds, "still waiting"))
    return `${requests(peer.keys.length)}: ${end}`
  }

const aborted: Row["cell"] = async (client, peer) => {
  const controller = new AbortController()
  const call = outcome(client.call({ signal: controller.signal }))
  await peer.arrived(1)
  controller.abort()
  const end = await call
  await expect.poll(peer.abandoned).toBe(1)
  return `${end}, request closed`
}

const calls = 100

/** 100 calls while every one of them fails. */
const outage: Row["cell"] = async (client, peer) => {
  const controller = new AbortController()
  const all = Promise.all(Array.from({ length: calls }, () => outcome(client.call({ signal: controller.signal }))))
  await Promise.race([all, peer.arrived(maxRequests * calls + 1)])
  controller.abort()
  const count = peer.keys.length
  if (count > maxRequests * calls) return `more than ${maxRequests * calls} requests: still retrying`
  if (count % calls === 0) return requests(count)
  const tens = Math.floor(count / 10) * 10
  return `${tens} to ${tens + 9} requests`
}

const rows: ReadonlyArray<Row> = [
  { title: "500", answer: status(500), cell: attempts() },
  { title: "503", answer: status(503), cell: attempts() },
  { title: "503, with the caller's key", answer: status(503), cell: attempts({ idempotencyKey: "order-1" }) },
  { title: "429", answer: status(429), cell: attempts() },
  { title: "connection reset", answer: (response) => void response.socket?.resetAndDestroy(), cell: attempts() },
  {
    title: "connection reset, with the caller's key",
    answer: (response) => void response.socket?.resetAndDestroy(),
    cell: attempts({ idempotencyKey: "order-1" })
  },
  {
    title: "body cut off in the middle",
    answer: (response) => {
      half(response)
      setImmediate(() => response.destroy())
    },
    cell: attempts()
  },
  {
    title: "429 with `Retry-After: 24615`, after 8 s",
    answer: status(429, { "retry-after": "24615" }),
    cell: within(8000)
  },
  {
    title: "body that stops in the middle, with a time limit of 4 s, after 8 s",
    answer: half,
    cell: within(8000, { timeLimit: 4000 })
  },
  {
    title: "200 with HTML",
    answer: (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>Sign in</html>"),
    cell: attempts()
  },
  {
    title: "200 with JSON of another shape",
    answer: (response) => void response.writeHead(200, { "content-type": "application/json" }).end('{"id": 1}'),
    cell: attempts()
  },
  { title: "aborted by an `AbortSignal`", answer: () => {}, cell: aborted },
  { title: `${calls} calls, each answered by 503`, answer: status(503), cell: outage }
]

const cellOf = async ({ answer, cell }: Row, { make }: Compared): Promise<string> => {
  const peer = await start(answer)
  const client = await make(peer.baseUrl)
  try {
    return await cell(client, peer)
  } finally {
    await client.close()
    peer.close()
  }
}

const Manifest = Schema.Struct({ devDependencies: Schema.Record(Schema.String, Schema.String) })

const { devDependencies: versions } = Schema.decodeSync(Schema.fromJsonString(Manifest))(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)

/** With the version that was run, but for the client of this repository. */
const heading = ({ name }: Compared) => (versions[name] === undefined ? `\`${name}\`` : `\`${name}\` ${versions[name]}`)

const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`

it("the table of the guide has the results (written by vitest run --update)", { timeout: 60_000 }, async () => {
  const cells = await Promise.all(
    rows.map(async (row) => [row.title, ...(await Promise.all(compared.map((client) => cellOf(row, client))))])
  )
  const table = [
    line(["The server answers with", ...compared.map(heading)]),
    line(["---", ...compared.map(() => "---")]),
    ...cells.map(line)
  ].join("")
  const written = readFileSync(page, "utf8").replace(/(?:^\| The server answers.*\n)(?:^\|.*\n)+/m, () => table)
  expect(written).toContain(table)
  await expect(written).toMatchFileSnapshot(page)
})
