import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, FileSystem, Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as AudioSource from "@model-gateway/offers/AudioSource"
import * as CallProcesses from "@model-gateway/offers/CallProcesses"
import * as Command from "../src/Command.ts"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import { until } from "@model-gateway/test-doubles/recorded"
import { offersOf, services, speaking, told } from "./support/transcription.ts"

const model = (parameters: Schema.JsonObject): TranscriptionModel => ({
  kind: "transcription",
  publicId: "local/ears",
  upstreamId: "small.bin",
  name: "Ears",
  pricing: { unit: "second", microCredits: 10 },
  parameters
})

const command = (parameters: Schema.JsonObject, upstream: Partial<Upstream> = {}) =>
  Effect.map(
    offersOf(Command.adapter, { name: "local", ...upstream }, "unused", [model(parameters)]),
    ([only = assert.fail("no offer")]) => only
  )

/** Runs a program of one line in Node, with arguments. */
const node = (code: string, ...args: ReadonlyArray<string>): ReadonlyArray<string> => [
  process.execPath,
  "-e",
  code,
  ...args
]

const { provide } = Effect

/** What the program below prints: its arguments, its folder, its environment. */
const printed = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Tuple([Schema.Array(Schema.String), Schema.String, Schema.Record(Schema.String, Schema.String)])
  )
)

const transcript = (parameters: Schema.JsonObject, more: Parameters<typeof speaking>[1] = {}) =>
  Effect.flatMap(command(parameters), ({ run }) => Effect.map(run(speaking("hello", more)), ({ answer }) => answer))

