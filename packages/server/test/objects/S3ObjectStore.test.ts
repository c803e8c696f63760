import { NodeServices } from "@effect/platform-node"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Logger, Option, Schedule, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"
import { credentials, hasS3, otherCredentials } from "@model-gateway/test-services/S3"
import * as FreeSpace from "../../src/objects/FreeSpace.ts"
import { ObjectStore } from "../../src/objects/ObjectStore.ts"
import type * as S3ObjectStore from "../../src/objects/S3ObjectStore.ts"
import * as S3Client from "../../src/storage/s3/S3Client.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { filesIn, read, readText } from "./TestObjects.ts"
import * as TestS3 from "./TestS3.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const large = TestS3.pattern(2 * TestS3.partSize + 1000)

describe.runIf(hasS3())("S3ObjectStore", () => {
  let s3: TestS3.TestS3

  beforeAll(async () => {
    s3 = await TestS3.start()
  })
  afterEach(() => s3.faults.heal())
  afterAll(() => s3.stop())

  /** Runs a test on the store at an empty prefix behind the proxy. */
  const withStore = <A, E, R>(
    test: (place: {
      readonly kept: Effect.Effect<ReadonlyArray<string>>
      readonly folder: string
    }) => Effect.Effect<A, E, R | ObjectStore>,
    options?: S3ObjectStore.Options
  ) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const place = { prefix: TestS3.ownPrefix() }
        const kept = Effect.orDie(
          Effect.map(Effect.all([TestS3.keptAt(s3.server.url(place)), filesIn(folder)]), (kept) => kept.flat())
        )
        s3.faults.requests.splice(0)
        return yield* Effect.provide(test({ kept, folder }), TestS3.storeAt(s3.faults.url(place), folder, options))
      })
    )

  const put = (content: Stream.Stream<Uint8Array> = Stream.make(bytes("content"))) =>
    Effect.flatMap(ObjectStore, (objects) => objects.put("files/a", content))

  it.live("stores a small object by one request, and a large one in parts", () =>
    withStore(() =>
      Effect.gen(function* () {
        s3.faults.requests.splice(0)
        yield* put()
        expect(s3.faults.requests.map((request) => request.split(" ")[0])).toEqual(["PUT"])
        s3.faults.requests.splice(0)
        yield* put(TestS3.chunked(large))
        expect(s3.faults.requests.map((request) => request.replace(/ .*\?/, " ?")).toSorted()).toEqual([
          "POST ?uploadId=" + (/uploadId=([^ ]*)/.exec(s3.faults.requests.at(-1) ?? "")?.[1] ?? ""),
          "POST ?uploads=",
          "PUT ?partNumber=1",
          "PUT ?partNumber=2",
          "PUT ?partNumber=3"
        ])
        s3.faults.requests.splice(0)
        yield* put(TestS3.chunked(large.subarray(0, TestS3.partSize)))
        expect(s3.faults.requests.filter((request) => request.startsWith("PUT")).length).toBe(1)
        expect(yield* Stream.runCount(read("files/a"))).toBeGreaterThan(0)
      })
    )
  )

  it.live("stops before the disk for uploads is full, also between two parts, and leaves nothing behind", () => {
    let [checks, free] = [0, 2]
    const disk = Layer.succeed(FreeSpace.FreeBytes, () =>
      Effect.sync(() => (++checks > free ? 0 : Number.POSITIVE_INFINITY))
    )
    return withStore(({ kept }) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(put(TestS3.chunked(large)))
        expect(error).toMatchObject({ _tag: "ObjectStoreError", reason: "full" })
        expect(error.message).toMatch(/^The disk for uploads in progress has less than/)
        expect(checks).toBe(3)
        free = 100
        expect(yield* kept).toEqual([])
        yield* put()
      })
    ).pipe(Effect.provide(disk))
  })

  it.live("repeats requests that S3 answers with a 503, and those that lose their connection", () =>
    withStore(() =>
      Effect.gen(function* () {
        s3.faults.fail(/^PUT /, "slowDown", 1)
        s3.faults.fail(/^PUT /, "reset", 1)
        yield* put()
        s3.faults.fail(/partNumber=2/, "slowDown", 1)
        s3.faults.fail(/partNumber=3/, "reset", 1)
        s3.faults.fail(/^POST /, "slowDown", 2)
        yield* put(TestS3.chunked(large))
        s3.faults.fail(/^GET /, "slowDown", 1)
        s3.faults.fail(/^HEAD /, "reset", 1)
        expect(Buffer.concat(yield* Stream.runCollect(read("files/a"))).equals(large)).toBe(true)
      })
    )
  )

  it.live("reports that S3 stays busy, leaves nothing behind, and works again when S3 does", () =>
    withStore(({ kept }) =>
      Effect.gen(function* () {
        const busy = { _tag: "ObjectStoreError", reason: "unavailable", message: "The object store is busy (503)." }
        s3.faults.fail(/^PUT /, "slowDown")
        const refused = yield* Effect.all([Effect.flip(put()), Effect.flip(put(TestS3.chunked(large)))], {
          concurrency: "unbounded"
        })
        expect(refused).toMatchObject([busy, busy])
        expect(yield* kept).toEqual([])
        s3.faults.fail(/./, "slowDown")
        const objects = yield* ObjectStore
        const others = [
          objects.open("files/a"),
          objects.remove("files/a"),
          objects.check,
          Stream.runDrain(objects.list("files"))
        ]
        expect(
          yield* Effect.forEach(others, (call) => Effect.flip<unknown, unknown, never>(call), {
            concurrency: "unbounded"
          })
        ).toMatchObject(others.map(() => busy))
        s3.faults.heal()
        yield* objects.check
        yield* put()
        expect(yield* kept).toHaveLength(1)
      })
    )
  )

  it.live("continues a read whose connection is lost, at the next byte", () =>
    withStore(() =>
      Effect.gen(function* () {
        yield* put(TestS3.chunked(large))
        s3.faults.fail(/^GET /, "cutBody", 3)
        const whole = Buffer.concat(yield* Stream.runCollect(read("files/a")))
        expect(whole.length).toBe(large.length)
        expect(whole.equals(large)).toBe(true)
        expect(s3.faults.requests.filter((request) => /^GET .*files\/a/.test(request)).length).toBe(4)
        s3.faults.fail(/^GET /, "cutBody", 1)
        const window = read("files/a", { start: 1000, length: TestS3.partSize })
        expect(
          Buffer.concat(yield* Stream.runCollect(window)).equals(large.subarray(1000, 1000 + TestS3.partSize))
        ).toBe(true)
      })
    )
  )

  it.live("does not wait for an S3 that stays silent", () =>
    withStore(
      () =>
        Effect.gen(function* () {
          yield* put(Stream.make(bytes("0123456789")))
          const silent = "The object store did not answer in time."
          s3.faults.fail(/^GET .*files/, "hangBody")
          expect((yield* Effect.flip(Stream.runDrain(read("files/a")))).message).toBe(silent)
          s3.faults.heal()
          s3.faults.fail(/^HEAD /, "hang")
          expect((yield* Effect.flip(Stream.runDrain(read("files/a")))).message).toBe(silent)
          s3.faults.heal()
          expect(yield* readText("files/a")).toBe("0123456789")
        }),
      { callTimeout: "300 millis", silenceTimeout: "100 millis" }
    )
  )

  it.live("closes the connection of a read that is interrupted while S3 is silent", () =>
    withStore(() =>
      Effect.gen(function* () {
        yield* put(Stream.make(bytes("0123456789")))
        s3.faults.fail(/^GET .*files/, "hangBody")
        const reading = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          Stream.runForEach(read("files/a"), () => Deferred.succeed(reading, undefined))
        )
        yield* Deferred.await(reading)
        const before = s3.faults.connections()
        yield* Fiber.interrupt(fiber)
        yield* Effect.repeat(
          Effect.sync(() => s3.faults.connections()),
          { until: (connections) => connections < before, schedule: Schedule.spaced("10 millis") }
        )
      })
    )
  )

  it.live("lists all objects, however many pages they fill", () =>
    withStore(
      () =>
        Effect.gen(function* () {
          const objects = yield* ObjectStore
          const names = ["a", "b", "c", "d", "e"]
          yield* Effect.forEach(names, (name) => objects.put(`files/${name}`, Stream.make(bytes(name))), {
            concurrency: 5
          })
          const listed = yield* Stream.runCollect(objects.list("files"))
          expect(listed.map(({ key }) => key)).toEqual(names.map((name) => `files/${name}`))
          expect(listed.every(({ age }) => Duration.isLessThan(age, Duration.minutes(1)))).toBe(true)
        }),
      { pageSize: 2 }
    )
  )

  it.live("aborts the old upload of a killed process, and not that of a live one", () =>
    withStore(({ folder }) =>
      Effect.gen(function* () {
        const url = s3.server.url({ prefix: TestS3.ownPrefix() })
        const uploading = Effect.gen(function* () {
          const child = yield* ChildProcess.make(
            process.execPath,
            [fileURLToPath(new URL("./fixtures/halfS3Upload.ts", import.meta.url)), url, `${folder}/uploads`],
            { env: { NODE_NO_WARNINGS: "1" }, extendEnv: true }
          )
          const line = yield* Stream.runHead(child.all.pipe(Stream.decodeText, Stream.splitLines))
          expect(Option.getOrNull(line)).toBe("writing")
          return child
        })
        const killed = yield* uploading
        yield* killed.kill({ killSignal: "SIGKILL" })
        expect(yield* TestS3.keptAt(url)).toEqual(["files/half (incomplete)"])
        yield* Effect.gen(function* () {
          const restarted = yield* ObjectStore
          expect(yield* restarted.removeIncomplete(Duration.hours(2))).toBe(0)
          expect(yield* TestS3.keptAt(url)).toHaveLength(1)
          expect(yield* restarted.removeIncomplete(Duration.zero)).toBe(1)
          expect(yield* TestS3.keptAt(url)).toEqual([])
          expect(yield* filesIn(`${folder}/uploads`)).toEqual([])
        }).pipe(Effect.provide(TestS3.storeAt(url, `${folder}/uploads`)))
      }).pipe(Effect.provide(NodeServices.layer))
    )
  )

  it.live("takes ages from the store's clock, and keeps working when the machine's clock jumps", () =>
    Effect.gen(function* () {
      const url = s3.server.url({ prefix: TestS3.ownPrefix() })
      const folder = yield* temporaryFolder
      yield* Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* put()
        yield* Effect.acquireRelease(
          Effect.sync(() => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3 * 3_600_000 })),
          () => Effect.sync(() => vi.useRealTimers())
        )
        expect(yield* readText("files/a")).toBe("content")
        yield* put(Stream.make(bytes("other")))
        const [listed] = yield* Stream.runCollect(objects.list("files"))
        expect(listed !== undefined && Duration.isLessThan(listed.age, Duration.minutes(1))).toBe(true)
      }).pipe(Effect.provide(TestS3.storeAt(url, folder)))
    }).pipe(Effect.scoped)
  )

  describe("at its start", () => {
    const messages: Array<unknown> = []
    const logged = Logger.layer([Logger.make<unknown, void>(({ message }) => void messages.push(message))])

    /** Why a store does not start. */
    const refusal = (url: string) =>
      Effect.flip(Effect.scoped(Layer.build(TestS3.storeAt(url, "/unused").pipe(Layer.provide(logged))))).pipe(
        Effect.map(({ message }) => message)
      )

    afterEach(() => TestS3.useCredentials(credentials))

    it.live("says that the bucket does not exist", () =>
      Effect.gen(function* () {
        expect(yield* refusal(s3.server.url({ name: "absent", prefix: "a/b" }))).toBe(
          "The bucket of the object store does not exist (s3://absent/a/b/)."
        )
      })
    )

    it.live("says that access is denied", () =>
      Effect.gen(function* () {
        TestS3.useCredentials(otherCredentials)
        expect(yield* refusal(s3.server.url())).toBe(
          "The object store denies access to the bucket (AccessDenied) (s3://objects/)."
        )
      })
    )

    it.live("says that the credentials are wrong, and does not repeat them", () =>
      Effect.gen(function* () {
        TestS3.useCredentials({ ...credentials, AWS_SECRET_ACCESS_KEY: "hunter2" })
        expect(yield* refusal(s3.server.url())).toBe(
          "The object store does not accept the credentials (SignatureDoesNotMatch) (s3://objects/)."
        )
      })
    )

    it.live("only warns if S3 cannot be reached now", () =>
      Effect.gen(function* () {
        messages.splice(0)
        s3.faults.fail(/./, "slowDown")
        const folder = yield* temporaryFolder
        yield* Effect.scoped(Layer.build(TestS3.storeAt(s3.faults.url(), folder).pipe(Layer.provide(logged))))
        expect(messages).toEqual([
          ["The object store does not work now. Files and videos wait for it: The object store is busy (503)."]
        ])
      }).pipe(Effect.scoped)
    )
  })

  it.live("calls fail with the reason when the bucket is deleted meanwhile", () =>
    Effect.gen(function* () {
      const bucket = yield* S3Client.make(TestS3.locationOf(s3.server.url({ name: "absent" })))
      const error = yield* Effect.flip(bucket.put("files/a", bytes("x")))
      expect(error).toMatchObject({ reason: "refused", message: "The bucket of the object store does not exist." })
    }).pipe(Effect.scoped)
  )
})
