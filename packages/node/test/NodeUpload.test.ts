import { afterAll, assert, beforeAll, describe, expect, it, vi } from "@effect/vitest"
import { NodeUpload } from "@model-gateway/node"
import { Cause, Effect, type Scope } from "effect"
import { once } from "node:events"
import { createServer, type IncomingMessage, request as send } from "node:http"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

type Received = Effect.Effect<Request | IncomingMessage, never, Scope.Scope>

/** The request that a server gets: of the Fetch API, and of Node. */
const received = (body: FormData | string): ReadonlyArray<Received> => {
  const init = { method: "POST", body }
  const node = Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => createServer().listen(0, "127.0.0.1")),
      (it) => Effect.sync(() => it.close().closeAllConnections())
    )
    yield* Effect.promise(() => once(server, "listening"))
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    return yield* Effect.callback<IncomingMessage>((resume) => {
      server.once("request", (request) => resume(Effect.succeed(request)))
      // The server ends the connection without an answer.
      fetch(`http://127.0.0.1:${port}`, init).catch(() => {})
    })
  })
  return [Effect.sync(() => new Request("http://127.0.0.1", init)), node]
}

const boundary = "b"
const multipart = { "content-type": `multipart/form-data; boundary=${boundary}` }
const head = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
const fileHead = head('name="file"; filename="a.wav"')
const end = `\r\n--${boundary}--\r\n`

/** A request of the Fetch API whose body is written by hand. */
const written = (body: string | ReadableStream<Uint8Array>) =>
  new Request("http://127.0.0.1", { method: "POST", body, headers: multipart, duplex: "half" })

const form = (...parts: ReadonlyArray<readonly [string, Blob | string]>) => {
  const data = new FormData()
  for (const [name, value] of parts) data.append(name, value)
  return data
}

// Other tests use the same folder for temporary files.
let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  vi.stubEnv("TMPDIR", folder)
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

const filesOnDisk = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const tagsOf = (body: FormData | string, options?: NodeUpload.Options) =>
  Effect.forEach(received(body), (request) =>
    Effect.map(
      Effect.flatMap(request, (it) => Effect.flip(NodeUpload.fromRequest(it, options))),
      (error) => error._tag
    )
  ).pipe(Effect.scoped)

describe("an upload", () => {
  it.live("is a file on the disk, until the scope ends", () =>
    Effect.gen(function* () {
      const file = new File(["hello"], "../notes.txt", { type: "text/plain" })
      for (const request of received(form(["language", "en"], ["language", "de"], ["file", file]))) {
        const upload = yield* Effect.gen(function* () {
          const upload = yield* NodeUpload.fromRequest(yield* request)
          expect(filesOnDisk()).toHaveLength(1)
          expect(yield* Effect.promise(() => upload.file.text())).toBe("hello")
          return upload
        }).pipe(Effect.scoped)
        expect(upload).toMatchObject({ filename: "../notes.txt", fields: { language: "en" } })
        expect(upload.file.type).toBe("text/plain")
        expect(readdirSync(folder)).toEqual([])
      }
    })
  )

  it.live("is written while it arrives, rather than read into memory", () =>
    Effect.gen(function* () {
      const chunk = new Uint8Array(1_048_576)
      const inMemory: Array<number> = []
      const chunks = async function* () {
        yield new TextEncoder().encode(fileHead)
        for (let sent = 0; sent < 40; sent++) {
          inMemory.push(sent * chunk.length - filesOnDisk().reduce((sum, file) => sum + statSync(file).size, 0))
          yield chunk
        }
        yield new TextEncoder().encode(end)
      }
      const request = written(ReadableStream.from(chunks()))
      const { file } = yield* NodeUpload.fromRequest(request, { maxBytes: 100_000_000 })
      expect(file.size).toBe(40 * chunk.length)
      expect(Math.max(...inMemory)).toBeLessThan(8 * chunk.length)
    }).pipe(Effect.scoped)
  )

  it.live("that is too large is refused", () =>
    Effect.gen(function* () {
      const large = form(["file", new File([new Uint8Array(200_001)], "a.wav")])
      assert.deepStrictEqual(yield* tagsOf(large, { maxBytes: 200_000 }), ["PayloadTooLarge", "PayloadTooLarge"])
      const largest = form(["file", new File([new Uint8Array(200_000)], "a.wav")])
      for (const request of received(largest)) {
        const { file } = yield* NodeUpload.fromRequest(yield* request, { maxBytes: 200_000 })
        expect(file.size).toBe(200_000)
      }
    }).pipe(Effect.scoped)
  )

  it.live("with a large text or many parts is refused", () =>
    Effect.gen(function* () {
      const file = new File(["a"], "a.wav")
      const text = form(["file", file], ["notes", "x".repeat(65_537)])
      const many = form(...Array.from({ length: 101 }, () => ["file", file] as const))
      for (const body of [text, many]) assert.deepStrictEqual(yield* tagsOf(body), ["BadRequest", "BadRequest"])
    })
  )

  it.live("that ends early is refused, and nothing of it stays on the disk", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.sync(() => createServer().listen(0, "127.0.0.1")),
        (it) => Effect.sync(() => it.close().closeAllConnections())
      )
      yield* Effect.promise(() => once(server, "listening"))
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      const caller = send({ port, host: "127.0.0.1", method: "POST", headers: multipart })
      caller.on("error", () => {}).write(fileHead + "x".repeat(200_000))
      const incoming = yield* Effect.callback<IncomingMessage>((resume) => {
        server.once("request", (request) => resume(Effect.succeed(request)))
      })
      const leaving = Effect.promise(async () => {
        await vi.waitFor(() => expect(filesOnDisk()).toHaveLength(1))
        caller.destroy()
      })
      const broken = written(
        ReadableStream.from(
          (async function* () {
            yield new TextEncoder().encode(fileHead + "x".repeat(200_000))
            throw new Error("the connection was lost")
          })()
        )
      )
      const receive = (request: Request | IncomingMessage) =>
        Effect.flip(NodeUpload.fromRequest(request)).pipe(
          Effect.map(({ _tag }) => _tag),
          Effect.scoped
        )
      const [left] = yield* Effect.all([receive(incoming), leaving], { concurrency: "unbounded" })
      expect([left, yield* receive(broken)]).toEqual(["BadRequest", "BadRequest"])
      expect(readdirSync(folder)).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.live("whose name no file can have is refused", () =>
    Effect.gen(function* () {
      const request = written(`${head("name=\"file\"; filename*=UTF-8''a%00b.wav")}x${end}`)
      expect((yield* Effect.flip(NodeUpload.fromRequest(request)))._tag).toBe("BadRequest")
    }).pipe(Effect.scoped)
  )

  it.live("that was read before is an error of the program, which says so", () =>
    Effect.gen(function* () {
      for (const request of received(form(["file", new File(["a"], "a.wav")]))) {
        const read = yield* request
        yield* Effect.promise<unknown>(() => (read instanceof Request ? read.text() : read.toArray()))
        const defect = yield* Effect.sandbox(NodeUpload.fromRequest(read)).pipe(Effect.flip, Effect.map(Cause.squash))
        expect(String(defect)).toContain("read before")
      }
    }).pipe(Effect.scoped)
  )

  it.live("that is no form, or has no such file, is refused", () =>
    Effect.gen(function* () {
      for (const body of ["text", form(), form(["file", "text"]), form(["audio", new File(["a"], "a.wav")])]) {
        assert.deepStrictEqual(yield* tagsOf(body), ["BadRequest", "BadRequest"])
      }
    })
  )
})
