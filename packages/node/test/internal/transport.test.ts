import { assert, describe, it } from "@effect/vitest"
import { Files, Gateway, Models, RetryPolicy } from "@model-gateway/core"
import * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { NodeFile, NodeGateway } from "@model-gateway/node"
import { Deferred, Effect, Fiber, Layer, Redacted, Stream, Tracer } from "effect"
import { HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as layerPeer, Peer } from "../support/server.ts"

const MiB = 1024 * 1024

/** The client over a server with the given handler. */
const client = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Layer.unwrap(
    Effect.map(Peer, ({ origin }) => NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential: Redacted.make("k") }))
  ).pipe(Layer.provideMerge(layerPeer(answer)))

/** The HTTP client over a server with the given handler. */
const httpClient = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Layer.mergeAll(Layer.orDie(NodeGateway.layerHttpClient()), layerPeer(answer))

/** A file of zeros that occupies no space on the disk. */
const sparseFile = (size: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = await mkdtemp(join(tmpdir(), "model-gateway-node-"))
      const path = join(folder, "meeting.wav")
      await writeFile(path, "")
      await truncate(path, size)
      return { folder, path }
    }),
    ({ folder }) => Effect.promise(() => rm(folder, { recursive: true }))
  ).pipe(Effect.flatMap(({ path }) => NodeFile.fromPath(path)))

const transcribe = Effect.fnUntraced(function* (size: number) {
  const { blob, filename } = yield* sparseFile(size)
  const gateway = yield* Gateway.Gateway
  return yield* gateway.transcribe({ model: "m", file: blob, filename })
})

describe("an upload", () => {
  it.live("reports its progress from 0 to its size, and not ahead of what the server accepts", () => {
    const stopped = Deferred.makeUnsafe<IncomingMessage>()
    const reports: Array<UploadMonitor.Progress> = []
    return Effect.gen(function* () {
      const { origin } = yield* Peer
      const { blob } = yield* sparseFile(128 * MiB)
      const form = new FormData()
      form.append("file", blob)
      const fiber = yield* HttpClient.execute(HttpClientRequest.post(origin, { body: HttpBody.formData(form) })).pipe(
        Effect.provideService(UploadMonitor.UploadMonitor, (progress) => reports.push(progress)),
        Effect.forkChild
      )
      const request = yield* Deferred.await(stopped)
      const total = Number(request.headers["content-length"])
      assert.deepStrictEqual(reports[0], { sent: 0, total })
      assert.isBelow(reports.at(-1)?.sent ?? total, total)
      request.resume()
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(reports.at(-1), { sent: total, total })
      assert.isTrue(reports.every(({ sent }, i) => sent >= (reports[i - 1]?.sent ?? 0)))
    }).pipe(
      Effect.scoped,
      Effect.provide(
        httpClient((request, response) => {
          request.once("data", () => {
            request.pause()
            Deferred.doneUnsafe(stopped, Effect.succeed(request))
          })
          request.on("end", () => response.end())
        })
      )
    )
  })

  it.effect("that moves is ended neither by the time limit of the attempt nor by the deadline", () => {
    const steps = 9
    const step = 16 * MiB
    let waiting = Deferred.makeUnsafe<IncomingMessage>()
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(transcribe(steps * step))
      for (let i = 1; i < steps; i++) {
        const request = yield* Deferred.await(waiting)
        waiting = Deferred.makeUnsafe()
        // In all 400 seconds: more than the deadline of 5 minutes.
        yield* TestClock.adjust("50 seconds")
        request.resume()
      }
      assert.strictEqual((yield* Fiber.join(fiber)).text, "done")
    }).pipe(
      Effect.scoped,
      Effect.provide(
        client((request, response) => {
          let received = 0
          request.on("data", (chunk: Buffer) => {
            const passed = Math.floor(received / step)
            received += chunk.length
            if (Math.floor(received / step) === passed || received >= (steps - 1) * step + step) return
            request.pause()
            Deferred.doneUnsafe(waiting, Effect.succeed(request))
          })
          request.on("end", () => response.end(JSON.stringify({ text: "done" })))
        })
      )
    )
  })

  it.effect("that stalls fails after the policy's stallTimeout, and its connection is closed", () => {
    const stalled = Deferred.makeUnsafe<IncomingMessage>()
    const left = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const fiber = yield* transcribe(64 * MiB).pipe(
        Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 0, stallTimeout: "20 seconds" })),
        Effect.flip,
        Effect.forkChild
      )
      const request = yield* Deferred.await(stalled)
      // Until the buffers of the sockets are full, the upload makes progress.
      while (fiber.pollUnsafe() === undefined) {
        yield* TestClock.adjust("5 seconds")
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "TimeoutError")
      assert.propertyVal(error, "limit", "stall")
      // A paused socket does not notice that it was closed.
      request.resume()
      yield* Deferred.await(left)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        client((request) => {
          request.on("error", () => {}).on("close", () => Deferred.doneUnsafe(left, Effect.void))
          request.once("data", () => {
            request.pause()
            Deferred.doneUnsafe(stalled, Effect.succeed(request))
          })
        })
      )
    )
  })

  it.live("can be a Stream, with a tracer installed, too", () => {
    let received = ""
    const tracer = Tracer.make({ span: (options) => new Tracer.NativeSpan(options) })
    return Effect.gen(function* () {
      const { origin } = yield* Peer
      const post = Effect.suspend(() =>
        HttpClient.execute(
          HttpClientRequest.post(origin, {
            body: HttpBody.stream(Stream.make(Buffer.from("one "), Buffer.from("two")), "text/plain")
          })
        )
      )
      yield* post
      yield* Effect.provideService(post, Tracer.Tracer, tracer)
      assert.strictEqual(received, "text/plain one two text/plain one two ")
    }).pipe(
      Effect.provide(
        httpClient((request, response) => {
          received += `${request.headers["content-type"]} `
          request.on("data", (chunk: Buffer) => (received += chunk.toString()))
          request.on("end", () => {
            received += " "
            response.end()
          })
        })
      )
    )
  })
})

