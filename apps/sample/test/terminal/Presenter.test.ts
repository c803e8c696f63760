import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { TestClock } from "effect/testing"
import type { Advice } from "../../src/Explanation.ts"
import * as Inputs from "../../src/Inputs.ts"
import { program } from "../../src/Program.ts"
import * as Presenter from "../../src/terminal/Presenter.ts"
import * as Fake from "../FakeGateway.ts"

const advice: Advice = {
  baseUrl: Fake.baseUrl,
  unreachable: "start it",
  key: "give a key",
  managementKey: "give a management key",
  model: { rerank: "name a model", transcription: "name a model", video: "name a model" },
  credits: "add credits",
  save: "name another place"
}

/** The printed text of a run. */
const show = (script: Fake.Script, capabilities: { readonly canColor: boolean; readonly canAnimate: boolean }) =>
  Effect.gen(function* () {
    let shown = ""
    const terminal = Terminal.make({
      columns: Effect.succeed(80),
      rows: Effect.succeed(24),
      size: Effect.die("not asked"),
      readInput: Effect.die("not asked"),
      readLine: Effect.die("not asked"),
      display: (text) => Effect.sync(() => void (shown += text))
    })
    const fake = Fake.make({ ...Fake.wellBehaved, ...script })
    const running = yield* Effect.gen(function* () {
      const presenter = yield* Presenter.make(advice)
      yield* presenter.begin
      yield* presenter.end(yield* program(Inputs.make(Inputs.sandboxModels), presenter.present))
    }).pipe(
      Effect.provide(fake.layer),
      Effect.provide(
        Layer.mergeAll(
          Layer.succeed(Terminal.Terminal, terminal),
          Layer.succeed(TerminalCapabilities.TerminalCapabilities, { ...capabilities, canPrompt: false })
        )
      ),
      Effect.forkChild
    )
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(running)
    return shown
  })

const escape = "\u001b["

describe("the terminal", () => {
  it.effect("prints six results and a summary, as plain lines if the output is not a terminal", () =>
    Effect.gen(function* () {
      const shown = yield* show({}, { canColor: false, canAnimate: false })
      for (const words of [
        "hello.txt (65 bytes) was stored as file_1",
        "mg_sk_…abc has used 0.0135 credits, 0.0035 of them today.",
        "4.9865 of its limit of 5 credits a day remain.",
        "0.900 ████████████  To reset a forgotten password",
        "“555 0199”, from 1.9 s of audio.",
        "It cost 0.00019 credits.",
        "Saved to memory (8 bytes).",
        "Assigned “Sample guardrail” to 2 of 2 keys",
        "6 of 6 steps worked"
      ]) {
        assert.include(shown, words)
      }
      assert.notInclude(shown, escape)
      assert.notInclude(shown, "\r")
      assert.strictEqual(shown.match(/✔/g)?.length, 6)
    })
  )

  it.effect("redraws a growing progress bar in a terminal", () =>
    Effect.gen(function* () {
      const shown = yield* show({}, { canColor: false, canAnimate: true })
      const bars = shown.split("\r").filter((line) => line.includes("Make a video") && line.includes("%"))
      assert.deepStrictEqual(
        bars.map((line) => [line.match(/█/g)?.length ?? 0, line.match(/\d+ %/)?.[0]]),
        [
          [0, "0 %"],
          [16, "50 %"],
          [32, "100 %"]
        ]
      )
    })
  )

  it.effect("has colors only if the terminal supports them", () =>
    Effect.gen(function* () {
      assert.include(yield* show({}, { canColor: true, canAnimate: false }), `${escape}32m`)
      assert.notMatch(yield* show({}, { canColor: false, canAnimate: true }), /\[\d+m/)
    })
  )

  it.effect("prints the message, tag and request id of a failure, and the steps that were skipped", () =>
    Effect.gen(function* () {
      const shown = yield* show(
        { "POST /rerank": Fake.failure(401, "missing authentication header") },
        { canColor: false, canAnimate: false }
      )
      assert.include(shown, "The gateway rejected the key (missing authentication header): give a key.")
      assert.include(shown, "Unauthorized · request id req_401")
      assert.include(shown, "Skipped: step 3 failed.")
      assert.include(shown, "3 of 6 steps worked")
    })
  )

  it.effect("removes control characters from text of the gateway", () =>
    Effect.gen(function* () {
      const shown = yield* show(
        { "POST /audio/transcriptions": Fake.ok({ text: "\u001b[2J\u001b]0;mine\u0007 hello\r\nworld" }) },
        { canColor: false, canAnimate: false }
      )
      assert.notInclude(shown, "\u001b")
      assert.include(shown, "hello world")
    })
  )
})
