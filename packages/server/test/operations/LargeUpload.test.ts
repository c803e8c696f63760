import { NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { createHash } from "node:crypto"
import { request as httpRequest } from "node:http"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "../TestStorage.ts"

const mebibyte = 1_048_576

const Line = Schema.fromJsonString(
  Schema.Union([Schema.Struct({ port: Schema.Int, key: Schema.String }), Schema.Struct({ rss: Schema.Int })])
)

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.String, bytes: Schema.Int }))

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

/** Sends a file of so many mebibytes; answers the response's body and the SHA-256 of what was sent. */
const send = (port: number, key: string, mebibytes: number) =>
  Effect.callback<{ readonly body: string; readonly sha256: string }>((resume) => {
    const base = makeBase()
    const hash = createHash("sha256")
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        path: "/api/v1/files",
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

it.live(
  "a file of 2 GiB arrives whole and the process grows by less than 192 MiB",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const child = yield* ChildProcess.make(
        process.execPath,
        [fileURLToPath(new URL("./fixtures/gateway.ts", import.meta.url)), folder],
        { env: { NODE_NO_WARNINGS: "1" }, extendEnv: true }
      )
      const ready = yield* Deferred.make<{ readonly port: number; readonly key: string }>()
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
      const { key, port } = yield* Deferred.await(ready)
      // So that what the first upload ever needs is there: compiled code, statements.
      yield* send(port, key, 1)
      yield* Effect.sleep("500 millis")
      const before = now
      peak = 0
      const { body, sha256 } = yield* send(port, key, 2048)
      yield* Effect.sleep("200 millis")
      const stored = yield* Schema.decodeUnknownEffect(Stored)(body)
      expect(stored.bytes).toBe(2048 * mebibyte)
      expect(yield* etagOf(port, key, stored.id)).toBe(`"${sha256}"`)
      // Measured: 60 MiB, whatever the size of the file.
      expect((peak - before) / mebibyte).toBeLessThan(192)
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped),
  300_000
)
