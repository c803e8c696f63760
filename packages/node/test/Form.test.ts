import { assert, describe, it } from "@effect/vitest"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { NodeFile, NodeGateway } from "@model-gateway/node"
import { Deferred, Effect, Fiber, Layer, Redacted, Stream, Tracer } from "effect"
import { HttpClient, Multipart } from "effect/http"
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { layer as layerPeer, Peer } from "./support/server.ts"

const MiB = 1024 * 1024

const run = promisify(execFile)

const credential = Redacted.make("mg_sk_test")

const layerOf = (origin: string, pool?: NodeGateway.PoolOptions) =>
  NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential, pool })

/** The client over a server with the given handler. */
const client = (answer: (request: IncomingMessage, response: ServerResponse) => void, pool?: NodeGateway.PoolOptions) =>
  Layer.unwrap(Effect.map(Peer, ({ origin }) => layerOf(origin, pool))).pipe(Layer.provideMerge(layerPeer(answer)))

const json = (response: ServerResponse, body: unknown): void => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const transcribe = (file: Blob, filename = "meeting.wav") =>
  Effect.flatMap(Gateway.Gateway, (gateway) => gateway.transcribe({ model: "sandbox/tones", file, filename }))

const temporaryFile = (content: Uint8Array | string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = await mkdtemp(join(tmpdir(), "model-gateway-node-"))
      const path = join(folder, "meeting.wav")
      await writeFile(path, content)
      return { folder, path }
    }),
    ({ folder }) => Effect.promise(() => rm(folder, { recursive: true }))
  ).pipe(Effect.map(({ path }) => path))

/** A received request. */
interface Came {
  readonly headers: Record<string, string>
  readonly body: Buffer
}

/** Responds to each request and records it. */
const keeping = (came: Array<Came>) => (request: IncomingMessage, response: ServerResponse) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    came.push({ headers, body: Buffer.concat(chunks) })
    json(response, { text: "done" })
  })
}

/** The contents of the request's form. */
const parse = Effect.fnUntraced(function* ({ body, headers }: Came) {
  const fields: Array<readonly [string, string]> = []
  const files: Array<{ readonly name: string; readonly contentType: string; readonly bytes: Uint8Array }> = []
  yield* Stream.make(body).pipe(
    Stream.pipeThroughChannel(Multipart.makeChannel(headers)),
    Stream.runForEach(
      Effect.fnUntraced(function* (part) {
        if (part._tag === "Field") fields.push([part.key, part.value])
        else files.push({ name: part.name, contentType: part.contentType, bytes: yield* part.contentEffect })
      })
    )
  )
  return { fields, files }
})

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

describe("a large JSON body", () => {
  it.live("arrives unchanged at a slow reader, and its progress is reported", () => {
    const came: Array<Came> = []
    const reports: Array<UploadMonitor.Progress> = []
    const data = Buffer.alloc(6 * MiB, "ä").toString("base64")
    const reporting = Effect.provideService(UploadMonitor.UploadMonitor, (progress) => {
      reports.push(progress)
    })
    return Effect.gen(function* () {
      const { origin } = yield* Peer
      const gateway = yield* NodeGateway.make({
        baseUrl: `${origin}/api/v1`,
        credential,
        transformClient: HttpClient.transformResponse(reporting)
      })
      yield* gateway.transcribe({ model: "m", input_audio: { data, format: "wav" } })
      const [request] = came
      assert.deepStrictEqual(JSON.parse(String(request?.body)), { model: "m", input_audio: { data, format: "wav" } })
      const total = request?.body.length
      assert.strictEqual(request?.headers["content-length"], String(total))
      assert.deepStrictEqual(reports[0], { sent: 0, total })
      assert.deepStrictEqual(reports.at(-1), { sent: total, total })
      assert.isAbove(reports.length, 10)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        layerPeer((request, response) => {
          request.on("data", () => {
            request.pause()
            setImmediate(() => request.resume())
          })
          keeping(came)(request, response)
        })
      )
    )
  })
})

