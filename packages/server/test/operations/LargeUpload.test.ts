import { NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { createHash } from "node:crypto"
import { createServer, request as httpRequest, type Server } from "node:http"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "../TestStorage.ts"

const mebibyte = 1_048_576

const Line = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({ port: Schema.Int, key: Schema.String, managementKey: Schema.String }),
    Schema.Struct({ rss: Schema.Int })
  ])
)

const Stored = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.String,
    size_bytes: Schema.optionalKey(Schema.Int),
    bytes: Schema.optionalKey(Schema.Int)
  })
)

const boundary = "--bound--"

/** A mebibyte unlike any other, full of what looks like the end of a part. */
const blockOf = (base: Buffer, n: number): Buffer => {
  const block = Buffer.from(base)
  for (let at = 0; at < block.length; at += 4096) block.write(`\r\n--${boundary.slice(0, -1)}${n}\r\n`, at)
  return block
}

const makeBase = (): Buffer => {
  const base = Buffer.alloc(mebibyte)
  for (let at = 0; at < base.length; at++) base[at] = (at * 31 + (at >> 8)) % 251
  return base
}

/**
 * Sends a file of this many mebibytes. Returns the body of the response and the SHA-256 of the
 * file.
 */
const send = (port: number, key: string, mebibytes: number, query = "") =>
  Effect.callback<{ readonly body: string; readonly sha256: string }>((resume) => {
    const base = makeBase()
    const hash = createHash("sha256")
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        path: `/api/v1/files${query}`,
        method: "POST",
        agent: false,
        headers: { authorization: `Bearer ${key}`, "content-type": `multipart/form-data; boundary=${boundary}` }
      },
      (response) => {
        let body = ""
        response.on("data", (chunk: Buffer) => (body += chunk.toString()))
        response.on("end", () => resume(Effect.succeed({ body, sha256: hash.digest("hex") })))
      }
    )
    request.on("error", (error) => resume(Effect.die(error)))
    request.write(`--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nlarge\r\n`)
    request.write(`--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n\r\n`)
    let sent = 0
    const more = () => {
      while (sent < mebibytes) {
        const block = blockOf(base, sent++)
        hash.update(block)
        if (!request.write(block)) return request.once("drain", more)
      }
      return request.end(`\r\n--${boundary}--\r\n`)
    }
    more()
    return Effect.sync(() => request.destroy())
  })

const etagOf = (port: number, key: string, id: string) =>
  Effect.callback<string | undefined>((resume) => {
    httpRequest(
      {
        host: "127.0.0.1",
        port,
        path: `/api/v1/files/${id}/content`,
        agent: false,
        headers: { authorization: `Bearer ${key}`, range: "bytes=0-0" }
      },
      (response) => {
        response.resume()
        resume(Effect.succeed(response.headers.etag))
      }
    ).end()
  })

/** A gateway in a process of its own, and how much its memory grows during something. */
const startGateway = Effect.fnUntraced(function* (...more: ReadonlyArray<string>) {
  const folder = yield* temporaryFolder
  const child = yield* ChildProcess.make(
    process.execPath,
    [fileURLToPath(new URL("./fixtures/gateway.ts", import.meta.url)), folder, ...more],
    { env: { NODE_NO_WARNINGS: "1" }, extendEnv: true }
  )
  const ready = yield* Deferred.make<{ readonly port: number; readonly key: string; readonly managementKey: string }>()
  let now = 0
  let peak = 0
  yield* child.stdout.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.mapEffect((line) => Schema.decodeUnknownEffect(Line)(line)),
    Stream.runForEach((line) => {
      if ("port" in line) return Deferred.succeed(ready, line)
      now = line.rss
      peak = Math.max(peak, now)
      return Effect.void
    }),
    Effect.forkScoped
  )
  const growth = <A, E, R>(during: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      yield* Effect.sleep("500 millis")
      const before = now
      peak = 0
      const result = yield* during
      yield* Effect.sleep("200 millis")
      return { result, mebibytes: (peak - before) / mebibyte }
    })
  return { ...(yield* Deferred.await(ready)), growth }
})

/** A files API that keeps nothing. It returns the size and the SHA-256 of the file as its id. */
const startCounting = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer((request, response) => {
      const hash = createHash("sha256")
      let bytes = 0
      let rest = Buffer.alloc(0)
      let inFile = false
      request.on("data", (chunk: Buffer) => {
        rest = Buffer.concat([rest, chunk])
        if (!inFile) {
          const start = rest.indexOf("\r\n\r\n")
          if (start < 0) return
          inFile = true
          rest = rest.subarray(start + 4)
        }
        // What may be the end of the form stays.
        const content = rest.subarray(0, Math.max(0, rest.length - 1024))
        hash.update(content)
        bytes += content.length
        rest = rest.subarray(content.length)
      })
      request.on("end", () => {
        const content = rest.subarray(0, rest.indexOf("\r\n--form-"))
        const id = hash.update(content).digest("hex")
        bytes += content.length
        const file = { id, object: "file", bytes, created_at: 1, filename: "large.bin", purpose: "large" }
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(file))
      })
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

it.live(
  "a file of 2 GiB arrives whole and the process grows by less than 192 MiB",
  () =>
    Effect.gen(function* () {
      const { growth, key, port } = yield* startGateway()
      // So that what the first upload ever needs is there: compiled code, statements.
      yield* send(port, key, 1)
      const { mebibytes, result } = yield* growth(send(port, key, 2048))
      const stored = yield* Schema.decodeUnknownEffect(Stored)(result.body)
      expect(stored.size_bytes).toBe(2048 * mebibyte)
      expect(yield* etagOf(port, key, stored.id)).toBe(`"${result.sha256}"`)
      // Measured: 60 MiB, whatever the size of the file.
      expect(mebibytes).toBeLessThan(192)
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
  300_000
)

it.live(
  "a file of 256 MiB for a provider is passed on whole and the process grows by less than 128 MiB",
  () =>
    Effect.gen(function* () {
      const provider = portOf(yield* startCounting)
      const { growth, key, managementKey, port } = yield* startGateway(`http://127.0.0.1:${provider}/v1`)
      yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}/api/v1/byok`, {
          method: "POST",
          headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
          body: JSON.stringify({ provider: "openai", key: "sk-0123456789" })
        })
      )
      yield* send(port, key, 1, "?provider=provider_a")
      const { mebibytes, result } = yield* growth(send(port, key, 256, "?provider=provider_a"))
      const stored = yield* Schema.decodeUnknownEffect(Stored)(result.body)
      expect(stored).toEqual({ id: result.sha256, bytes: 256 * mebibyte })
      // Measured: 62 MiB for 512 MiB.
      expect(mebibytes).toBeLessThan(128)
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
  300_000
)
