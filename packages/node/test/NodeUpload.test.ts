import { afterAll, assert, beforeAll, describe, expect, it, vi } from "@effect/vitest"
import { NodeUpload } from "@model-gateway/node"
import { Effect, type Scope } from "effect"
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
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
      const boundary = "b"
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`
      const inMemory: Array<number> = []
      const chunks = async function* () {
        yield new TextEncoder().encode(head)
        for (let sent = 0; sent < 40; sent++) {
          inMemory.push(sent * chunk.length - filesOnDisk().reduce((sum, file) => sum + statSync(file).size, 0))
          yield chunk
        }
        yield new TextEncoder().encode(`\r\n--${boundary}--\r\n`)
      }
      const request = new Request("http://127.0.0.1", {
        method: "POST",
        body: ReadableStream.from(chunks()),
        headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
        duplex: "half"
      })
      const { file } = yield* NodeUpload.fromRequest(request, { maxBytes: 100_000_000 })
      expect(file.size).toBe(40 * chunk.length)
      expect(Math.max(...inMemory)).toBeLessThan(8 * chunk.length)
    }).pipe(Effect.scoped)
  )

  it.live("that is too large is refused", () =>
    Effect.gen(function* () {
      const large = form(["file", new File([new Uint8Array(200_001)], "a.wav")])
      assert.deepStrictEqual(yield* tagsOf(large, { maxBytes: 200_000 }), ["PayloadTooLarge", "PayloadTooLarge"])
      const text = form(["file", "x".repeat(2_000_000)])
      assert.deepStrictEqual(yield* tagsOf(text, { maxBytes: 200_000 }), ["PayloadTooLarge", "PayloadTooLarge"])
    })
  )

  it.live("that is no form, or has no such file, is refused", () =>
    Effect.gen(function* () {
      for (const body of ["text", form(), form(["file", "text"]), form(["audio", new File(["a"], "a.wav")])]) {
        assert.deepStrictEqual(yield* tagsOf(body), ["BadRequest", "BadRequest"])
      }
    })
  )
})