describe("a form", () => {
  it.live("arrives unchanged, with a Content-Length, whatever characters its names contain", () => {
    const came: Array<Came> = []
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      yield* gateway.transcribe({
        model: "sandbox/tones\nline two",
        file: new Blob(["RIFF ", "päars 🍐"], { type: "audio/wav" }),
        filename: 'Ünter "uns"\r\nfalsch: ja.wav',
        temperature: 0.5,
        timestamp_granularities: ["word", "segment"],
        trace: { "an other": '--"quoted"' }
      })
      const [request] = came
      if (request === undefined) return assert.fail("nothing came")
      assert.strictEqual(request.headers["content-length"], String(request.body.length))
      assert.include(request.body.toString(), '; filename="Ünter %22uns%22%0D%0Afalsch: ja.wav"\r\n')
      const { fields, files } = yield* parse(request)
      assert.sameDeepMembers(fields, [
        ["model", "sandbox/tones\r\nline two"],
        ["temperature", "0.5"],
        ["timestamp_granularities[]", "word"],
        ["timestamp_granularities[]", "segment"],
        ["trace", '{"an other":"--\\"quoted\\""}']
      ])
      assert.strictEqual(files.length, 1)
      assert.strictEqual(files[0]?.contentType, "audio/wav")
      assert.strictEqual(Buffer.from(files[0]?.bytes ?? []).toString(), "RIFF päars 🍐")
    }).pipe(Effect.provide(client(keeping(came))))
  })

  it.live("is sent in the same way with a tracer installed", () => {
    const came: Array<Came> = []
    const tracer = Tracer.make({ span: (options) => new Tracer.NativeSpan(options) })
    return Effect.gen(function* () {
      yield* transcribe(new Blob(["RIFF"])).pipe(Effect.provideService(Tracer.Tracer, tracer))
      const [request] = came
      if (request === undefined) return assert.fail("nothing came")
      assert.strictEqual(request.headers["content-length"], String(request.body.length))
      const { files } = yield* parse(request)
      assert.strictEqual(Buffer.from(files[0]?.bytes ?? []).toString(), "RIFF")
    }).pipe(Effect.provide(client(keeping(came))))
  })

  it.live("can contain an empty file, and bytes in memory", () => {
    const came: Array<Came> = []
    const bytes = randomBytes(3 * MiB + 5)
    return Effect.gen(function* () {
      for (const sent of [Buffer.alloc(0), bytes]) {
        yield* transcribe(new Blob([sent.subarray(0, 7), sent.subarray(7)]))
        const request = came.pop()
        if (request === undefined) return assert.fail("nothing came")
        const { files } = yield* parse(request).pipe(Effect.provideService(Multipart.MaxFileSize, undefined))
        assert.strictEqual(files[0]?.bytes.length, sent.length)
        assert.strictEqual(digest(files[0]?.bytes ?? bytes), digest(sent))
      }
    }).pipe(Effect.provide(client(keeping(came))))
  })

  it.live("arrives unchanged at a slow reader", () => {
    const bytes = randomBytes(16 * MiB)
    let file: Uint8Array | undefined
    return Effect.gen(function* () {
      const { blob, filename } = yield* NodeFile.fromPath(yield* temporaryFile(bytes))
      yield* Effect.all([transcribe(blob, filename), transcribe(blob, filename), transcribe(blob, filename)], {
        concurrency: "unbounded"
      })
      assert.strictEqual(file?.length, bytes.length)
      assert.strictEqual(digest(file ?? bytes.subarray(1)), digest(bytes))
    }).pipe(
      Effect.scoped,
      Effect.provide(
        client((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => {
            chunks.push(chunk)
            request.pause()
            setImmediate(() => request.resume())
          })
          request.on("end", () => {
            const body = Buffer.concat(chunks)
            const start = body.indexOf("\r\n\r\n", body.indexOf('name="file"')) + 4
            const came = body.subarray(start, start + bytes.length)
            if (file === undefined || digest(came) !== digest(bytes)) file = came
            json(response, { text: "done" })
          })
        })
      )
    )
  })

  it.live(
    "of 2 GiB is sent as it is read from disk, in an eighth of its size at most",
    () => {
      let received = 0
      return Effect.gen(function* () {
        const { origin } = yield* Peer
        const small = yield* temporaryFile("RIFF")
        const large = yield* temporaryFile("RIFF")
        yield* Effect.promise(() => truncate(large, 2048 * MiB))
        const sender = fileURLToPath(new URL("./support/sender.ts", import.meta.url))
        const { stdout } = yield* Effect.promise(() => run(process.execPath, [sender, origin, small, large]))
        assert.isAbove(received, 2048 * MiB)
        // Measured: 65 to 68 MiB on an idle machine, and up to 129 MiB on a busy one, where sent
        // blocks are freed later. Neither depends on the size of the file.
        assert.isBelow(Number(stdout) / MiB, 256)
      }).pipe(
        Effect.scoped,
        Effect.provide(
          layerPeer((request, response) => {
            request.on("data", (chunk: Buffer) => (received += chunk.length))
            request.on("end", () => json(response, { text: "done" }))
          })
        )
      )
    },
    240_000
  )

  it.live("is sent through a custom connector", () => {
    const came: Array<Came> = []
    let connections = 0
    const bytes = randomBytes(4 * MiB)
    return Effect.gen(function* () {
      yield* transcribe(new Blob([bytes]))
      const [request] = came
      if (request === undefined) return assert.fail("nothing came")
      const { files } = yield* parse(request).pipe(Effect.provideService(Multipart.MaxFileSize, undefined))
      assert.strictEqual(digest(files[0]?.bytes ?? bytes.subarray(1)), digest(bytes))
      assert.strictEqual(connections, 1)
    }).pipe(
      Effect.provide(
        client(keeping(came), {
          agent: {
            connect: ({ hostname, port }, callback) => {
              connections++
              const socket = new Socket()
              socket.once("connect", () => callback(null, socket)).once("error", (error) => callback(error, null))
              socket.connect({ host: hostname, port: Number(port) })
            }
          }
        })
      )
    )
  })

  it.live("whose file changed after it was opened fails with a TransportError", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFile(randomBytes(MiB))
      const { blob, filename } = yield* NodeFile.fromPath(path)
      yield* Effect.promise(() => writeFile(path, randomBytes(MiB + 1)))
      const error = yield* transcribe(blob, filename).pipe(
        Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none),
        Effect.flip
      )
      assert.strictEqual(error._tag, "TransportError")
    }).pipe(
      Effect.scoped,
      Effect.provide(
        client((request, response) => {
          request.on("error", () => {})
          request.resume().on("end", () => json(response, { text: "done" }))
        })
      )
    )
  )

  it.live("is aborted when the call is interrupted", () => {
    const arrived = Deferred.makeUnsafe<void>()
    const left = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const path = yield* temporaryFile("RIFF")
      yield* Effect.promise(() => truncate(path, 64 * MiB))
      const { blob, filename } = yield* NodeFile.fromPath(path)
      const fiber = yield* Effect.forkChild(transcribe(blob, filename))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(left)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        client((request) => {
          request.on("error", () => {}).on("close", () => Deferred.doneUnsafe(left, Effect.void))
          // Send only one block.
          request.once("data", () => {
            request.pause()
            Deferred.doneUnsafe(arrived, Effect.void)
          })
        })
      )
    )
  })
})
