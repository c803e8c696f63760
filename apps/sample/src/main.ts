#!/usr/bin/env node
/**
 * The sample in a terminal: runs the program with Node's HTTP client, reads flags and environment,
 * and prints text.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { NodeFile, NodeGateway } from "@model-gateway/node"
import { Data, Effect, Layer, Option, type Redacted, Runtime } from "effect"
import { CliConfig, Command, GlobalFlag, TerminalCapabilities } from "effect/cli"
import type { Advice } from "./Explanation.ts"
import * as Inputs from "./Inputs.ts"
import { ManagementGateway, program, succeeded } from "./Program.ts"
import * as Settings from "./Settings.ts"
import * as FileVideoStore from "./terminal/FileVideoStore.ts"
import * as Presenter from "./terminal/Presenter.ts"
import { wireNames } from "./WireNames.ts"

/** A step failed. The presenter has already printed it, so only the exit code remains to be set. */
class StepsFailed extends Data.TaggedError("StepsFailed") {
  override readonly [Runtime.errorReported] = false
}

/** A key is missing. It fails the steps that need this key. */
class NoKey extends Data.TaggedError("NoKey") {}

const sample = Command.make(
  "sample",
  Settings.flags,
  Effect.fnUntraced(function* (flags) {
    const settings = yield* Settings.resolve(flags).pipe(
      Effect.provide(NodeGateway.layerDotEnv()),
      Effect.catchTag("PlatformError", ({ message }) =>
        Settings.userError(`The file .env cannot be read (${message}).`)
      )
    )
    const recording = yield* Option.match(settings.audio, {
      onNone: () => Effect.succeed(undefined),
      onSome: (path) =>
        Effect.catch(NodeFile.fromPath(path), ({ message }) => Settings.userError(`--audio: ${message}.`))
    })
    const presenter = yield* Presenter.make(advice(settings))
    yield* presenter.begin
    const outcomes = yield* program(Inputs.make(settings.models, recording), presenter.present).pipe(
      Effect.provide(layer(settings)),
      Effect.catchTag(["InvalidBaseUrl", "InvalidProxy"], ({ message }) => Settings.userError(message)),
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ deadline: "2 minutes" })),
      Effect.onInterrupt(() => presenter.interrupted)
    )
    yield* presenter.end(outcomes)
    if (!succeeded(outcomes)) return yield* new StepsFailed()
  })
).pipe(
  Command.withDescription(
    "Runs six operations of a model gateway: files, usage, ranking, transcription, video and guardrails"
  ),
  Command.withExamples([
    { command: "npm run sample", description: "Calls the gateway that npm start runs" },
    {
      command: "npm run sample -- --base-url https://gateway.example/api/v1 --api-key mg_sk_… --management-key mg_mk_…",
      description: "Calls another gateway"
    }
  ])
)

/** Provides the clients and the video store for Node. */
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

const advice = (settings: Settings.Settings): Advice => ({
  baseUrl: settings.baseUrl,
  unreachable: "start it with npm start, or set another address with --base-url",
  key: "set a valid one with --api-key or MODEL_GATEWAY_API_KEY",
  managementKey: "set a valid one with --management-key or MODEL_GATEWAY_MANAGEMENT_KEY",
  model: {
    rerank: "choose one of its rerank models with --rerank-model",
    transcription: "choose one of its transcription models with --transcription-model",
    video: "choose one of its video models with --video-model"
  },
  credits: "add credits to the workspace (npm run gateway -- credits add --amount 10) or raise the limit",
  save: "choose another path with --out"
})

Command.run(sample, { version: "0.1.0" }).pipe(
  Effect.provide([
    TerminalCapabilities.layer,
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  ]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
