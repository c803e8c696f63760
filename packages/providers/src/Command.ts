/**
 * Transcribes with a program on the gateway's own machine: `whisper-cli`, `pocketsphinx`, or any
 * that prints text or JSON. It needs no key and sends the audio nowhere.
 *
 * It has no models of its own: a settings file defines each with the command that runs it.
 *
 * Documentation of the programs whose JSON it reads:
 * https://github.com/ggml-org/whisper.cpp/tree/master/examples/cli and
 * https://cmusphinx.github.io/doc/pocketsphinx/.
 *
 * @since 0.1.0
 */
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Duration, Effect, Exit, FileSystem, Schema, type Scope, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as CallProcesses from "@model-gateway/offers/CallProcesses"
import * as CommandOutput from "./internal/commandOutput.ts"
import { perSecond, type PerSecondModel } from "./internal/offers.ts"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { TranscriptionOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost } from "@model-gateway/offers/Pricing"
import { BadResponse, ProviderError, Timeout } from "@model-gateway/offers/ProviderError"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"

// Configuration

/** A program and its arguments. */
const Words = Schema.TupleWithRest(Schema.Tuple([Schema.NonEmptyString]), [Schema.String])

/**
 * What `parameters` of a model may say.
 *
 * The words of a command may contain placeholders: `{file}` (the audio), `{wav}` (where `convert`
 * writes), `{dir}` (a folder of the call, which is also the working directory), `{language}` (its
 * code, or `auto`), `{temperature}` (0 unless the request says otherwise), `{prompt}` (that of the
 * caller's `provider.options`, or nothing) and `{model}` (the model's `upstreamId`). A prompt may
 * begin with a dash, so write it after an option that takes a value.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  /** The program and its arguments. It runs without a shell. */
  command: Words,
  /**
   * A command that runs first and writes `{wav}`, such as `["sox", "{file}", "-r", "16000",
   * "{wav}"]`.
   */
  convert: Schema.optionalKey(Words),
  /** What the command prints. Default: `text`. */
  output: Schema.optionalKey(Schema.Literals(["text", "json"])),
  /** A file to read instead of the standard output, such as `{dir}/out.json`. */
  outputFile: Schema.optionalKey(Schema.NonEmptyString),
  /** Whether its JSON has the times of words. Default: false. */
  wordTimestamps: Schema.optionalKey(Schema.Boolean),
  /** Default: `["wav"]`. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio file in bytes. Default: what the service accepts. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: no limit. */
  maxSeconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  /** The number of commands that run at the same time. Further calls wait. Default: 1. */
  concurrency: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1024 }))),
  /**
   * Environment variables. The command inherits none, and gets `MODEL_GATEWAY_CALL_FOLDER`.
   * Default: a `PATH` of the usual folders.
   */
  env: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin"

/** The maximum size of an output in bytes. */
const maxOutputBytes = 32 * 1024 * 1024

const failWith = (description: string) => new ProviderError({ reason: new BadResponse({ description }) })

// Request mapping

interface Places {
  readonly dir: string
  readonly file: string
  readonly wav: string
}

/** A longer one is no prompt. An argument of a program is at most 128 KiB. */
const maxPromptLength = 4096

const promptOf = ({ options = {} }: TranscriptionRequest): string | undefined => {
  const { prompt } = options
  return typeof prompt === "string" ? prompt : undefined
}

/** The one option of a command that has a placeholder for it. */
const promptPassthrough = (provider: string): Passthrough.Passthrough =>
  Passthrough.make(provider, { documented: ["prompt"], refused: {} }, ({ prompt = "" }, path) =>
    typeof prompt === "string" && prompt.length <= maxPromptLength && !prompt.includes("\0")
      ? []
      : [
          {
            path: `${path}.prompt`,
            message: `Expected a text of at most ${maxPromptLength} characters without NUL`
          }
        ]
  )

/** The options that such a command has no use for. */
const otherOptions =
  (provider: string, publicId: string) =>
  ({ options = {} }: TranscriptionRequest): ReadonlyArray<string> =>
    Object.keys(options)
      .filter((name) => name !== "prompt")
      .slice(0, 20)
      .map((name) => `provider.options.${provider}.${name}: ${publicId} takes no such option, so it was ignored.`)

