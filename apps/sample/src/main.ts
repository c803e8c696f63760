#!/usr/bin/env node
/**
 * The sample in a terminal: the program over Node's HTTP, told by flags and environment, shown as
 * text.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { NodeFile, NodeGateway } from "@model-gateway/node"
import { Data, Effect, Layer, Option, type Redacted, Runtime } from "effect"
import { CliConfig, Command, GlobalFlag, TerminalCapabilities } from "effect/cli"
import type { Hints } from "./Explanation.ts"
import * as Inputs from "./Inputs.ts"
import { ManagementGateway, program, succeeded } from "./Program.ts"
import * as Settings from "./Settings.ts"
import * as FileVideoStore from "./terminal/FileVideoStore.ts"
import * as Presenter from "./terminal/Presenter.ts"
import { wireNames } from "./WireWords.ts"

/** Everything has been said by then; only the exit code is left. */
class StepsFailed extends Data.TaggedError("StepsFailed") {
  override readonly [Runtime.errorReported] = false
}

/** There is no key of that kind. Every step that needs one says so. */
class NoKey extends Data.TaggedError("NoKey") {}

const sample = Command.make(
  "sample",
  Settings.flags,
  Effect.fnUntraced(function* (flags) {
    const settings = yield* Settings.resolve(flags).pipe(
      Effect.provide(NodeGateway.layerDotEnv()),
      Effect.catchTag("PlatformError", ({ message }) => Settings.complain(`The file .env cannot be read (${message}).`))
    )
    const recording = yield* Option.match(settings.audio, {
      onNone: () => Effect.succeed(undefined),
      onSome: (path) =>
        Effect.catch(NodeFile.fromPath(path), ({ message }) => Settings.complain(`--audio: ${message}.`))
    })
    const presenter = yield* Presenter.make(hints(settings))
    yield* presenter.begin
    const outcomes = yield* program(Inputs.make(settings.models, recording), presenter.present).pipe(
      Effect.provide(layer(settings)),
      Effect.catchTag(["InvalidBaseUrl", "ConfigError"], ({ message }) => Settings.complain(message)),
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ deadline: "2 minutes" })),
      Effect.onInterrupt(() => presenter.interrupted)
    )
    yield* presenter.end(outcomes)
    if (!succeeded(outcomes)) return yield* new StepsFailed()
  })
).pipe(
  Command.withDescription(
    "Calls a model gateway in six ways: files, usage, ranking, transcription, video and guardrails"
  ),
  Command.withExamples([
    { command: "npm run sample", description: "Calls the gateway that npm start runs" },
    {
      command: "npm run sample -- --base-url https://gateway.example/api/v1 --api-key mg_sk_… --management-key mg_mk_…",
      description: "Calls another"
    }
  ])
)

/** The platform, the gateway and the disk: all that the program does not know. */
const layer = (settings: Settings.Settings) => {
  const client = (key: Option.Option<Redacted.Redacted<string>>) =>
    NodeGateway.layer({
      baseUrl: settings.baseUrl,
      credential: Option.getOrElse(key, () => Effect.fail(new NoKey())),
      workspaceId: Option.getOrUndefined(settings.workspaceId),
      wireNames
    })
  return Layer.mergeAll(
    client(settings.apiKey),
    Layer.effect(ManagementGateway, Gateway.Gateway).pipe(Layer.provide(client(settings.managementKey))),
    FileVideoStore.layer(settings.out)
  )
}

const hints = (settings: Settings.Settings): Hints => ({
  baseUrl: settings.baseUrl,
  unreachable: "start it with npm start, or name another with --base-url",
  key: "give a working one with --api-key or MODEL_GATEWAY_API_KEY",
  managementKey: "give a working one with --management-key or MODEL_GATEWAY_MANAGEMENT_KEY",
  model: {
    rerank: "name one of its rerank models with --rerank-model",
    transcription: "name one of its transcription models with --transcription-model",
    video: "name one of its video models with --video-model"
  },
  credits: "add credits to the workspace (model-gateway credits add --amount 10) or raise the limit",
  save: "name another place with --out"
})

Command.run(sample, { version: "0.1.0" }).pipe(
  Effect.provide([
    TerminalCapabilities.layer,
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  ]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
