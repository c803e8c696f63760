#!/usr/bin/env node
/** The executable `model-gateway-mcp`. Standard output belongs to the protocol: logs go to stderr. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import * as NodeGateway from "@model-gateway/node/NodeGateway"
import { Cause, Config, Console, Data, Effect, Exit, Layer, Logger, Option, Redacted } from "effect"
import { CliConfig, Command, Flag, GlobalFlag } from "effect/cli"
import { statSync } from "node:fs"
import * as Session from "../Session.ts"
import * as StdioServer from "../StdioServer.ts"
import { version } from "./version.ts"

class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

/** How the keys begin that manage and cannot spend. */
const managementPrefix = "mg_mk_"

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const maxCredits = Flag.Finite("max-credits").pipe(
  Flag.withMetavar("credits"),
  Flag.withDescription(
    "What the tools may spend until this process ends. Default: only the limits of the key and its workspace apply"
  ),
  Flag.optional
)

const audioFolder = Flag.String("audio-folder").pipe(
  Flag.withMetavar("folder"),
  Flag.withDescription(
    "Folder whose audio files `transcribe` may read and send to a provider. Default: none, and no file can be read"
  ),
  Flag.optional
)

/** What the command may not be started with. */
const check = Effect.fnUntraced(function* (credits: number | undefined, folder: string | undefined) {
  const key = yield* Config.option(Config.Redacted("MODEL_GATEWAY_API_KEY"))
  if (Option.isNone(key)) {
    return yield* new Refused({ message: "Set MODEL_GATEWAY_API_KEY to an ordinary key of the gateway." })
  }
  if (Redacted.value(key.value).startsWith(managementPrefix)) {
    return yield* new Refused({
      message:
        "MODEL_GATEWAY_API_KEY is a management key. An agent must not have one: create an ordinary key with a limit for it."
    })
  }
  if (credits !== undefined && credits < 0) {
    return yield* new Refused({ message: "--max-credits must be a number of credits, at least 0." })
  }
  if (folder !== undefined && !isFolder(folder)) {
    return yield* new Refused({ message: `--audio-folder: there is no folder ${folder}.` })
  }
})

const command = Command.make(
  "model-gateway-mcp",
  { maxCredits, audioFolder },
  Effect.fnUntraced(function* (flags) {
    const credits = Option.getOrUndefined(flags.maxCredits)
    const folder = Option.getOrUndefined(flags.audioFolder)
    yield* check(credits, folder)
    const { baseUrl } = yield* GatewayConfig.config()
    yield* Layer.launch(
      StdioServer.layer({ audioFolder: folder }).pipe(
        Layer.provide(Session.layer({ maxCredits: credits, baseUrl })),
        Layer.provide([NodeGateway.layerConfig(), NodeStdio.layer])
      )
    )
  })
).pipe(
  Command.withDescription(
    "Serve the tools of a model gateway to an agent, by the Model Context Protocol over standard input and output. " +
      "MODEL_GATEWAY_BASE_URL is the gateway's address (default http://127.0.0.1:8787/api/v1), MODEL_GATEWAY_API_KEY an ordinary key."
  )
)

const program = Command.run(command, { version }).pipe(
  Effect.as(0),
  Effect.catchTag("ShowHelp", ({ errors }) => Effect.succeed(errors.length > 0 ? 1 : 0)),
  Effect.catch((error) => Effect.as(Console.error(error.message), 1)),
  Effect.catchCause((cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.as(Console.error(Cause.pretty(cause)), 1)
  ),
  Effect.provide(
    Layer.mergeAll(
      NodeServices.layer,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
      Layer.succeed(Logger.LogToStderr, true)
    )
  )
)

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  // The end of standard input and a signal interrupt the program. Both are how a client ends it.
  teardown: (exit, end) => end(Exit.isSuccess(exit) ? Number(exit.value) : 0)
})
