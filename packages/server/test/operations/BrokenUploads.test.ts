import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { layer, TestGateway } from "../TestGateway.ts"

/**
 * Sends a request and, without waiting for the response, a part of an upload. Closes the connection
 * after some milliseconds.
 */
const breakOff = (port: number, key: string, attempt: number) =>
  Effect.callback<void>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.resume().once("close", () => resume(Effect.void))
    const head = `host: x\r\nauthorization: Bearer ${key}\r\n`
    const body = '{"model":"sandbox/bm25","query":"a","documents":["a"]}'
    socket.write(
      `POST /api/v1/rerank HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}` +
        `POST /api/v1/files HTTP/1.1\r\n${head}content-type: multipart/form-data; boundary=B\r\ncontent-length: 5000000\r\n\r\n` +
        `--B\r\n${"x".repeat(1000 * (attempt % 90))}`
    )
    setTimeout(() => (attempt % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()), attempt % 30)
  })

it.layer(layer(), { excludeTestServices: true })("an upload that is broken off", (it) => {
  // An error event that nobody listens for would end the process, and with it this test run.
  it.effect("leaves the service running", () =>
    Effect.gen(function* () {
      const { ask, ordinaryKey, port } = yield* TestGateway
      const attempts = Array.from({ length: 600 }, (_, attempt) => attempt)
      yield* Effect.forEach(attempts, (attempt) => breakOff(port, ordinaryKey, attempt), {
        concurrency: 32,
        discard: true
      })
      expect((yield* ask("/api/v1/key")).status).toBe(200)
    })
  )
})
