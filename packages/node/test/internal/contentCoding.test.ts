import { assert, describe, it } from "@effect/vitest"
import { NodeGateway } from "@model-gateway/node"
import { Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { layer as layerPeer, Peer } from "../support/server.ts"

const MiB = 1024 * 1024

/** The HTTP client over a server with the given handler. */
const client = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Layer.mergeAll(Layer.orDie(NodeGateway.layerHttpClient()), layerPeer(answer))

const get = (headers: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const { origin } = yield* Peer
    return yield* HttpClient.execute(HttpClientRequest.get(`${origin}/`, { headers }))
  })

const send = (coding: string, body: Uint8Array) => (request: IncomingMessage, response: ServerResponse) => {
  response.setHeader("x-accept-encoding", request.headers["accept-encoding"] ?? "none")
  response.writeHead(200, { "content-encoding": coding, "content-length": body.length }).end(body)
}

const text = JSON.stringify({ text: "päars 🍐 ".repeat(20_000) })

describe("a response in", () => {
  for (const [name, coding, encode] of [
    ["gzip", "gzip", gzipSync],
    ["x-gzip", "X-Gzip", gzipSync],
    ["deflate", "deflate", deflateSync],
    ["deflate without the header of zlib", "deflate", deflateRawSync],
    ["br", "br", brotliCompressSync],
    ["two codings", "gzip, br", (body: string) => brotliCompressSync(gzipSync(body))],
    ["no coding, by that name", "identity", (body: string) => Buffer.from(body)]
  ] as const) {
    it.live(`${name} is decoded as text and as a stream`, () =>
      Effect.gen(function* () {
        const first = yield* get()
        assert.strictEqual(yield* first.text, text)
        assert.strictEqual(first.headers["x-accept-encoding"], "gzip, deflate, br")
        if (coding !== "identity") {
          assert.notProperty(first.headers, "content-length")
          assert.notProperty(first.headers, "content-encoding")
        }
        const chunks = yield* Stream.runCollect((yield* get()).stream)
        assert.strictEqual(Buffer.concat(chunks).toString(), text)
      }).pipe(Effect.provide(client(send(coding, encode(text)))))
    )
  }

  it.live("an empty compressed body is an empty text", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* (yield* get()).text, "")
    }).pipe(Effect.provide(client(send("gzip", gzipSync("")))))
  )

  it.live("a coding, but without a body, is an empty text", () =>
    Effect.gen(function* () {
      for (const status of [204, 304, 403])
        assert.strictEqual(yield* (yield* get({ "x-status": `${status}` })).text, "")
    }).pipe(
      Effect.provide(
        client((request, response) => {
          const status = Number(request.headers["x-status"])
          response
            .writeHead(status, { "content-encoding": "gzip", ...(status === 403 && { "content-length": 0 }) })
            .end()
        })
      )
    )
  )
})

