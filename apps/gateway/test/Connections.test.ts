import { once } from "node:events"
import { connect } from "node:net"
import { describe, expect, it, onTestFinished } from "vitest"
import * as Connections from "../src/Connections.ts"

/** A server that listens and that nobody serves yet. */
const listen = async () => {
  const { server } = Connections.make()
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("It does not listen on a port")
  return { server, port: address.port }
}

/** All that comes back to what is written, until the connection closes. */
const ask = async (port: number, written: string): Promise<string> => {
  const socket = connect(port, "127.0.0.1")
  let received = ""
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk))
  socket.write(written)
  await once(socket, "close")
  return received
}

const envelopeOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))

describe("Connections", () => {
  it.each([
    ["", "200"],
    ["Expect: 100-continue\r\n", "100"]
  ])("answers what was asked before anybody served (%j)", async (headers, status) => {
    const { port, server } = await listen()
    const answer = ask(port, `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n${headers}\r\n{}`)
    // Refused after the request before it has been read.
    await ask(port, "hello\r\n\r\n")
    server.on("request", (_, response) => void response.end("served"))
    server.on("checkContinue", (_, response) => {
      response.writeContinue()
      response.end("served")
    })
    expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*served`))
  })

  it.each([
    ["hello\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX-A: ${"a".repeat(70_000)}\r\n\r\n`, 431],
    ["POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", 400]
  ])("says in the envelope that a request cannot be read (%#)", async (written, status) => {
    const { port } = await listen()
    const answer = await ask(port, written)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const id = /x-request-id: (\S+)/.exec(answer)?.[1]
    expect(envelopeOf(answer)).toMatchObject({ error: { code: status }, service_metadata: { request_id: id } })
  })

  it("writes no refusal into the middle of another answer", async () => {
    const { port, server } = await listen()
    server.on("request", (_, response) => void response.write("begun"))
    const answer = await ask(port, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nZZ\r\n")
    expect(answer).not.toContain("HTTP/1.1 400")
  })
})