const fill = (word: string, places: Places, model: TranscriptionModel, request: TranscriptionRequest): string => {
  const values: Readonly<Record<string, string>> = {
    ...places,
    language: request.language ?? "auto",
    temperature: String(request.temperature ?? 0),
    prompt: promptOf(request) ?? "",
    model: model.upstreamId
  }
  // A single pass, so that no value is searched for placeholders.
  return word.replace(/\{(\w+)\}/g, (written, name: string) => values[name] ?? written)
}

const killAll = (fileSystem: FileSystem.FileSystem, dir: string): Effect.Effect<void> =>
  Effect.provideService(CallProcesses.killAll(dir), FileSystem.FileSystem, fileSystem)

/** A folder for the call with the audio under a name that tells its format. */
const place = Effect.fnUntraced(function* (
  fileSystem: FileSystem.FileSystem,
  { audio }: TranscriptionRequest
): Effect.fn.Return<Places, never, Scope.Scope> {
  const dir = yield* Effect.orDie(fileSystem.makeTempDirectoryScoped())
  const file = `${dir}/audio.${audio.format}`
  // What a call that failed or was interrupted has started. One that succeeded has ended it before.
  yield* Effect.addFinalizer((exit) => (Exit.isSuccess(exit) ? Effect.void : killAll(fileSystem, dir)))
  const { location } = audio.source
  yield* Effect.orDie(
    location._tag === "File" ? fileSystem.symlink(location.path, file) : fileSystem.writeFile(file, location.bytes)
  )
  return { dir, file, wav: `${dir}/converted.wav` }
})

// Response mapping

/** The stream as text, if it is not too long. */
const read = <E>(stream: Stream.Stream<Uint8Array, E>): Effect.Effect<string, ProviderError> => {
  let size = 0
  return stream.pipe(
    Stream.mapError(() => failWith("the output of the command cannot be read")),
    Stream.tap((chunk) =>
      (size += chunk.length) > maxOutputBytes ? Effect.fail(failWith(`more than ${maxOutputBytes} bytes`)) : Effect.void
    ),
    Stream.decodeText,
    Stream.mkString
  )
}

/**
 * The text of a file that a program wrote. A link is not followed, because the gateway may read
 * files that no caller may see, and only a regular file has an end.
 */
const readFile = (fileSystem: FileSystem.FileSystem, file: string, dir: string): Effect.Effect<string, ProviderError> =>
  Effect.gen(function* () {
    const isLink = yield* Effect.match(fileSystem.readLink(file), { onFailure: () => false, onSuccess: () => true })
    const real = yield* fileSystem.realPath(file)
    const leaves = file.startsWith(`${dir}/`) && !real.startsWith(`${yield* fileSystem.realPath(dir)}/`)
    if (isLink || leaves) return yield* failWith("the output file is a link")
    if ((yield* fileSystem.stat(real)).type !== "File") return yield* failWith("the output file is no regular file")
    return yield* read(fileSystem.stream(real))
  }).pipe(Effect.catchTag("PlatformError", () => failWith("the output of the command cannot be read")))

// Error mapping

/**
 * Runs a program to its end and returns what it printed. It is killed, with the processes that it
 * started, if the call is interrupted or the output is too long. What it started and left is killed
 * when it ends: it could keep the output open and change the output file. Its error output is
 * discarded: it may speak of the audio and of the machine.
 */
const execute = (
  fileSystem: FileSystem.FileSystem,
  spawner: ChildProcessSpawner.ChildProcessSpawner["Service"],
  [program = "", ...args]: ReadonlyArray<string>,
  { dir }: Places,
  env: Readonly<Record<string, string>>
): Effect.Effect<string, ProviderError> =>
  Effect.gen(function* () {
    const handle = yield* Effect.mapError(
      spawner.spawn(
        ChildProcess.make(program, args, {
          cwd: dir,
          env: { PATH: usualPath, ...env, [CallProcesses.variable]: dir },
          extendEnv: false,
          stdin: "ignore",
          stderr: "ignore",
          // The program has nothing to save, so it need not be asked to end.
          killSignal: "SIGKILL"
        })
      ),
      (error) => failWith(`the command cannot be started: ${error.reason._tag}`)
    )
    const ended = Effect.mapError(handle.exitCode, () => failWith("the command was killed")).pipe(
      Effect.tap(Effect.ignore(handle.kill({ killSignal: "SIGKILL" }))),
      Effect.tap(killAll(fileSystem, dir))
    )
    const [text, code] = yield* Effect.all([read(handle.stdout), ended], { concurrency: "unbounded" })
    return code === 0 ? text : yield* failWith(`the command ended with ${code}`)
  }).pipe(Effect.scoped)

