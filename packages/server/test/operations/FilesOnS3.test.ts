// Files and videos of the whole service, stored in a bucket of a real S3-compatible server.
import { NodeServices } from "@effect/platform-node"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@effect/vitest"
import { isFinal, Job } from "@model-gateway/core/Video"
import { Duration, Effect, Schedule, Schema } from "effect"
import { createHash } from "node:crypto"
import { request as httpRequest } from "node:http"
import { hasS3 } from "@model-gateway/test-services/S3"
import * as FileStore from "../../src/objects/FileStore.ts"
import * as ObjectSweep from "../../src/objects/ObjectSweep.ts"
import * as TestS3 from "../objects/TestS3.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"
import { form, formHeaders, layerAt, TestGateway } from "../TestGateway.ts"
import { temporaryFolder } from "../TestStorage.ts"

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.String, size_bytes: Schema.Int }))
const decodeJob = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

const uploadOf = Effect.fnUntraced(function* (content: Uint8Array) {
  const { ask } = yield* TestGateway
  return yield* ask("/api/v1/files", {
    method: "POST",
    headers: formHeaders,
    body: form({ name: "purpose", value: "test" }, { name: "file", filename: "a.bin", value: content })
  })
})

const upload = (content: Uint8Array) =>
  Effect.flatMap(uploadOf(content), ({ status, text }) => {
    expect(status, text).toBe(200)
    return Schema.decodeUnknownEffect(Stored)(text)
  })

