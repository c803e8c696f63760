import { openrouter } from "@model-gateway/core/WireNames"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import * as Connections from "../src/Connections.ts"

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** A server that listens; nobody serves it unless `serve` is given. */
const listen = async (serve?: Serve, options?: Partial<Connections.Options>) => {
  const made = Connections.make({ bodyRate: { bytesPerSecond: 1024, grace: 30_000 }, ...options })
  const { server } = made
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  if (serve !== undefined) {
    server.on("request", serve)
    made.begin()
  }
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("It does not listen on a port")
  return { ...made, port: address.port }
}

interface Client {
  readonly socket: Socket
  /** All that comes back until the connection closes. */
  readonly answer: Promise<string>
  /** Waits until this has come. */
  readonly receives: (text: string) => Promise<string>
}

const open = (port: number): Client => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  let received = ""
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk))
  // A reset ends the answer like any other end.
  socket.on("error", () => {})
  socket.on("end", () => void socket.end())
  return {
    socket,
    answer: once(socket, "close").then(() => received),
    receives: async (text) => {
      while (!received.includes(text)) await once(socket, "data")
      return received
    }
  }
}

/** All that comes back to what is written, until the connection closes. */
const ask = async (port: number, written: string): Promise<string> => {
  const { answer, socket } = open(port)
  socket.write(written)
  return answer
}

const envelopeOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))

/** The status lines of all answers. */
const statusesOf = (answer: string): ReadonlyArray<string> =>
  [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = ""]) => status)

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

const post = (length: number, body = "") => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`

/** Answers after a while. */
const late =
  (millis: number): Serve =>
  (_, response) =>
    void setTimeout(() => response.end("served"), millis)

describe("Connections", () => {
  it.each([
    ["", "200"],
    ["Expect: 100-continue\r\n", "100"]
  ])("responds to requests that arrived before the service started (%j)", async (headers, status) => {
    const { begin, port, server } = await listen()
    const answer = ask(port, `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n${headers}\r\n{}`)
    // Refused after the request before it has been read.
    await ask(port, "hello\r\n\r\n")
    server.on("request", (_, response) => void response.end("served"))
    server.on("checkContinue", (_, response) => {
      response.writeContinue()
      response.end("served")
    })
    begin()
    expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*served`))
  })

  it.each([
    ["hello\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX-A: ${"a".repeat(70_000)}\r\n\r\n`, 431],
    ["POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", 400],
    ["CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405]
  ])("rejects requests that cannot be parsed with the error envelope (%#)", async (written, status) => {
    const { port } = await listen()
    const answer = await ask(port, written)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toContain("\r\nx-content-type-options: nosniff\r\n")
    const id = /x-request-id: (\S+)/.exec(answer)?.[1]
    expect(envelopeOf(answer)).toMatchObject({ error: { code: status }, service_metadata: { request_id: id } })
  })

  it("rejects them with the words on the wire", async () => {
    const { port } = await listen(undefined, { wireNames: openrouter })
    expect(envelopeOf(await ask(port, "hello\r\n\r\n"))).toMatchObject({
      openrouter_metadata: { request_id: expect.stringMatching(/^req_/) as unknown }
    })
  })

  it("does not write an error into the middle of another response", async () => {
    const { port } = await listen((_, response) => void response.write("begun"))
    const answer = await ask(port, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nZZ\r\n")
    expect(answer).not.toContain("HTTP/1.1 400")
  })

  it.each([
    [`${post(2, "{}")}hello\r\n\r\n`, ["200", "400"]],
    [`${get}${post(2, "{}")}hello\r\n\r\n`, ["200", "200", "400"]],
    [`${get}POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`, ["200", "400"]]
  ])("responds to complete requests before it rejects what follows them (%#)", async (written, statuses) => {
    // A request whose body is broken has no answer of its own.
    const { port } = await listen((request, response) => {
      request.resume().on("end", () => late(50)(request, response))
    })
    expect(statusesOf(await ask(port, written))).toEqual(statuses)
  })

  it("survives clients that reset their connection after any request", async () => {
    const { port } = await listen(late(0))
    for (const written of [get, "hello\r\n\r\n", "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"]) {
      for (let i = 0; i < 20; i++) {
        const { answer, socket } = open(port)
        socket.write(written, () => void socket.resetAndDestroy())
        await answer
      }
    }
    expect(statusesOf(await ask(port, `${get}hello\r\n\r\n`))).toEqual(["200", "400"])
  })

  it.each(["", "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"])(
    "closes responses that wait for another one when their connection closes (%j)",
    async (last) => {
      const responses: Array<ServerResponse> = []
      const asked = Promise.withResolvers<void>()
      const { port } = await listen((_, response) => {
        responses.push(response)
        // The first one never ends.
        if (responses.length > 1) response.end("served")
        if (responses.length === 3) asked.resolve()
      })
      const { socket } = open(port)
      socket.write(get + get + get + last)
      await asked.promise
      const closed = responses.map((response) => once(response, "close"))
      socket.destroy()
      await Promise.all(closed)
      expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, true, true])
    }
  )

  it("treats a request to upgrade the protocol as an ordinary request", async () => {
    const { port } = await listen(late(0))
    const answer = await ask(
      port,
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    )
    expect(statusesOf(answer)).toEqual(["200"])
  })
})

