/** The whole service over raw sockets, which also send what no HTTP client would. */
import { once } from "node:events"
import { Agent, get, type IncomingMessage } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it, onTestFinished } from "vitest"
import { currentKey, firstKey, folder, serve, type Served } from "./Executable.ts"

interface Client {
  readonly socket: Socket
  /** All that comes back until the connection closes. */
  readonly answer: Promise<string>
}

const open = ({ port }: Served): Client => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  let received = ""
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk))
  socket.on("error", () => {})
  socket.on("end", () => void socket.end())
  return { socket, answer: once(socket, "close").then(() => received) }
}

const ask = (gateway: Served, written: string): Promise<string> => {
  const { answer, socket } = open(gateway)
  socket.write(written)
  return answer
}

const statusesOf = (answer: string): ReadonlyArray<string> =>
  [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = ""]) => status)

const envelopeOf = (answer: string): unknown => JSON.parse(answer.slice(answer.lastIndexOf("\r\n\r\n") + 4))

const rerank = JSON.stringify({ model: "sandbox/bm25", query: "a", documents: ["a", "b"] })

const head = (key: string, path: string, type: string, length: number): string =>
  `POST /api/v1${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`

describe("the service", () => {
  it("responds to a paid request before it rejects what follows it, also if the client has ended its side", async () => {
    const gateway = await serve(folder())
    const key = await firstKey(gateway)
    const request = head(key, "/rerank", "application/json", rerank.length) + rerank
    const answer = await ask(gateway, `${request}this is no HTTP\r\n\r\n`)
    expect(statusesOf(answer)).toEqual(["200", "400"])
    expect(answer).toContain('"model":"sandbox/bm25"')
    expect(envelopeOf(answer)).toMatchObject({ error: { code: 400 } })

    const halfClosed = open(gateway)
    halfClosed.socket.end(request)
    expect(statusesOf(await halfClosed.answer).at(-1)).toBe("200")
    expect(await (await currentKey(gateway.origin, key)).json()).toMatchObject({ data: { usage: 0.002 } })
  })

  it("rejects invalid HTTP with the error envelope [spec B1]", async () => {
    const gateway = await serve(folder())
    for (const [headers, status, message] of [
      ["HTTP/1.1\r\nconnection: close", 400, /Host header is missing/],
      ["HTTP/1.1\r\nhost: a\r\nHost: b\r\nconnection: close", 400, /more than one Host/],
      ["HTTP/1.1\r\nhost: a\r\nexpect: a-miracle\r\nconnection: close", 417, /100-continue/]
    ] as const) {
      const answer = await ask(gateway, `GET /healthz ${headers}\r\n\r\n`)
      expect(statusesOf(answer)).toEqual([String(status)])
      expect(answer).toContain("x-content-type-options: nosniff")
      const id = /x-request-id: (\S+)/.exec(answer)?.[1]
      expect(answer).toMatch(message)
      expect(envelopeOf(answer)).toMatchObject({ error: { code: status }, service_metadata: { request_id: id } })
    }
    expect(statusesOf(await ask(gateway, "GET /healthz HTTP/1.0\r\n\r\n"))).toEqual(["200"])
  })

  it("rejects a body that arrives too slowly with 408, whether or not an operation reads it", async () => {
    const gateway = await serve(folder(), ["--body-rate-grace", "500 millis"])
    const key = await firstKey(gateway)
    const form = "multipart/form-data; boundary=B"
    const file = '--B\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
    const slow = [
      ["/rerank", "application/json", "{"],
      ["/audio/transcriptions", "application/json", "{"],
      ["/audio/transcriptions", form, file],
      ["/files", form, file]
    ] as const
    const answers = slow.map(async ([path, type, begin]) => {
      const { answer, socket } = open(gateway)
      socket.write(head(key, path, type, 100_000) + begin)
      const timer = setInterval(() => void socket.write("a"), 100)
      onTestFinished(() => clearInterval(timer))
      socket.once("end", () => clearInterval(timer))
      const received = await answer
      clearInterval(timer)
      return [path, type, statusesOf(received), envelopeOf(received)]
    })
    expect(await Promise.all(answers)).toMatchObject(
      slow.map(([path, type]) => [path, type, ["408"], { error: { code: 408 } }])
    )
  })

  it("responds to every request on busy connections after SIGTERM, and then exits", async () => {
    const gateway = await serve(folder())
    const key = await firstKey(gateway)
    const lost: Array<unknown> = []
    const callers = Array.from({ length: 16 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      onTestFinished(() => agent.destroy())
      for (let stopped = false; !stopped;) {
        // The pause leaves connections idle for a moment, which is when they used to be reset.
        await sleep(Math.random() * 20)
        const headers = { authorization: `Bearer ${key}` }
        const request = get(`${gateway.origin}/api/v1/key`, { agent, headers })
        const status = await once(request, "response").then(
          async ([response]: Array<IncomingMessage>) => response?.resume().statusCode,
          (error: unknown) => error
        )
        // When the gateway stops listening, the system ends connections that it has not accepted.
        stopped = status instanceof Error && !request.reusedSocket
        if (!stopped && status !== 200 && status !== 503) return void lost.push(status)
      }
    })
    await sleep(500)
    gateway.signal("SIGTERM")
    await Promise.all(callers)
    expect(lost).toEqual([])
    expect((await gateway.ended).code).toBe(0)
  })
})
