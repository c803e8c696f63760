import { assert, describe, expect, expectTypeOf, it, vi } from "@effect/vitest"
import { AspectRatio } from "@model-gateway/core/Video"
import { Deferred, Effect, Fiber } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { type RenderError, render, resolutions, sizeOf } from "../src/TitleCard.ts"
import { inspect } from "./support/mp4.ts"

// A render takes a second or two, and longer where the processor is shared.
vi.setConfig({ testTimeout: 60_000 })

const aspectRatios = AspectRatio.literals

describe("TitleCard.sizeOf", () => {
  for (const resolution of resolutions) {
    for (const aspect_ratio of aspectRatios) {
      it.effect(`${resolution} at ${aspect_ratio}`, () =>
        Effect.gen(function* () {
          const { height, width } = yield* sizeOf({ resolution, aspect_ratio })
          const [across = 0, down = 0] = aspect_ratio.split(":").map(Number)
          assert.strictEqual(width % 2, 0)
          assert.strictEqual(height % 2, 0)
          assert.approximately(width / height, across / down, 0.005)
          const named = resolution === "1K" ? Math.max(width, height) : Math.min(width, height)
          assert.strictEqual(named, resolution === "1K" ? 1024 : Number.parseInt(resolution, 10))
          assert.deepStrictEqual(yield* sizeOf({ resolution, aspect_ratio, size: `${width}x${height}` }), {
            width,
            height
          })
        })
      )
    }
  }

  it.effect.each([
    [{}, { width: 1280, height: 720 }],
    [{ resolution: "1080p" }, { width: 1920, height: 1080 }],
    [{ aspect_ratio: "9:16" }, { width: 720, height: 1280 }],
    [{ size: "640x360" }, { width: 640, height: 360 }],
    [
      { size: "854x480", aspect_ratio: "16:9" },
      { width: 854, height: 480 }
    ],
    [
      { size: "480x600", resolution: "480p" },
      { width: 480, height: 600 }
    ]
  ] as const)("%j", ([request, size]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sizeOf(request), size)
    })
  )

  it.effect.each([
    [{ resolution: "2K" }, "2K is above 1080p"],
    [{ resolution: "4K", aspect_ratio: "1:1" }, "4K is above 1080p"],
    [{ size: "3840x2160" }, "3840x2160 is above 1080p"],
    [{ size: "1082x1082" }, "1082x1082 is above 1080p"],
    [{ size: "99999999999999999999x2" }, "is not WIDTHxHEIGHT"],
    [{ size: "wide" }, "wide is not WIDTHxHEIGHT"],
    [{ size: "32x32" }, "32x32 is too small"],
    [{ size: "641x360" }, "641x360 has an odd side"],
    [{ size: "640x360", resolution: "480p" }, "contradicts"],
    [{ size: "640x360", aspect_ratio: "1:1" }, "contradicts"],
    [{ size: "640x480", resolution: "480p", aspect_ratio: "16:9" }, "contradicts"]
  ] as const)("refuses %j", ([request, message]) =>
    Effect.gen(function* () {
      assert.include((yield* Effect.flip(sizeOf(request))).message, message)
    })
  )
})

