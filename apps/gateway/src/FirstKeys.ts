/**
 * The keys of the first run: printed where a person reads them, and else in a file of the data
 * folder that only its owner can read. A log that others collect never has them. With the setting
 * `bootstrapManagementKey` the operator provides the only one.
 *
 * Clients on this machine can read the file as their environment: the sample of a clone does.
 */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { ConsoleLinks } from "@model-gateway/server/ConsoleLinks"
import * as KeyFormat from "@model-gateway/server/KeyFormat"
import * as LogEvent from "@model-gateway/server/LogEvent"
import { type Bootstrapped, type Workspace, WorkspaceStore } from "@model-gateway/server/WorkspaceStore"
import { Effect, FileSystem, Path, Redacted, Result } from "effect"
import * as Announce from "./Announce.ts"
import * as ConsoleAddress from "./ConsoleAddress.ts"
import type * as LoadSettings from "./LoadSettings.ts"
import * as Output from "./Output.ts"
import * as Settings from "./Settings.ts"

/** The name of the file in the data folder. */
export const fileName = "first-keys.env"

/** The URLs of the gateway, without a slash at their end. */
export interface Addresses {
  readonly base: string
  /** As browsers see it. */
  readonly console: string
}

const addressVariable = "MODEL_GATEWAY_BASE_URL"

const fileText = (base: string, { managementKey, ordinaryKey }: Bootstrapped): string =>
  [
    "# The keys of the gateway's first start, as clients on this machine read them from their environment.",
    "# Store them elsewhere and delete this file. The gateway does not read them here.",
    `${addressVariable}=${base}/api/v1`,
    `MODEL_GATEWAY_API_KEY=${Redacted.value(ordinaryKey)}`,
    `MODEL_GATEWAY_MANAGEMENT_KEY=${Redacted.value(managementKey)}`,
    ""
  ].join("\n")

const printedText = (
  base: string,
  { managementKey, ordinaryKey, workspace }: Bootstrapped,
  { initialKeyTier }: LoadSettings.Ready,
  link: string | undefined
): string =>
  [
    Output.fields([
      ["workspace", workspace.id],
      ["management key", Redacted.value(managementKey)],
      ["ordinary key", Redacted.value(ordinaryKey)]
    ]),
    "",
    "Try it:",
    "",
    `  curl ${base}/api/v1/rerank -H "Authorization: Bearer ${Redacted.value(ordinaryKey)}" -H "Content-Type: application/json" ` +
      `-d '{"model":"sandbox/bm25${initialKeyTier === "free" ? ":free" : ""}","query":"capital of France","documents":["Berlin is in Germany","Paris is the capital of France"]}'`,
    "",
    ...(link === undefined
      ? []
      : [
          "Sign in to the console as an admin, once and within the next hour:",
          "",
          `  ${link}`,
          "",
          "Later, model-gateway console link prints another link, or enter the management key.",
          ""
        ])
  ].join("\n")

/** A link to the console for who reads the first keys. Undefined: there is no console. */
const linkFor = Effect.fnUntraced(function* (
  { hasConsole }: LoadSettings.Ready,
  console: string,
  { workspace }: Bootstrapped
) {
  if (!hasConsole) return undefined
  const links = yield* ConsoleLinks
  const { organizationId, id: workspaceId } = workspace
  const { plain } = yield* links.create({
    organizationId,
    workspaceId,
    role: "admin",
    workspaceIds: null,
    lifetime: 3_600_000,
    by: "gateway"
  })
  return ConsoleAddress.ofToken(console, plain)
})

const fileIn = (dataDir: string) => Effect.map(Path.Path, (path) => path.join(dataDir, fileName))

/** Renamed, so that a full disk takes no key away, and no other user can read it meanwhile. */
const save = Effect.fnUntraced(function* (file: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.writeFileString(`${file}.new`, text, { mode: 0o600 })
  yield* fs.rename(`${file}.new`, file)
})

/** Logs a failure to write the file, which does not stop the gateway. */
const notWritten = (text: string) => (error: { readonly message: string }) =>
  LogEvent.log("first_keys_not_written", `${text}: ${error.message}.`)

const createdText = ({ balance }: Workspace): string =>
  `This is the first run. It created a workspace with ${MicroCredits.format(balance)} credits`

const announce = Effect.fnUntraced(function* (
  settings: LoadSettings.Ready,
  { base, console }: Addresses,
  made: Bootstrapped
) {
  const { dataDir, firstKeys } = settings
  const created = `${createdText(made.workspace)} and two keys.`
  const isPrinted = firstKeys === "stdout" || (firstKeys !== "file" && process.stdout.isTTY)
  if (isPrinted) {
    const again = firstKeys === "both" ? "" : " The keys are shown only once:"
    yield* Announce.say(
      "first_run",
      `\n${created}${again}\n\n${printedText(base, made, settings, yield* linkFor(settings, console, made))}`
    )
    if (firstKeys !== "both") return
  }
  const file = yield* fileIn(dataDir)
  yield* save(file, fileText(base, made)).pipe(
    Effect.andThen(
      Announce.say(
        "first_run",
        `${isPrinted ? "The keys" : `${created} They`} are in ${file}, which only its owner can read. Store them elsewhere and delete the file.`
      )
    ),
    Effect.catch(
      notWritten(`The keys of the first run could not be written to ${file}. model-gateway keys create makes others`)
    )
  )
})

/** As long as the file exists, it has the address of the gateway that started last. */
const updateAddress = Effect.fnUntraced(
  function* (dataDir: string, base: string) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fileIn(dataDir)
    if (!(yield* fs.exists(file))) return
    const text = yield* fs.readFileString(file)
    const updated = text.replace(new RegExp(`^${addressVariable}=.*$`, "m"), `${addressVariable}=${base}/api/v1`)
    if (updated !== text) yield* save(file, updated)
  },
  Effect.catch(notWritten(`The address of the gateway could not be written to ${fileName}`))
)

/** Creates the workspace and the keys of a new database, and says so. */
export const create = Effect.fn("FirstKeys.create")(function* (
  loaded: LoadSettings.Loaded,
  settings: LoadSettings.Ready,
  addresses: Addresses
) {
  const { base } = addresses
  const workspaces = yield* WorkspaceStore
  const credits = settings.initialCredits
  const given = settings.bootstrapManagementKey
  if (given === undefined) {
    const made = yield* workspaces.bootstrap({ credits, isFreeTier: settings.initialKeyTier === "free" })
    return yield* made === null ? updateAddress(settings.dataDir, base) : announce(settings, addresses, made)
  }
  const key = Result.getOrThrow(KeyFormat.fromText(given))
  const { state, workspace } = yield* workspaces.bootstrapWith(key, { credits })
  const source = loaded.sourceOf(Settings.declarations.bootstrapManagementKey)
  if (state !== "created") yield* updateAddress(settings.dataDir, base)
  else {
    yield* Announce.say("first_run", `${createdText(workspace)}. Its only key is the management key of ${source}.`)
  }
  if (state === "refused") {
    yield* LogEvent.log(
      "bootstrap_key_refused",
      `The management key of ${source} has no effect: it is not one of the keys that this database accepts, and only a first start creates it.`
    )
  }
})
