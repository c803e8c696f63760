// End to end: the gateway's executable on a free port with a database of its own, and the sample.
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Gateway } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { Effect, FileSystem, Redacted } from "effect"
import { sample, start } from "./Processes.ts"

/** A gateway on a free port with a folder of its own, and what the file of its first run says. */
const serve = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const args = ["serve", "--port", "0", "--data-dir", `${folder}/.data`]
  const { said } = yield* start(executable, args, { cwd: folder, env: { MODEL_GATEWAY_FIRST_KEYS: "both" } })
  yield* said(/first-keys\.env, which only its owner can read/)
  const text = yield* fs.readFileString(`${folder}/.data/first-keys.env`)
  const valueOf = (name: string) => new RegExp(`^${name}=(.+)$`, "m").exec(text)?.[1] ?? assert.fail(text)
  return { folder, baseUrl: valueOf("MODEL_GATEWAY_BASE_URL"), apiKey: valueOf("MODEL_GATEWAY_API_KEY") }
})

/** Submits a video that takes more than half a minute. */
const occupyRenderer = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  yield* gateway.submitVideo({ model: "sandbox/title-card", prompt: "long", resolution: "1080p", duration: 60 })
})

/** The types of an MP4's top-level boxes, and whether these fill the whole file. */
const boxes = (file: Uint8Array) => {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const types: Array<string> = []
  let at = 0
  while (at + 8 <= file.length) {
    const size = view.getUint32(at)
    types.push(String.fromCharCode(...file.subarray(at + 4, at + 8)))
    if (size < 8) break
    at += size
  }
  return { types, whole: at === file.length }
}

describe("the sample beside a real gateway", () => {
  it.live("on its first run: six results, and a video that plays", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder } = yield* serve
      const run = yield* start(sample, [], { cwd: folder })
      assert.strictEqual(yield* run.exit, 0, run.output())
      for (const words of [
        "hello.txt (44 bytes) was stored as",
        "has used 0 credits",
        "To reset a forgotten password",
        "“555 0199”, from",
        "Saved to ./sample.mp4",
        "Assigned “Sample guardrail” to 2 of 2 keys",
        "6 of 6 steps worked"
      ]) {
        assert.include(run.output(), words)
      }
      const { types, whole } = boxes(yield* fs.readFile(`${folder}/sample.mp4`))
      assert.isTrue(whole)
      assert.strictEqual(types[0], "ftyp")
      assert.includeMembers(types, ["moov", "mdat"])

      // The first run was charged, and its keys and guardrail are deleted.
      const again = yield* start(sample, ["--out", "again.mp4"], { cwd: folder })
      assert.strictEqual(yield* again.exit, 0, again.output())
      assert.match(again.output(), /has used 0\.0\d+ credits/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Ctrl-C while the video is rendered cancels its job", () =>
    Effect.gen(function* () {
      const { apiKey, baseUrl, folder } = yield* serve
      // The sandbox renders one video at a time. The sample's job stays queued, so a slow signal
      // still arrives before it is finished.
      yield* occupyRenderer.pipe(Effect.provide(NodeGateway.layer({ baseUrl, credential: Redacted.make(apiKey) })))
      const run = yield* start(sample, [], { cwd: folder })
      yield* run.said(/Make a video: /)
      yield* run.signal("SIGINT")
      assert.strictEqual(yield* run.exit, 130, run.output())
      assert.match(run.output(), /The job [\w-]+ is cancelled\./)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("with an invalid key: reports it and continues with the management key", () =>
    Effect.gen(function* () {
      const { folder } = yield* serve
      const run = yield* start(sample, ["--api-key", "mg_sk_nobody"], { cwd: folder })
      assert.strictEqual(yield* run.exit, 1)
      assert.include(run.output(), "The gateway rejected the key")
      assert.match(run.output(), /Unauthorized · request id \S+/)
      assert.include(run.output(), "1 of 6 steps worked")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