describe("a response", () => {
  it.live("whose length exceeds the client's limit leaves no connection open", () =>
    Effect.gen(function* () {
      const peer = yield* Peer
      const gateway = yield* NodeGateway.make({
        baseUrl: `${peer.origin}/api/v1`,
        credential: Redacted.make("k"),
        maxResponseBytes: MiB
      })
      const error = yield* Effect.flip(gateway.currentKey)
      assert.strictEqual(error._tag, "InvalidResponse")
      yield* peer.allClosed
    }).pipe(
      Effect.scoped,
      Effect.provide(
        // It never ends, so the connection is closed only by the client.
        layerPeer((_, response) => response.writeHead(200, { "content-length": 16 * MiB }).write("{"))
      )
    )
  )
})

describe("a redirect", () => {
  const models = JSON.stringify({ object: "list", data: [], links: { next: null }, total_count: 0 })

  it.live("of a GET to the same origin is followed, with the credential", () => {
    const seen: Array<string> = []
    return Effect.gen(function* () {
      assert.deepStrictEqual((yield* Models.listModels({ output_modalities: "rerank" })).data, [])
      assert.deepStrictEqual(seen, ["/api/v1/models?output_modalities=rerank Bearer k", "/other?x=1 Bearer k"])
    }).pipe(
      Effect.provide(
        client((request, response) => {
          seen.push(`${request.url} ${request.headers.authorization}`)
          if (seen.length === 1) response.writeHead(302, { location: "/other?x=1#y" }).end("moved")
          else response.end(models)
        })
      )
    )
  })

  it.live("to another origin is not followed, and reaches the client as a response", () => {
    const elsewhere: Array<string | undefined> = []
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Models.listModels())
      assert.strictEqual(error._tag, "InvalidResponse")
      assert.propertyVal(error, "status", 302)
      assert.deepStrictEqual(elsewhere, [])
    }).pipe(
      Effect.provide(
        Layer.unwrap(
          Effect.map(Peer, ({ origin }) => client((_, response) => response.writeHead(302, { location: origin }).end()))
        ).pipe(
          Layer.provide(
            layerPeer((request, response) => {
              elsewhere.push(request.headers.authorization)
              response.end(models)
            })
          )
        )
      )
    )
  })

  it.live("of a POST is not followed", () => {
    let requests = 0
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const error = yield* Effect.flip(gateway.rerank({ model: "m", query: "q", documents: ["d"] }))
      assert.propertyVal(error, "status", 307)
      assert.strictEqual(requests, 1)
    }).pipe(
      Effect.provide(
        client((request, response) => {
          requests++
          request.resume().on("end", () => response.writeHead(307, { location: "/api/v1/other" }).end())
        })
      )
    )
  })

  it.live("is followed at most 5 times", () => {
    let requests = 0
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Files.getFile("file_1"))
      assert.propertyVal(error, "status", 308)
      assert.strictEqual(requests, 6)
    }).pipe(
      Effect.provide(
        client((_, response) => {
          requests++
          response.writeHead(308, { location: "/api/v1/again" }).end()
        })
      )
    )
  })
})