describe("a client that ends its side of the connection", () => {
  it.each(["1.0", "1.1"])("gets its response (HTTP/%s)", async (version) => {
    const { port } = await listen(late(100))
    const { answer, socket } = open(port)
    socket.end(`GET / HTTP/${version}\r\nHost: x\r\n\r\n`)
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*served/)
  })

  it("gets interim responses while its response takes long, and then the response", async () => {
    const { port } = await listen(late(700))
    const { answer, socket } = open(port)
    socket.end(get)
    const statuses = statusesOf(await answer)
    expect(statuses.length).toBeGreaterThan(1)
    expect(statuses.at(-1)).toBe("200")
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set(["102"]))
  })

  it("has its request interrupted when it disconnects", async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    const { port } = await listen((_, response) => asked.resolve(response))
    const { socket } = open(port)
    socket.write(get)
    const response = await asked.promise
    const closed = once(response, "close")
    socket.destroy()
    await closed
    expect(response.writableEnded).toBe(false)
  })
})

describe("a slow client", () => {
  const bodyRate = { bytesPerSecond: 1000, grace: 200 }

  /** Sends pieces of a body until the connection closes or all are sent. */
  const drip = async (socket: Socket, piece: string, times: number): Promise<void> => {
    for (let i = 0; i < times && socket.writable; i++) {
      socket.write(piece)
      await sleep(50)
    }
  }

  it.each([
    ["reads it", (request: IncomingMessage) => void request.resume()],
    ["does not read it", () => {}]
  ])("is rejected when its body is slower than the minimum rate and the service %s", async (_, read) => {
    const { port } = await listen(read, { bodyRate })
    const { answer, socket } = open(port)
    socket.write(post(1_000_000))
    await drip(socket, "x".repeat(5), 1000)
    const received = await answer
    expect(statusesOf(received)).toEqual(["408"])
    expect(envelopeOf(received)).toMatchObject({ error: { code: 408, message: "the request body arrived too slowly" } })
  })

  it("is rejected after the first, shorter span", async () => {
    const { port } = await listen(undefined, { bodyRate: { bytesPerSecond: 1000, firstGrace: 200, grace: 3_600_000 } })
    const { answer, socket } = open(port)
    socket.write(post(1_000_000))
    await drip(socket, "x".repeat(5), 1000)
    expect(statusesOf(await answer)).toEqual(["408"])
  })

  it("may pause for longer after the first span, and before the 100 Continue", async () => {
    const bodyRate = { bytesPerSecond: 1000, firstGrace: 200, grace: 3_600_000 }
    const { begin, port, server } = await listen(undefined, { bodyRate })
    server.on("checkContinue", (request, response) => {
      setTimeout(() => response.writeContinue(), 1000)
      request.resume().on("end", () => response.end("served"))
    })
    server.on("request", (request, response) => void request.resume().on("end", () => response.end("served")))
    begin()
    const [pauses, waits] = [open(port), open(port)]
    pauses.socket.write(post(10_001, "x".repeat(10_000)))
    waits.socket.write("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    await waits.receives("100 Continue")
    for (const { receives, socket } of [pauses, waits]) {
      socket.write("x")
      expect(await receives("served")).not.toContain(" 408 ")
    }
  })

  it("is disconnected when its body continues slowly after the response", async () => {
    const { port } = await listen((_, response) => void response.end("served"), { bodyRate })
    const { answer, socket } = open(port)
    socket.write(post(1_000_000))
    await drip(socket, "x".repeat(5), 1000)
    expect(statusesOf(await answer)).toEqual(["200"])
  })

  it("is served when its body is faster than the minimum rate", async () => {
    const { port } = await listen(
      (request, response) => void request.resume().on("end", () => response.end("served")),
      { bodyRate }
    )
    const { answer, receives, socket } = open(port)
    socket.write(post(20_000))
    await drip(socket, "x".repeat(1000), 20)
    await receives("served")
    socket.end()
    expect(statusesOf(await answer)).toEqual(["200"])
  })

  it("is not rejected while the service does not read its body", async () => {
    const { port } = await listen(
      (request, response) =>
        void setTimeout(() => request.resume().on("end", () => response.end("served")), 4 * bodyRate.grace),
      { bodyRate }
    )
    const { receives, socket } = open(port)
    socket.write(post(10_000_000, "x".repeat(10_000_000)))
    expect(statusesOf(await receives("served"))).toEqual(["200"])
  })

  it("is disconnected when it does not read its response", async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    const { port } = await listen(
      (_, response) => {
        response.end(Buffer.alloc(50_000_000))
        asked.resolve(response)
      },
      { stalled: 200 }
    )
    const { socket } = open(port)
    socket.pause().write(get)
    const response = await asked.promise
    await once(response, "close")
    expect(response.writableFinished).toBe(false)
  })

  it("is not disconnected while it waits for its response", async () => {
    const { port } = await listen(late(1000), { stalled: 200 })
    const { receives, socket } = open(port)
    socket.write(get)
    expect(statusesOf(await receives("served"))).toEqual(["200"])
  })
})