// Offers

const transcription = Effect.fnUntraced(function* (
  { credential, name, timeLimit = Duration.minutes(5) }: Upstream,
  model: PerSecondModel
) {
  const { pricing } = model
  const fileSystem = yield* FileSystem.FileSystem
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const parameters = yield* decodeParameters(Parameters, model)
  const { audioFormats = ["wav"], command, concurrency = 1, convert, env = {}, output = "text" } = parameters
  const { maxBytes, maxSeconds, outputFile, wordTimestamps = false } = parameters
  if (convert === undefined && command.some((word) => word.includes("{wav}"))) {
    return yield* new InvalidModel({ model, message: "needs parameters.convert, because its command reads {wav}" })
  }
  const quote = ({ audio }: TranscriptionRequest) => cost(pricing.microCredits, audio.durationSeconds)
  const uses = (placeholder: string) => [...command, ...(convert ?? [])].some((word) => word.includes(placeholder))

  const passthrough = uses("{prompt}") ? promptPassthrough(name) : undefined

  const transcribe = Effect.fnUntraced(function* (request: TranscriptionRequest) {
    const places = yield* place(fileSystem, request)
    const filled = (word: string) => fill(word, places, model, request)
    if (convert !== undefined) yield* execute(fileSystem, spawner, convert.map(filled), places, env)
    const printed = yield* execute(fileSystem, spawner, command.map(filled), places, env)
    const text = outputFile === undefined ? printed : yield* readFile(fileSystem, filled(outputFile), places.dir)
    if (output === "text") return CommandOutput.ofText(text, request)
    const answer = CommandOutput.ofJson(text, request)
    return answer === undefined ? yield* failWith("JSON of another form") : answer
  }, Effect.scoped)

  const offer: TranscriptionOffer = {
    ...Offer.ofModel(model),
    kind: "transcription",
    provider: name,
    credential: credential ?? Offer.gatewayCredential(),
    pricing,
    concurrency,
    capabilities: {
      audio_formats: audioFormats,
      verbose: output === "json",
      word_timestamps: output === "json" && wordTimestamps,
      language: uses("{language}"),
      temperature: uses("{temperature}"),
      max_bytes: maxBytes,
      max_seconds: maxSeconds
    },
    ...(passthrough === undefined
      ? { ignored: Offer.ignoredOptions({ provider: name, publicId: model.publicId }) }
      : { passthrough, ignored: otherOptions(name, model.publicId) }),
    quote,
    run: Effect.fn("Command.transcribe")(function* (request: TranscriptionRequest) {
      if (passthrough !== undefined) yield* Passthrough.check(passthrough, request)
      const answer = yield* Effect.timeoutOrElse(transcribe(request), {
        duration: timeLimit,
        orElse: () => Effect.fail(new ProviderError({ reason: new Timeout() }))
      })
      return { answer, charge: { cost: quote(request), usage: { seconds: request.audio.durationSeconds } } }
    })
  }
  return offer
})

/**
 * A program on the gateway's own machine. See {@link Parameters}.
 *
 * @example
 * ```ts
 * import * as Command from "@model-gateway/providers/Command"
 *
 * const offers = Command.adapter.offers({ name: "local", baseUrl: "", credential: undefined }, [
 *   {
 *     kind: "transcription",
 *     publicId: "local/pocketsphinx",
 *     upstreamId: "en-us",
 *     name: "PocketSphinx",
 *     pricing: { unit: "second", microCredits: 0 },
 *     parameters: {
 *       convert: ["sox", "{file}", "-r", "16000", "-c", "1", "{wav}"],
 *       command: ["pocketsphinx", "single", "{wav}"],
 *       output: "json"
 *     }
 *   }
 * ])
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<FileSystem.FileSystem | ChildProcessSpawner.ChildProcessSpawner> = {
  name: "command",
  title: "Local command",
  variables: undefined,
  defaultBaseUrl: "",
  credential: "none",
  kinds: ["transcription"],
  models: [],
  offers: (upstream, models) =>
    Effect.forEach(models, (model) =>
      perSecond.isModel(model)
        ? transcription(upstream, model)
        : Effect.fail(new InvalidModel({ model, message: perSecond.expected }))
    )
}
