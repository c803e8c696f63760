/** `model-gateway doctor`: checks everything that a gateway needs, and changes nothing. */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Clock, Console, Effect, References } from "effect"
import { Command, Flag } from "effect/cli"
import { type Finding, ok, problem } from "../doctor/Finding.ts"
import * as Machine from "../doctor/Machine.ts"
import { ExitCode } from "../Failure.ts"
import * as LoadSettings from "../LoadSettings.ts"
import { Offered } from "../Offered.ts"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"
import { version } from "../Version.ts"

const check = Effect.fnUntraced(function* (loaded: LoadSettings.Loaded, callsUpstreams: boolean) {
  const settings = yield* LoadSettings.read(loaded)
  const limits = yield* loaded.read(GatewayServerConfig.config)
  const { dataDir } = settings
  const [Stores, Offers, UpstreamKeys] = yield* Effect.promise(() =>
    Promise.all([import("../doctor/Stores.ts"), import("../Offers.ts"), import("../doctor/UpstreamKeys.ts")])
  )
  const offered = yield* Effect.gen(function* () {
    const found = yield* Offered
    return callsUpstreams ? yield* UpstreamKeys.check(found) : []
  }).pipe(
    Effect.provide(Offers.layer(loaded, settings)),
    Effect.map((upstreams): ReadonlyArray<Finding> => [ok("settings", "The settings are valid."), ...upstreams]),
    Effect.catchTag("Failure", ({ message }) => Effect.succeed([invalid(message)]))
  )
  const disk = yield* Effect.promise(() => Machine.disk(dataDir, limits.diskReserve))
  return [
    ...offered,
    ...Machine.folder(dataDir),
    disk,
    ...(yield* Stores.database(settings, limits, yield* Clock.currentTimeMillis)),
    yield* Stores.files(settings, limits),
    yield* Stores.redis(settings, limits)
  ]
})

const invalid = (message: string): Finding => problem("settings", message, "model-gateway settings check")

const marks = { ok: "ok", problem: "PROBLEM", skipped: "-" }

const text = (findings: ReadonlyArray<Finding>): string =>
  findings
    .flatMap(({ check, command, message, status }) => [
      `${marks[status].padEnd(7)}  ${check.padEnd(16)}  ${Output.printable(message)}`,
      ...(command === undefined ? [] : [`${" ".repeat(27)}${Output.printable(command)}`])
    ])
    .join("\n")

/** The `doctor` command. */
export const command = Command.make(
  "doctor",
  {
    upstreams: Flag.Boolean("upstreams").pipe(
      Flag.withDescription("Also call each upstream once with the key of the gateway, with its cheapest request"),
      Flag.withDefault(false)
    ),
    ...Storage.flags
  },
  Effect.fn("doctor")(function* (input) {
    const checked = yield* LoadSettings.load(input.settings, input.config).pipe(
      Effect.flatMap((loaded) => check(loaded, input.upstreams)),
      // Without settings, nothing else can be found.
      Effect.catchTag("Failure", ({ message }) => Effect.succeed([invalid(message)])),
      // The findings say what a log would say.
      Effect.provideService(References.MinimumLogLevel, "None")
    )
    const findings = [Machine.software(), ...checked]
    const problems = findings.filter(({ status }) => status === "problem").length
    yield* input.json
      ? Output.json({ version, status: problems === 0 ? "ok" : "problem", findings })
      : Console.log(
          `${text(findings)}\n\n${problems === 0 ? "No problems." : `${problems} ${problems === 1 ? "problem" : "problems"}.`}`
        )
    if (problems > 0) return yield* new ExitCode({ code: 1 })
  })
).pipe(
  Command.withDescription(
    "Check the settings, the database, the files, Redis, the clock, the disk, permissions and stored secrets of a gateway, also while it runs. It creates and migrates nothing. " +
      "The exit code is 0 if everything is fine and 1 if there is a problem"
  ),
  Command.withShortDescription("Check everything that a gateway needs"),
  Command.withExamples([
    { command: "model-gateway doctor", description: "After an upgrade, and before you ask for help" },
    { command: "model-gateway doctor --upstreams --json", description: "For a program, with a call to each upstream" }
  ])
)
