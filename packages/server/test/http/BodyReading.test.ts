import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { layer, TestGateway } from "../TestGateway.ts"

const request = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }
const short = JSON.stringify(request)
/** Longer than what is read without a scan. */
const long = JSON.stringify({
  ...request,
  documents: Array.from({ length: 200 }, (_, i) => `${"pears ".repeat(10)}${i}`)
})

interface Socket {
  readonly write: (bytes: string) => void
  readonly end: () => void
  readonly destroy: () => void
  /** Waits until this many responses have arrived, and returns their statuses. */
  readonly statuses: (count: number) => Promise<ReadonlyArray<number>>
}

const open = (port: number): Socket => {
  const socket = connect(port, "127.0.0.1")
  let text = ""
  const found = () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status))
  socket.on("error", () => {})
  return {
    write: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
    statuses: async (count) => {
      socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")))
      while (found().length < count) await new Promise((resolve) => socket.once("data", resolve))
      socket.destroy()
      return found()
    }
  }
}

const each = (socket: Socket, text: string, size: number) =>
  Effect.forEach(
    Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size)),
    (part) =>
      Effect.andThen(
        Effect.sync(() => socket.write(part)),
        Effect.sleep(1)
      )
  )

it.layer(layer(), { excludeTestServices: true })("the body of a request", (it) => {
  const gateway = Effect.map(TestGateway, ({ ask, ordinaryKey, port }) => ({
    ask,
    socket: open(port),
    head: (body: string, extra = "") =>
      `POST /api/v1/rerank HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${ordinaryKey}\r\n` +
      `content-type: application/json\r\n${extra}content-length: ${Buffer.byteLength(body)}\r\n\r\n`
  }))

  describe.each([
    ["short", short],
    ["long", long]
  ])("that is %s", (_, body) => {
    it.effect("may come in parts, behind another one, and with a byte order mark", () =>
      Effect.gen(function* () {
        const { head, socket } = yield* gateway
        const marked = `\ufeff${body}`
        socket.write(head(body) + body + head(marked) + marked + head(body))
        yield* each(socket, body, Math.ceil(body.length / 20))
        expect(yield* Effect.promise(() => socket.statuses(3))).toEqual([200, 200, 200])
      })
    )

    it.effect("is asked for if the client waits for 100 Continue", () =>
      Effect.gen(function* () {
        const { head, socket } = yield* gateway
        const statuses = socket.statuses(2)
        socket.write(head(body, "expect: 100-continue\r\n"))
        yield* Effect.sleep(50)
        socket.write(body)
        expect(yield* Effect.promise(() => statuses)).toEqual([100, 200])
      })
    )

    it.effect("may be broken off or never end, and the gateway serves others", () =>
      Effect.gen(function* () {
        const half = body.slice(0, body.length / 2)
        const { ask, head, socket } = yield* gateway
        socket.write(head(body) + half)
        yield* Effect.sleep(20)
        socket.destroy()
        const ended = (yield* gateway).socket
        ended.write(head(body) + half)
        yield* Effect.sleep(20)
        ended.end()
        expect(yield* Effect.promise(() => ended.statuses(1))).toEqual([400])
        const answer = yield* ask("/api/v1/rerank", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body
        })
        expect(answer.status).toBe(200)
      })
    )
  })
})