describe.runIf(hasS3())("the service on S3", () => {
  let s3: TestS3.TestS3

  beforeAll(async () => {
    s3 = await TestS3.start()
  })
  afterEach(() => s3.faults.heal())
  afterAll(() => s3.stop())

  /** Runs a test on a service whose objects are at an empty prefix behind the proxy. */
  const withService = <A, E, R>(
    test: (kept: Effect.Effect<ReadonlyArray<string>>) => Effect.Effect<A, E, R | TestGateway>
  ) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const place = { prefix: TestS3.ownPrefix() }
        const kept = Effect.orDie(TestS3.keptAt(s3.server.url(place)))
        const service = layerAt(folder, {}, undefined, NodeServices.layer, undefined, undefined, s3.faults.url(place))
        return yield* Effect.provide(test(kept), service)
      })
    )

  /** What is kept, once it satisfies the condition. */
  const until = (
    kept: Effect.Effect<ReadonlyArray<string>>,
    isWanted: (keys: ReadonlyArray<string>) => boolean
  ): Effect.Effect<ReadonlyArray<string>> =>
    Effect.repeat(kept, { until: isWanted, schedule: Schedule.spaced("50 millis") }).pipe(Effect.andThen(kept))

  it.live("stores a file of 25 MB, serves ranges of it, and keeps nothing after its deletion", () =>
    withService((kept) =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const content = TestS3.pattern(25_000_000)
        const file = yield* upload(content)
        expect(file.size_bytes).toBe(content.length)
        expect(yield* kept).toEqual([`files/${file.id}`])
        const path = `/api/v1/files/${file.id}`
        const whole = yield* ask(`${path}/content`)
        expect(whole.headers).toMatchObject({ "content-length": "25000000", etag: `"${sha256Of(content)}"` })
        expect(sha256Of(whole.bytes)).toBe(sha256Of(content))
        const part = yield* ask(`${path}/content`, { headers: { range: "bytes=8388600-8388620" } })
        expect(part.status).toBe(206)
        expect(part.headers["content-range"]).toBe("bytes 8388600-8388620/25000000")
        expect(part.bytes).toEqual(Buffer.from(content.subarray(8388600, 8388621)))
        expect((yield* ask(path, { method: "DELETE" })).status).toBe(200)
        expect(yield* kept).toEqual([])
        expect((yield* ask(`${path}/content`)).status).toBe(404)
      })
    )
  )

  it.live("stores the video of a job, and serves ranges of it", () =>
    withService((kept) =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const film = { model: "sandbox/title-card", prompt: "a harbor", duration: 1, resolution: "480p" }
        const submitted = yield* post("/api/v1/videos", film)
        expect(submitted.status, submitted.text).toBe(202)
        const { id } = decodeJob(submitted.text)
        const job = yield* Effect.repeat(
          Effect.map(ask(`/api/v1/videos/${id}?wait=10`), ({ text }) => decodeJob(text)),
          { until: ({ status }) => isFinal(status) }
        )
        expect(job.status).toBe("completed")
        expect(yield* kept).toEqual([`videos/${id}-0`])
        const whole = yield* ask(`/api/v1/videos/${id}/content`)
        expect(whole.headers["content-type"]).toBe("video/mp4")
        expect(whole.headers["etag"]).toBe(`"${sha256Of(whole.bytes)}"`)
        const part = yield* ask(`/api/v1/videos/${id}/content`, { headers: { range: "bytes=4-7" } })
        expect([part.status, part.text]).toEqual([206, "ftyp"])
        for (const [etag, status] of [
          [whole.headers["etag"] ?? "", 206],
          ['"another"', 200]
        ] as const) {
          const headers = { range: "bytes=4-7", "if-range": etag }
          expect(yield* ask(`/api/v1/videos/${id}/content`, { headers })).toMatchObject({ status })
        }
      })
    )
  )

  it.live("answers 503 while S3 does, and works again by itself", () =>
    withService((kept) =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const file = yield* upload(Buffer.from("first"))
        const path = `/api/v1/files/${file.id}`
        s3.faults.fail(/./, "slowDown")
        const refused = yield* Effect.all([uploadOf(Buffer.from("second")), ask(`${path}/content`)], {
          concurrency: "unbounded"
        })
        for (const answer of refused) {
          expect([answer.status, envelopeOf(answer).error.message]).toEqual([503, "service temporarily unavailable"])
          expect(answer.headers["retry-after"]).toBe("1")
        }
        // What needs no object is not affected.
        expect((yield* ask(path)).status).toBe(200)
        expect((yield* ask("/api/v1/files")).status).toBe(200)
        expect((yield* ask("/readyz", { key: null })).text).toContain(
          '"object_store":{"status":"degraded","message":"The object store is busy (503)."}'
        )
        s3.faults.heal()
        expect((yield* ask(`${path}/content`)).text).toBe("first")
        yield* upload(Buffer.from("second"))
        expect(yield* kept).toHaveLength(2)
      })
    )
  )

  it.live("deletes a file while S3 answers 503: nobody can read it, and the sweep removes its bytes", () =>
    withService((kept) =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const [deleted, other] = [yield* upload(Buffer.from("first")), yield* upload(Buffer.from("second"))]
        s3.faults.fail(/^DELETE /, "slowDown")
        expect((yield* ask(`/api/v1/files/${deleted.id}`, { method: "DELETE" })).status).toBe(200)
        expect((yield* ask(`/api/v1/files/${deleted.id}/content`)).status).toBe(404)
        expect(yield* kept).toHaveLength(2)
        const sweep = yield* ObjectSweep.make(Effect.all([FileStore.objectOwner]), { grace: Duration.zero })
        // S3 counts in whole seconds: a sweep without a grace sees an object of the same second as
        // new.
        const refused = yield* Effect.flip(Effect.repeat(sweep, Schedule.spaced("100 millis")))
        expect(refused).toMatchObject({ _tag: "ObjectStoreError" })
        s3.faults.heal()
        yield* Effect.repeat(sweep, { until: (removed) => removed > 0, schedule: Schedule.spaced("100 millis") })
        expect(yield* kept).toEqual([`files/${other.id}`])
        expect(yield* sweep).toBe(0)
      })
    )
  )

  it.live("keeps nothing of an upload whose caller goes away", () =>
    withService((kept) =>
      Effect.gen(function* () {
        const { ordinaryKey, port } = yield* TestGateway
        const request = httpRequest({
          host: "127.0.0.1",
          port,
          path: "/api/v1/files",
          method: "POST",
          headers: { ...formHeaders, authorization: `Bearer ${ordinaryKey}` }
        })
        request.on("error", () => {})
        const whole = form({ name: "file", filename: "a.bin", value: TestS3.pattern(20_000_000) })
        request.write(whole.subarray(0, 18_000_000))
        expect(yield* until(kept, (keys) => keys.length > 0)).toEqual([
          expect.stringMatching(/^files\/file_\w+ \(incomplete\)$/)
        ])
        request.destroy()
        expect(yield* until(kept, (keys) => keys.length === 0)).toEqual([])
      })
    )
  )
})
