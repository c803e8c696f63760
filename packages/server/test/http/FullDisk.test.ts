import { NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Logger, PlatformError } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes, randomInt } from "node:crypto"
import { form, formHeaders, layerAt, TestGateway } from "../TestGateway.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"

/** What the operator reads, line by line. */
class Log extends Context.Service<Log, Array<string>>()("test/Log") {}

/** The disk of the files: full from when it is told to be. */
class Disk extends Context.Service<Disk, { full: boolean }>()("test/Disk") {}

const noSpace = Effect.fail(
  PlatformError.systemError({
    _tag: "Unknown",
    module: "FileSystem",
    method: "writeAll",
    cause: Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" })
  })
)

/** This machine's services, with a file system that has no room left once the disk is full. */
const servicesOn = (disk: Disk["Service"]): typeof NodeServices.layer =>
  Layer.merge(
    NodeServices.layer,
    Layer.effect(
      FileSystem.FileSystem,
      Effect.map(FileSystem.FileSystem, (fs) => ({
        ...fs,
        open: (path: string, options?: Parameters<typeof fs.open>[1]) =>
          Effect.map(
            fs.open(path, options),
            (file) =>
              new Proxy(file, {
                get: (target, property) => {
                  const found: unknown = Reflect.get(target, property, target)
                  return property === "writeAll" && disk.full ? () => noSpace : found
                }
              })
          )
      }))
    ).pipe(Layer.provide(NodeServices.layer))
  )

const layer = Layer.unwrap(
  Effect.map(temporaryFolder, (folder) => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      lines.push(`${logLevel} ${Array.isArray(message) ? message.join(" ") : String(message)}`)
    })
    const disk = { full: false }
    return Layer.mergeAll(
      layerAt(folder, {}, undefined, servicesOn(disk)).pipe(Layer.provide(Logger.layer([logger]))),
      Layer.succeed(Log, lines),
      Layer.succeed(Disk, disk)
    )
  })
)

it.layer(layer, { excludeTestServices: true })("a full disk", (it) => {
  it.effect("of the files answers each upload with a 503 and is written to the log once", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const disk = yield* Disk
      const lines = yield* Log
      const upload = ask("/api/v1/files", {
        method: "POST",
        headers: formHeaders,
        body: form({ name: "purpose", value: "test" }, { name: "file", filename: "a.txt", value: "some bytes" })
      })
      expect((yield* upload).status).toBe(200)
      disk.full = true
      for (let i = 0; i < 20; i++) {
        const refused = yield* upload
        expect([refused.status, envelopeOf(refused).error.message]).toEqual([
          503,
          "service temporarily unavailable: there is no room left for files"
        ])
      }
      disk.full = false
      expect((yield* upload).status).toBe(200)
      expect(lines.splice(0)).toEqual(["Error put: The disk that holds the files is full."])
    })
  )

  it.effect("of the database answers each request with a 503 and is written to the log once for each place", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const lines = yield* Log
      // Below what it has, which is as much as there is: the next page is one too many.
      yield* sql`PRAGMA max_page_count = 1`
      const rerank = {
        model: "sandbox/bm25:free",
        query: "tea",
        // Each has its own score, so that the answer takes room although it is compressed.
        documents: Array.from({ length: 5000 }, () => `tea ${randomBytes(randomInt(200)).toString("base64")}`)
      }
      for (let i = 0; i < 20; i++) {
        // Keeping the answer takes room.
        const refused = yield* post("/api/v1/rerank", rerank, { headers: { "idempotency-key": `full-${i}` } })
        expect([refused.status, envelopeOf(refused).error.message]).toEqual([503, "service temporarily unavailable"])
        expect(refused.headers["retry-after"]).toBe("1")
      }
      yield* sql`PRAGMA max_page_count = 1000000`
      const answered = yield* post("/api/v1/rerank", rerank, { headers: { "idempotency-key": "full-0" } })
      expect(answered.status).toBe(200)
      const read = lines.splice(0)
      expect(read.length).toBeGreaterThan(0)
      expect(read.length).toBeLessThan(5)
      expect(new Set(read).size).toBe(read.length)
    })
  )
})