describe("a server that stops", () => {
  it("rejects requests that arrive after the service has stopped", async () => {
    const { begin, port } = await listen()
    begin()
    const answer = await ask(port, get)
    expect(statusesOf(answer)).toEqual(["503"])
    expect(envelopeOf(answer)).toMatchObject({ error: { code: 503 } })
  })

  it("responds to requests on connections that still wait to be accepted", async () => {
    const { port, stopListening } = await listen((_, response) => {
      response.setHeader("connection", "close")
      response.end("served")
    })
    const clients = Array.from({ length: 30 }, () => open(port))
    for (const { socket } of clients) socket.write(get)
    await stopListening()
    const answers = await Promise.all(clients.map(({ answer }) => answer))
    expect(answers.map(statusesOf)).toEqual(clients.map(() => ["200"]))
  })

  it("refuses connections once it has stopped listening, and resets none of clients that open one after the other", async () => {
    const { port, stopListening } = await listen((_, response) => {
      response.setHeader("connection", "close")
      response.end("served")
    })
    /** Opens one connection after the other until one fails, and returns why. */
    const reconnect = async (): Promise<string> => {
      for (;;) {
        const socket = connect({ port, host: "127.0.0.1" })
        socket.resume().write(get)
        const failure = await new Promise<string | undefined>((resolve) => {
          socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code))
          socket.once("close", () => resolve(undefined))
        })
        if (failure !== undefined) return failure
      }
    }
    const clients = Array.from({ length: 8 }, reconnect)
    await sleep(50)
    await stopListening()
    expect(await Promise.all(clients)).toEqual(clients.map(() => "ECONNREFUSED"))
  })

  it("responds to requests that idle connections send within a second, and then closes the others", async () => {
    const { drain, port, server, stopListening } = await listen(late(0))
    const busy = open(port)
    const idle = open(port)
    const unused = open(port)
    for (const { receives, socket } of [busy, idle]) {
      socket.write(get)
      await receives("served")
    }
    const closed = once(server, "close")
    const startedAt = performance.now()
    await stopListening()
    const drained = drain(60_000)
    await sleep(200)
    busy.socket.write(get)
    expect(statusesOf(await busy.answer)).toEqual(["200", "200"])
    expect(statusesOf(await idle.answer)).toEqual(["200"])
    expect(await unused.answer).toBe("")
    await closed
    await drained
    expect(performance.now() - startedAt).toBeLessThan(30_000)
  })

  it("rejects requests that have not arrived completely when the time is over", async () => {
    const { closed, drain, port, server, stopListening } = await listen(() => {})
    const halves = [post(100, "half a body"), "GET / HTTP/1.1\r\nHost: x\r\nX-Ha"].map((written) => {
      const client = open(port)
      client.socket.write(written)
      return client
    })
    await vi.waitFor(
      () =>
        new Promise<void>((resolve, reject) =>
          server.getConnections((_, count) => (count === halves.length ? resolve() : reject(new Error("not yet"))))
        )
    )
    await stopListening()
    await drain(100)
    const answers = await Promise.all(halves.map(({ answer }) => answer))
    expect(answers.map(statusesOf)).toEqual([["503"], ["503"]])
    await closed()
  })

  it("lets complete requests end after the time for half-sent ones is over", async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    const { closed, drain, port, stopListening } = await listen((_, response) => asked.resolve(response))
    const { answer, socket } = open(port)
    socket.write(get)
    const response = await asked.promise
    await stopListening()
    await drain(10)
    response.end("served")
    expect(statusesOf(await answer)).toEqual(["200"])
    await closed()
  })
})