describe("TitleCard.render", () => {
  const small = { width: 160, height: 90, prompt: "A quiet harbor", duration: 1, seed: 7 }

  it.live.each([
    [{ resolution: "480p", aspect_ratio: "16:9" }, 2],
    [{ resolution: "480p", aspect_ratio: "9:21" }, 1],
    [{ resolution: "768p", aspect_ratio: "4:3" }, 1],
    [{ resolution: "1K", aspect_ratio: "3:2" }, 1],
    [{ resolution: "1080p", aspect_ratio: "21:9" }, 1],
    [{ size: "66x64" }, 1]
  ] as const)("%j is H.264 that plays while it loads", ([request, duration]) =>
    Effect.gen(function* () {
      const size = yield* sizeOf(request)
      const video = yield* inspect(yield* render({ ...small, ...size, duration }))
      assert.deepStrictEqual(video, {
        tracks: 1,
        codec: "avc1",
        width: size.width,
        height: size.height,
        duration,
        frames: 24 * duration,
        keyFrames: Math.ceil(duration / 2),
        boxes: ["ftyp", "moov", "mdat", "uuid"]
      })
    })
  )

  it.live("the same card is the same file; another seed or prompt is another", () =>
    Effect.gen(function* () {
      const [first, again, seed, prompt] = yield* Effect.all(
        [
          render(small),
          Effect.delay(render(small), "1100 millis"),
          render({ ...small, seed: 8 }),
          render({ ...small, prompt: "A loud harbor" })
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual(again, first)
      assert.notDeepEqual(seed, first)
      assert.notDeepEqual(prompt, first)
    })
  )

  it.live.each([
    "😀👩‍👩‍👧‍👦🏳️‍🌈 emoji",
    "مرحبا بالعالم — שלום עולם",
    "東京の静かな港、夜明け。カモメが水面を飛ぶ、長いショット",
    "ภาษาไทย हिन्दी ქართული 한국어",
    "broken \ud800 surrogate \u0000 and \u202e control",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "word ".repeat(4000),
    "\u0301\u200d"
  ])("draws %j", (prompt) =>
    Effect.gen(function* () {
      const video = yield* inspect(yield* render({ ...small, prompt }))
      assert.strictEqual(video.frames, 24)
    })
  )

  it.live("reports its progress", () =>
    Effect.gen(function* () {
      const reports: Array<number> = []
      yield* render(small, (share) => reports.push(share))
      assert.isAtLeast(reports.length, 3)
      assert.deepStrictEqual(
        reports,
        reports.toSorted((left, right) => left - right)
      )
      assert.isTrue(reports.every((share) => share > 0 && share <= 1))
    })
  )

  it.live("stops when it is interrupted", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let reports = 0
      const rendering = yield* Effect.forkChild(
        render({ ...small, duration: 60, width: 640, height: 360 }, () => {
          reports++
          Deferred.doneUnsafe(begun, Effect.void)
        })
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(rendering)
      const before = reports
      // A second render takes long enough for the first one to report again, if it still ran.
      yield* render(small)
      assert.strictEqual(reports, before)
    })
  )

  it.runIf(process.platform === "linux")(
    "ends with the process that started it, and gets none of its secrets",
    async () => {
      const module = new URL("../src/TitleCard.ts", import.meta.url)
      const card = { ...small, duration: 60 }
      const script = `
      import { runPromise } from "effect/Effect"
      import { render } from "${module.href}"
      await runPromise(render(${JSON.stringify(card)}, () => console.log("rendering")))`
      const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
        cwd: dirname(fileURLToPath(import.meta.url)),
        env: { SECRET: "mg_sk_secret" },
        stdio: ["ignore", "pipe", "inherit"]
      })
      await once(parent.stdout, "data")
      const child = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, "utf8").trim()
      expect(readFileSync(`/proc/${child}/environ`, "utf8")).not.toContain("SECRET")
      parent.kill("SIGKILL")
      await vi.waitUntil(() => !existsSync(`/proc/${child}`), { timeout: 30_000 })
    }
  )

  it.live("leaves the event loop free", () =>
    Effect.gen(function* () {
      const rendering = yield* Effect.forkChild(render({ ...small, width: 1280, height: 720 }))
      let turns = 0
      while (rendering.pollUnsafe() === undefined) {
        turns++
        yield* Effect.sleep("5 millis")
      }
      yield* Fiber.join(rendering)
      assert.isAbove(turns, 20)
    })
  )

  it("has an exact error type", () => {
    expectTypeOf<Effect.Error<ReturnType<typeof render>>>().toEqualTypeOf<RenderError>()
  })
})
