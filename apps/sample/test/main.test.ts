import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Fake from "./FakeGateway.ts"
import { listen, sample, start } from "./Processes.ts"

/** A working folder with a data folder after the gateway's first run. */
const folderFor = Effect.fnUntraced(function* (baseUrl: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.makeDirectory(`${folder}/.data`)
  yield* fs.writeFileString(
    `${folder}/.data/first-keys.env`,
    `MODEL_GATEWAY_BASE_URL=${baseUrl}\nMODEL_GATEWAY_API_KEY=first-secret\nMODEL_GATEWAY_MANAGEMENT_KEY=second-secret\n`
  )
  return folder
})

describe("the executable", () => {
  it.live("without flags: prints six results and no key, saves the video, and exits with 0", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { baseUrl, calls } = yield* listen(Fake.wellBehaved)
      const cwd = yield* folderFor(baseUrl)
      const run = yield* start(sample, [], { cwd })
      assert.strictEqual(yield* run.exit, 0, run.output())
      assert.include(run.output(), "6 of 6 steps worked")
      assert.strictEqual((yield* fs.readFile(`${cwd}/sample.mp4`)).length, 8)
      assert.include(calls, "POST /rerank Bearer first-secret")
      assert.include(calls, "POST /guardrails Bearer second-secret")
      assert.notInclude(run.output(), "secret")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("reads .env, and a flag overrides it [spec V6]", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { baseUrl, calls } = yield* listen(Fake.wellBehaved)
      const cwd = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(
        `${cwd}/.env`,
        `MODEL_GATEWAY_BASE_URL=${baseUrl}\nMODEL_GATEWAY_API_KEY=from-dot-env\nMODEL_GATEWAY_MANAGEMENT_KEY=from-dot-env\n`
      )
      const run = yield* start(sample, ["--api-key", "from-flag", "--out", "there.mp4"], { cwd })
      assert.strictEqual(yield* run.exit, 0, run.output())
      assert.isTrue(yield* fs.exists(`${cwd}/there.mp4`))
      assert.include(calls, "GET /key Bearer from-flag")
      assert.include(calls, "POST /guardrails Bearer from-dot-env")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("works with a gateway that uses the words of OpenRouter's clients", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* listen({
        ...Fake.wellBehaved,
        "POST /files": Fake.ok({
          _shape: "openrouter",
          id: "file_1",
          type: "file",
          filename: "hello.txt",
          mime_type: "text/plain",
          size_bytes: 65,
          created_at: "2026-11-20T22:30:00.000Z",
          downloadable: true
        }),
        "DELETE /files/file_1": Fake.ok({ _shape: "openrouter", id: "file_1", type: "file_deleted" })
      })
      const run = yield* start(sample, [], { cwd: yield* folderFor(baseUrl) })
      assert.strictEqual(yield* run.exit, 0, run.output())
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("without a management key says so, runs the rest, and exits with 1", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { baseUrl } = yield* listen(Fake.wellBehaved)
      const cwd = yield* fs.makeTempDirectoryScoped()
      const run = yield* start(sample, ["--base-url", baseUrl, "--api-key", "mine"], { cwd })
      assert.strictEqual(yield* run.exit, 1)
      assert.include(run.output(), "5 of 6 steps worked")
      assert.include(
        run.output().replaceAll(/\s+/g, " "),
        "This step needs a management key: set a valid one with --management-key or MODEL_GATEWAY_MANAGEMENT_KEY."
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Ctrl-C while the video is rendered cancels the job, leaves no partial file, and exits with 130", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { baseUrl, calls } = yield* listen({
        ...Fake.wellBehaved,
        "GET /videos/video_1": [Fake.job("in_progress", { progress: 0.25 }), "never"]
      })
      const cwd = yield* folderFor(baseUrl)
      const run = yield* start(sample, [], { cwd })
      yield* run.said(/25 %/)
      yield* run.signal("SIGINT")
      assert.strictEqual(yield* run.exit, 130, run.output())
      assert.include(calls, "POST /videos/video_1/cancel Bearer first-secret")
      assert.include(run.output(), "The job video_1 is cancelled.")
      assert.deepStrictEqual(yield* fs.readDirectory(cwd), [".data"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says in one sentence that .env cannot be read", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* fs.makeTempDirectoryScoped()
      yield* fs.makeDirectory(`${cwd}/.env`)
      const run = yield* start(sample, [], { cwd })
      assert.strictEqual(yield* run.exit, 1)
      assert.include(run.output(), "The file .env cannot be read")
      assert.notInclude(run.output(), "    at ")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says in one sentence what is wrong with a URL", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      for (const [address, expected] of [
        ["nonsense", '--base-url is "nonsense", which is not an http or https URL.'],
        ["http://127.0.0.1:1", "http://127.0.0.1:1/api/v1"]
      ] as const) {
        const args = ["--base-url", address, "--api-key", "mg_sk_1"]
        const run = yield* start(sample, args, { cwd: yield* fs.makeTempDirectoryScoped() })
        assert.strictEqual(yield* run.exit, 1)
        assert.include(run.output(), expected)
        assert.notInclude(run.output(), "    at ")
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