const failing = (parameters: Schema.JsonObject, upstream?: Partial<Upstream>) =>
  Effect.flatMap(command(parameters, upstream), ({ run }) =>
    Effect.map(Effect.flip(run(speaking("hello"))), ({ reason }) => told(reason))
  )

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("Command", () => {
  it.live("runs the program without a shell, its placeholders filled, and nothing inherited", () =>
    Effect.gen(function* () {
      const print =
        "console.log(JSON.stringify({text: JSON.stringify([process.argv.slice(1), process.cwd(), process.env])}))"
      const { text } = yield* transcript(
        {
          command: node(print, "{file}", "{dir}", "{language}", "{temperature}", "{model}", "{other}", "$(id) *"),
          output: "json",
          env: { MODELS: "/models" }
        },
        { language: "de", temperature: 0.5 }
      )
      const [[file, dir = "", ...rest], cwd, env] = printed(text)
      assert.deepStrictEqual(rest, ["de", "0.5", "small.bin", "{other}", "$(id) *"])
      assert.deepStrictEqual([file, cwd], [`${dir}/audio.wav`, dir])
      assert.deepStrictEqual(Object.keys(env).toSorted(), ["MODELS", "MODEL_GATEWAY_CALL_FOLDER", "PATH"])
      assert.strictEqual(env[CallProcesses.variable], dir)
      const fileSystem = yield* FileSystem.FileSystem
      assert.isFalse(yield* fileSystem.exists(dir))
    }).pipe(provide(services))
  )

  it.live("reads the audio of a file or of memory under a name with its format", () =>
    Effect.gen(function* () {
      const read = { command: node("process.stdout.write(require('fs').readFileSync(process.argv[1]))", "{file}") }
      assert.strictEqual((yield* transcript(read)).text, "speech: hello")
      const fileSystem = yield* FileSystem.FileSystem
      const path = yield* fileSystem.makeTempFileScoped()
      yield* fileSystem.writeFileString(path, "from a file")
      const source = yield* AudioSource.fromPath(path)
      const answer = yield* transcript(read, { audio: { source, format: "ogg", durationSeconds: 3 } })
      assert.deepStrictEqual(answer, { text: "from a file", duration: 3, segments: [] })
      assert.strictEqual(yield* fileSystem.readFileString(path), "from a file")
    }).pipe(Effect.scoped, provide(services))
  )

  it.live("converts the audio first if `convert` is set, and reads a file that the program writes", () =>
    Effect.gen(function* () {
      const { text } = yield* transcript({
        convert: node(
          "const f = require('fs'); f.writeFileSync(process.argv[2], f.readFileSync(process.argv[1] , 'utf8').toUpperCase())",
          "{file}",
          "{wav}"
        ),
        command: node(
          "const f = require('fs'); f.copyFileSync(process.argv[1], 'out.txt'); console.log('not this')",
          "{wav}"
        ),
        outputFile: "{dir}/out.txt"
      })
      assert.strictEqual(text, "SPEECH: HELLO")
      const wrong = yield* Effect.flip(command({ command: ["pocketsphinx", "{wav}"] }))
      assert.strictEqual(wrong.message, "needs parameters.convert, because its command reads {wav}")
    }).pipe(provide(services))
  )

  it.live("joins lines of text, and charges the seconds of the audio", () =>
    Effect.gen(function* () {
      const { offer, run } = yield* command({ command: node("console.log(' one \\n\\n two three')") })
      const { answer, charge } = yield* run(speaking("one two three"))
      assert.strictEqual(answer.text, "one two three")
      assert.deepStrictEqual<unknown>(charge, { cost: 30, usage: { seconds: 3 } })
      assert.strictEqual(Number(offer.quote(speaking("one two three"))), 30)
      assert.deepStrictEqual(offer.capabilities, {
        audio_formats: ["wav"],
        language: false,
        temperature: false,
        verbose: false,
        word_timestamps: false,
        max_bytes: undefined,
        max_seconds: undefined
      })
      assert.strictEqual((yield* transcript({ command: node("") })).text, "")
    }).pipe(provide(services))
  )

  it.live("reads the JSON of OpenAI, whisper.cpp and PocketSphinx", () =>
    Effect.gen(function* () {
      const printing = (...values: ReadonlyArray<unknown>) =>
        transcript(
          {
            command: node(
              "console.log(process.argv.slice(1).join('\\n'))",
              ...values.map((value) => JSON.stringify(value))
            ),
            output: "json"
          },
          { timestamp_granularities: ["word"] }
        )
      const segment = { id: 4, start: 0, end: 1, text: "hi" }
      const words = [{ word: "hi", start: 0, end: 1 }]
      assert.deepStrictEqual(yield* printing({ text: "hi", language: "english", segments: [segment], words }), {
        text: "hi",
        language: "english",
        duration: 1,
        segments: [segment],
        words
      })
      const transcription = [
        { timestamps: { from: "00:00:00,000" }, offsets: { from: 0, to: 1500 }, text: " And so" },
        { timestamps: { from: "00:00:01,500" }, offsets: { from: 1500, to: 3000 }, text: " my fellow" }
      ]
      assert.deepStrictEqual(yield* printing({ systeminfo: "", result: { language: "en" }, transcription }), {
        text: "And so my fellow",
        language: "en",
        duration: 1,
        segments: [
          { id: 0, start: 0, end: 1.5, text: "And so" },
          { id: 1, start: 1.5, end: 3, text: "my fellow" }
        ]
      })
      const utterance = (b: number, t: string) => ({
        b,
        d: 0.5,
        p: 1,
        t,
        w: [
          { b, d: 0.1, p: 1, t: "<s>" },
          { b: b + 0.25, d: 0.25, p: 0.9, t: `${t}(2)` }
        ]
      })
      assert.deepStrictEqual(yield* printing(utterance(0, "go"), utterance(1, "forward")), {
        text: "go forward",
        duration: 1,
        segments: [
          { id: 0, start: 0, end: 0.5, text: "go" },
          { id: 1, start: 1, end: 1.5, text: "forward" }
        ],
        words: [
          { word: "go", start: 0.25, end: 0.5 },
          { word: "forward", start: 1.25, end: 1.5 }
        ]
      })
      assert.strictEqual((yield* printing(utterance(0, "go"))).text, "go")
    }).pipe(provide(services))
  )

  it.live("merges the tokens of whisper.cpp's full JSON to words", () =>
    Effect.gen(function* () {
      const token = (text: string, from?: number, to?: number) => ({
        text,
        ...(from === undefined ? {} : { offsets: { from, to } }),
        id: 1,
        p: 0.9,
        t_dtw: -1
      })
      const ofTokens = (language: string, ...segments: ReadonlyArray<ReadonlyArray<unknown>>) =>
        transcript(
          {
            command: node(
              "console.log(process.argv[1])",
              JSON.stringify({
                result: { language },
                transcription: segments.map((tokens) => ({ text: " x", offsets: { from: 0, to: 2000 }, tokens }))
              })
            ),
            output: "json"
          },
          { timestamp_granularities: ["word"] }
        )
      const english = yield* ofTokens(
        "en",
        [
          token("[_BEG_]", 0, 0),
          token(" Trans", 100, 300),
          token("cri", 300, 400),
          token("ption", 400, 700),
          token(",", 700, 750),
          token(" untimed"),
          token(" I", 800, 900),
          token("'m", 900, 1000),
          token("[_TT_100]", 2000, 2000)
        ],
        [token("sure", 2000, 2500), token(".", 2500, 2600), token("<|endoftext|>", 2600, 2600), null]
      )
      assert.deepStrictEqual(english.words, [
        { word: "Transcription,", start: 0.1, end: 0.75 },
        { word: "I'm", start: 0.8, end: 1 },
        { word: "sure.", start: 2, end: 2.6 }
      ])
      // Chinese has no spaces.
      const chinese = yield* ofTokens("zh", [token("你好", 0, 500), token("世界", 500, 900), token("。", 900, 950)])
      assert.deepStrictEqual(chinese.words, [
        { word: "你好", start: 0, end: 0.5 },
        { word: "世界。", start: 0.5, end: 0.95 }
      ])
    }).pipe(provide(services))
  )

  it.live("fills in the prompt of the caller where the command has a placeholder, and names other options", () =>
    Effect.gen(function* () {
      const parameters = { command: node("console.log('[' + process.argv[1] + ']')", "{prompt}") }
      assert.strictEqual((yield* transcript(parameters)).text, "[]")
      const said = "Ünal; $(id) {model} --help"
      assert.strictEqual((yield* transcript(parameters, { options: { prompt: said } })).text, `[${said}]`)
      const { offer, run } = yield* command(parameters)
      assert.deepStrictEqual(offer.passthrough?.documented, ["prompt"])
      assert.deepStrictEqual(offer.ignored?.(speaking("hello", { options: { prompt: "tea", beams: 3 } })), [
        "provider.options.local.beams: local/ears takes no such option, so it was ignored."
      ])
      for (const prompt of [1, "a\u0000b", "a".repeat(4097)]) {
        const { reason } = yield* Effect.flip(run(speaking("hello", { options: { prompt } })))
        assert.strictEqual(
          told(reason),
          "InvalidRequest: provider.options.local.prompt: Expected a text of at most 4096 characters without NUL"
        )
      }
    }).pipe(provide(services))
  )

  it.live("reports what went wrong, and nothing that the program said of it", () =>
    Effect.gen(function* () {
      const failures = [
        yield* failing({ command: ["/nowhere/ears", "{file}"] }),
        yield* failing({ command: node("console.error('secret'); console.log('text'); process.exitCode = 3") }),
        yield* failing({ command: node("process.kill(process.pid, 'SIGKILL')") }),
        yield* failing({ command: node("console.log('no JSON')"), output: "json" }),
        yield* failing({ command: node("console.log('{}')"), output: "json" }),
        yield* failing({ command: node(""), outputFile: "{dir}/missing.json" }),
        yield* failing({ convert: node("process.exitCode = 1"), command: node("console.log('text')") }),
        yield* failing({
          command: node(
            "const b = Buffer.alloc(1 << 20, 97); const w = () => { while (process.stdout.write(b)); process.stdout.once('drain', w) }; w()"
          )
        })
      ]
      assert.deepStrictEqual(failures, [
        "BadResponse: the command cannot be started: NotFound",
        "BadResponse: the command ended with 3",
        "BadResponse: the command was killed",
        "BadResponse: JSON of another form",
        "BadResponse: JSON of another form",
        "BadResponse: the output of the command cannot be read",
        "BadResponse: the command ended with 1",
        "BadResponse: more than 33554432 bytes"
      ])
    }).pipe(provide(services))
  )

  it.live("kills the program and those it started when the time is over or the call is interrupted", () =>
    Effect.gen(function* () {
      const fileSystem = yield* FileSystem.FileSystem
      const folder = yield* fileSystem.makeTempDirectoryScoped()
      const pids = `${folder}/pids`
      const parent = 'trap "" TERM; sleep 1000 & echo "$$ $!" > "$0.new"; mv "$0.new" "$0"; wait'
      const parameters = { command: ["sh", "-c", parent, pids] }
      const started = Effect.gen(function* () {
        while (!(yield* fileSystem.exists(pids))) yield* Effect.sleep("5 millis")
        const [first, second] = (yield* fileSystem.readFileString(pids)).split(" ").map(Number)
        yield* fileSystem.remove(pids)
        return [first ?? 0, second ?? 0]
      })
      const { run } = yield* command(parameters)
      const call = yield* Effect.forkScoped(run(speaking("hello")))
      const interrupted = yield* started
      assert.isTrue(interrupted.every(isAlive))
      yield* Fiber.interrupt(call)
      yield* until(() => !interrupted.some(isAlive))

      const reason = yield* Effect.forkScoped(failing(parameters, { timeLimit: Duration.seconds(2) }))
      const late = yield* started
      assert.strictEqual(yield* Fiber.join(reason), "Timeout: the provider did not answer in time")
      yield* until(() => !late.some(isAlive))
    }).pipe(Effect.scoped, provide(services))
  )

  it.live.skipIf(process.platform !== "linux")(
    "kills what a program starts and leaves, also outside of its group",
    () =>
      Effect.gen(function* () {
        // The second one leaves the group. Both keep the output open.
        const forks = 'sleep 1000 & echo $! > "$0"; setsid sleep 1000 & echo $! >> "$0"; sleep 0.2'
        for (const [end, isFailing] of [
          ["exit 0", false],
          ["exit 3", true]
        ] as const) {
          const fileSystem = yield* FileSystem.FileSystem
          const pids = `${yield* fileSystem.makeTempDirectoryScoped()}/pids`
          const { run } = yield* command({ command: ["sh", "-c", `${forks}; ${end}`, pids] })
          const exit = yield* Effect.exit(run(speaking("hello")))
          assert.strictEqual(exit._tag, isFailing ? "Failure" : "Success")
          const started = (yield* fileSystem.readFileString(pids)).trim().split("\n").map(Number)
          assert.strictEqual(started.length, 2)
          yield* until(() => !started.some(isAlive))
        }
      }).pipe(Effect.scoped, provide(services))
  )

  it.live("does not follow a link in place of the output file", () =>
    Effect.gen(function* () {
      const fileSystem = yield* FileSystem.FileSystem
      const folder = yield* fileSystem.makeTempDirectoryScoped()
      const secret = `${folder}/secret`
      yield* fileSystem.writeFileString(secret, "secret")
      const link = "require('fs').symlinkSync(process.argv[1], process.argv[2])"
      assert.deepStrictEqual(
        [
          yield* failing({ command: node(link, secret, "out.txt"), outputFile: "{dir}/out.txt" }),
          yield* failing({ command: node(link, folder, "out"), outputFile: "{dir}/out/secret" }),
          yield* failing({ command: node(link, `${folder}/missing`, "out.txt"), outputFile: "{dir}/out.txt" }),
          yield* failing({ command: node("require('fs').mkdirSync('out.txt')"), outputFile: "{dir}/out.txt" })
        ],
        [
          "BadResponse: the output file is a link",
          "BadResponse: the output file is a link",
          "BadResponse: the output of the command cannot be read",
          "BadResponse: the output file is no regular file"
        ]
      )
      // A file outside of the folder is the operator's choice.
      const { text } = yield* transcript({ command: node(""), outputFile: secret })
      assert.strictEqual(text, "secret")
    }).pipe(Effect.scoped, provide(services))
  )

  it.effect("states how many programs may run at the same time", () =>
    Effect.gen(function* () {
      const of = (parameters: Schema.JsonObject) => Effect.map(command(parameters), ({ offer }) => offer.concurrency)
      assert.strictEqual(yield* of({ command: ["ears"] }), 1)
      assert.strictEqual(yield* of({ command: ["ears"], concurrency: 4 }), 4)
    }).pipe(provide(services))
  )

  it.live("names a wrong parameter", () =>
    Effect.gen(function* () {
      const wrong = yield* Effect.forEach(
        [
          {},
          { command: [] },
          { command: "ls" },
          { command: ["ls"], output: "xml" },
          { command: ["ls"], concurrency: 0 }
        ],
        (parameters) => Effect.map(Effect.flip(command(parameters)), ({ message }) => message)
      )
      for (const [at, name] of ["command", "command", "command", "output", "concurrency"].entries()) {
        assert.match(wrong[at] ?? "", new RegExp(`^has invalid parameters: .*"?${name}`, "s"))
      }
    }).pipe(provide(services))
  )
})