describe("a compressed response", () => {
  for (const [name, coding, body] of [
    ["is cut", "gzip", gzipSync(randomBytes(MiB)).subarray(0, MiB / 2)],
    ["is cut", "br", brotliCompressSync(text).subarray(0, 20)],
    ["is cut", "deflate", deflateSync(text).subarray(0, 20)],
    ["is something else", "gzip", Buffer.from(text)],
    ["is something else", "deflate", Buffer.from("{}")]
  ] as const) {
    it.live(`fails if it ${name}, in ${coding}`, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip((yield* get()).text)).reason._tag, "TransportError")
        const error = yield* Effect.flip(Stream.runDrain((yield* get()).stream))
        assert.strictEqual(error.reason._tag, "TransportError")
      }).pipe(Effect.provide(client(send(coding, body))))
    )
  }

  for (const [coding, encode] of [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync]
  ] as const) {
    it.live(`that stalls in ${coding} is aborted when its reader is interrupted, and fails when it is cut`, () => {
      const held: Array<ServerResponse> = []
      return Effect.gen(function* () {
        const peer = yield* Peer
        for (const sent of [0, 1, 1000]) {
          for (const read of [
            (response: HttpClientResponse.HttpClientResponse) => response.text,
            ({ stream }: HttpClientResponse.HttpClientResponse) => Stream.runDrain(stream)
          ]) {
            const part = encode(randomBytes(4096)).subarray(0, sent)
            const response = yield* get({ "x-part": part.toString("base64") })
            const reader = yield* Effect.forkChild(read(response), { startImmediately: true })
            yield* Effect.yieldNow
            yield* Fiber.interrupt(reader)
            yield* peer.allClosed
            const cut = yield* get({ "x-part": part.toString("base64") })
            const failing = yield* Effect.forkChild(Effect.flip(read(cut)), { startImmediately: true })
            held.pop()?.destroy()
            assert.strictEqual((yield* Fiber.join(failing)).reason._tag, "TransportError")
          }
        }
      }).pipe(
        Effect.provide(
          client((request, response) => {
            held.push(response)
            response.writeHead(200, { "content-encoding": coding }).flushHeaders()
            response.write(Buffer.from(String(request.headers["x-part"]), "base64"))
          })
        )
      )
    })
  }

  it.live("is not decoded in an unknown coding", () =>
    Effect.gen(function* () {
      const response = yield* get()
      assert.strictEqual(response.headers["content-encoding"], "zstd")
      assert.strictEqual(yield* response.text, "{}")
    }).pipe(Effect.provide(client(send("zstd", Buffer.from("{}")))))
  )

  it.live("is decoded no further than it is read", () => {
    let written = 0
    return Effect.gen(function* () {
      const peer = yield* Peer
      const first = yield* (yield* get()).stream.pipe(Stream.take(3), Stream.runCollect)
      assert.isBelow(Buffer.concat(first).length, MiB)
      // The client closed the connection, long before the 4 GiB were there.
      yield* peer.allClosed
      assert.isBelow(written, 2048 * MiB)
    }).pipe(
      Effect.provide(
        client((_, response) => {
          response.writeHead(200, { "content-encoding": "gzip" })
          const gzip = createGzip()
          const block = Buffer.alloc(MiB)
          const more = (): void => {
            while (!response.destroyed && written < 4096 * MiB) {
              written += block.length
              if (!gzip.write(block)) return
            }
          }
          gzip.on("drain", more).pipe(response)
          response.on("close", () => gzip.destroy())
          more()
        })
      )
    )
  })
})

describe("a small response that expands to much more", () => {
  for (const [coding, encode] of [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync]
  ] as const) {
    it.live(`is read in ${coding} only up to the client's limit, and its connection is closed`, () => {
      const bomb = encode(Buffer.alloc(16 * MiB))
      return Effect.gen(function* () {
        const peer = yield* Peer
        const gateway = yield* NodeGateway.make({
          baseUrl: `${peer.origin}/api/v1`,
          credential: Redacted.make("k"),
          maxResponseBytes: MiB
        })
        const error = yield* Effect.flip(gateway.currentKey)
        assert.strictEqual(error._tag, "InvalidResponse")
        assert.include(error.message, `more than ${MiB} bytes`)
        yield* peer.allClosed
      }).pipe(
        Effect.scoped,
        Effect.provide(
          layerPeer((_, response) => {
            // It never ends, so the connection is closed only by the client.
            response.writeHead(200, { "content-encoding": coding, "content-type": "application/json" }).write(bomb)
          })
        )
      )
    })
  }
})

describe("Accept-Encoding", () => {
  it.live("is identity for a range, and the caller's own takes precedence", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get({ range: "bytes=0-" })).headers["x-accept-encoding"], "identity")
      assert.strictEqual((yield* get({ "accept-encoding": "br" })).headers["x-accept-encoding"], "br")
    }).pipe(Effect.provide(client(send("identity", Buffer.from("{}")))))
  )

  it.live("a part of a compressed body is returned as it came", () => {
    const part = gzipSync(text).subarray(0, 100)
    return Effect.gen(function* () {
      const response = yield* get({ range: "bytes=0-99" })
      assert.strictEqual(response.headers["content-encoding"], "gzip")
      assert.deepStrictEqual(Buffer.concat(yield* Stream.runCollect(response.stream)), part)
    }).pipe(Effect.provide(client((_, response) => response.writeHead(206, { "content-encoding": "gzip" }).end(part))))
  })
})
