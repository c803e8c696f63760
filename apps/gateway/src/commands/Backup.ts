/** `model-gateway backup` and `model-gateway restore`: a copy of the data in one file. */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Console, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { constants, existsSync, readFileSync } from "node:fs"
import { copyFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import type * as Archive from "../backup/Archive.ts"
import * as DiskError from "../backup/DiskError.ts"
import * as Manifest from "../backup/Manifest.ts"
import * as Database from "../Database.ts"
import { Failure } from "../Failure.ts"
import * as LoadSettings from "../LoadSettings.ts"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"

const file = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar("file"), Flag.withDescription(description), Flag.optional)

const passphraseFile = file(
  "passphrase-file",
  "File whose first line is the passphrase, such as /dev/stdin. The backup is in the format of age, which age can decrypt, too. Default: none"
)

const readText = (name: string, path: string) =>
  Effect.try({
    try: () => readFileSync(path, "utf8"),
    catch: (cause) => DiskError.toFailure(`The file of --${name} could not be read`, cause)
  })

/** Lines without comments. */
const lines = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))

const passphraseOf = Effect.fnUntraced(function* (path: Option.Option<string>) {
  if (Option.isNone(path)) return undefined
  const text = (yield* readText("passphrase-file", path.value)).split(/\r?\n/)[0] ?? ""
  if (text === "") return yield* new Failure({ message: "The first line of the file of --passphrase-file is empty." })
  return Redacted.make(text)
})

const both = (one: string, other: string) => new Failure({ message: `Give --${one} or --${other}, not both.` })

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

const counted = (files: number): string => `${files} ${files === 1 ? "file" : "files"}`

const postgres = (
  url: Redacted.Redacted
) => `The database, ${Database.nameOf(url)}, is not in it. Copy it with pg_dump, before the files:

  pg_dump --format custom --file gateway.dump "$DATABASE_URL"`

const backup = Command.make(
  "backup",
  {
    to: Flag.String("to").pipe(Flag.withMetavar("file"), Flag.withDescription("The file to write. It must not exist")),
    recipient: Flag.String("recipient").pipe(
      Flag.withMetavar("age1…"),
      Flag.withDescription("Encrypt for this recipient of age. Repeat the flag for several. Default: none"),
      Flag.between(0, 100),
      // Without it, the help says that the flag is required.
      Flag.withDefault<ReadonlyArray<string>>([])
    ),
    passphraseFile,
    includeMasterKey: Flag.Boolean("include-master-key").pipe(
      Flag.withDescription(
        "Write a created master key into the backup, too. Whoever can read the backup then has all stored secrets"
      ),
      Flag.withDefault(false)
    ),
    masterKeyTo: file("master-key-to", "Copy a created master key to this file, which must not exist. Default: none"),
    ...Storage.flags
  },
  Effect.fn("backup")(function* (input) {
    const loaded = yield* LoadSettings.load(input.settings, input.config)
    const { databaseUrl, dataDir, objectStoreUrl } = yield* LoadSettings.read(loaded)
    const { diskReserve } = yield* loaded.read(GatewayServerConfig.config)
    yield* Database.required({ databaseUrl, dataDir })
    if (databaseUrl !== undefined && objectStoreUrl !== undefined) {
      return yield* new Failure({
        message:
          `The data folder has nothing to back up: the database is ${Database.nameOf(databaseUrl)}, and the files are in a bucket. ` +
          'Copy the database with pg_dump --format custom --file gateway.dump "$DATABASE_URL", then the bucket with the tools of its service.'
      })
    }
    const passphrase = yield* passphraseOf(input.passphraseFile)
    if (passphrase !== undefined && input.recipient.length > 0) return yield* both("passphrase-file", "recipient")
    const lock: Archive.Lock | undefined =
      passphrase === undefined && input.recipient.length === 0 ? undefined : { passphrase, recipients: input.recipient }
    const to = resolve(input.to)
    const masterKey = join(dataDir, Manifest.names.masterKey)
    const hasMasterKey = databaseUrl === undefined && existsSync(masterKey)
    const masterKeyTo = Option.map(input.masterKeyTo, (path) => resolve(path))
    const { take } = yield* Effect.promise(() => import("../backup/TakeBackup.ts"))
    const taken = yield* take({
      databaseUrl,
      dataDir,
      objectStoreUrl,
      to,
      lock,
      diskReserve,
      withMasterKey: hasMasterKey && input.includeMasterKey
    })
    if (hasMasterKey && Option.isSome(masterKeyTo)) {
      yield* Effect.tryPromise({
        try: () => copyFile(masterKey, masterKeyTo.value, constants.COPYFILE_EXCL),
        catch: (cause) =>
          DiskError.toFailure(`The backup ${to} was written, but the master key could not be copied`, cause)
      })
    }
    const { bytes, end, manifest } = taken
    const masterKeyIs = !hasMasterKey
      ? "none"
      : input.includeMasterKey
        ? "included"
        : Option.isSome(masterKeyTo)
          ? "copied"
          : "apart"
    if (input.json) {
      return yield* Output.json({
        file: to,
        bytes,
        is_encrypted: lock !== undefined,
        master_key: masterKeyIs,
        files: end.files,
        ...manifest.database
      })
    }
    const keySentence = {
      none: "The gateway has created no master key. If one is in its settings, keep a copy of it elsewhere.",
      included: "The master key is in the backup.",
      copied: `The master key is not in it, but in ${Option.getOrElse(masterKeyTo, () => "")}. Keep it apart from the backup.`,
      apart: `The master key is not in it. Keep a copy of ${masterKey} elsewhere: without it, stored secrets are lost.`
    }
    yield* Console.log(
      [
        `Wrote ${to}: ${megabytes(bytes)}, ${lock === undefined ? "not encrypted" : "encrypted"}, with ${
          manifest.database.kind === "sqlite" ? `the database of schema ${manifest.database.schema} and ` : ""
        }${manifest.files === "folder" ? counted(end.files) : "no files: they are in the bucket"}.`,
        databaseUrl === undefined ? keySentence[masterKeyIs] : postgres(databaseUrl)
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription(
    "Write the database, the files and the catalog of the data folder to one file, a tar, also while the gateway runs. With a passphrase or a recipient it is encrypted in the format of age. " +
      "The master key is not part of it. With Postgres, it contains the files only"
  ),
  Command.withShortDescription("Write the data to one file, also while the gateway runs"),
  Command.withExamples([
    {
      command: "model-gateway backup --to gateway.tar.age --recipient age1…",
      description: "For the owner of a key of age"
    },
    {
      command: "model-gateway backup --to gateway.tar.age --passphrase-file pass.txt",
      description: "With a passphrase"
    }
  ])
)

const restoreCommand = Command.make(
  "restore",
  {
    from: Flag.String("from").pipe(Flag.withMetavar("file"), Flag.withDescription("The file that backup wrote")),
    identityFile: file("identity-file", "File with identities of age, as age-keygen writes it. Default: none"),
    passphraseFile,
    masterKeyFrom: file(
      "master-key-from",
      "File with the master key, to restore it along. Default: that of the backup, if it has one"
    ),
    ...Storage.flags
  },
  Effect.fn("restore")(function* (input) {
    const loaded = yield* LoadSettings.load(input.settings, input.config)
    const { databaseUrl, dataDir } = yield* LoadSettings.read(loaded)
    const { byok } = yield* loaded.read(GatewayServerConfig.config)
    const passphrase = yield* passphraseOf(input.passphraseFile)
    if (passphrase !== undefined && Option.isSome(input.identityFile)) {
      return yield* both("passphrase-file", "identity-file")
    }
    const identities = Option.isNone(input.identityFile)
      ? []
      : lines(yield* readText("identity-file", input.identityFile.value)).map((line) => Redacted.make(line))
    if (Option.isSome(input.identityFile) && identities.length === 0) {
      return yield* new Failure({ message: "The file of --identity-file has no identity." })
    }
    const keys: Archive.Keys | undefined =
      passphrase === undefined && identities.length === 0 ? undefined : { passphrase, identities }
    const masterKey = Option.isNone(input.masterKeyFrom)
      ? undefined
      : yield* readText("master-key-from", input.masterKeyFrom.value)
    const [Maintenance, { restore }] = yield* Effect.promise(() =>
      Promise.all([import("@model-gateway/server/Maintenance"), import("../backup/RestoreBackup.ts")])
    )
    const { end, manifest, masterKeyId } = yield* restore({ from: resolve(input.from), keys, dataDir, masterKey })
    const { database } = manifest
    const needed = database.kind === "sqlite" ? database.master_keys : []
    const ofSettings = [byok.masterKey, byok.formerMasterKeys].flatMap((secret) =>
      secret === undefined ? [] : Redacted.value(secret).split(",")
    )
    const had = [masterKeyId, ...ofSettings.map(Maintenance.masterKeyId)]
    const missing = needed.filter((id) => !had.includes(id))
    const hasKey = missing.length === 0
    if (input.json) {
      return yield* Output.json({
        folder: dataDir,
        created_at: manifest.created_at,
        version: manifest.version,
        files: end.files,
        has_master_key: hasKey,
        ...database
      })
    }
    yield* Console.log(
      [
        `Restored ${dataDir} to the state of ${manifest.created_at}: ${
          database.kind === "sqlite" ? `the database of schema ${database.schema} and ` : ""
        }${manifest.files === "folder" ? counted(end.files) : "no files: they are in the bucket"}. All checksums ${
          database.kind === "sqlite" ? "and the sums of all ledgers " : ""
        }are those of the backup.`,
        ...(hasKey
          ? []
          : [
              masterKeyId === undefined
                ? `Stored secrets need the master key ${missing.join(", ")}. Copy it to ${join(dataDir, Manifest.names.masterKey)}, or set MODEL_GATEWAY_MASTER_KEY.`
                : `Stored secrets need the master key ${missing.join(", ")}, and the one that was restored is ${masterKeyId}. Set MODEL_GATEWAY_MASTER_KEY or MODEL_GATEWAY_FORMER_MASTER_KEYS.`
            ]),
        ...(database.kind === "postgres"
          ? [
              `The database is not part of it. Restore it with pg_restore --dbname ${databaseUrl === undefined ? "<url>" : '"$DATABASE_URL"'} gateway.dump.`
            ]
          : []),
        "Never let the gateway that the backup is of run on beside the restored one."
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription(
    "Restore a backup into an empty data folder. It checks everything that it restores: checksums, the database, and the sums of all ledgers. A failure leaves the folder empty"
  ),
  Command.withShortDescription("Restore a backup into an empty folder"),
  Command.withExamples([
    {
      command: "model-gateway restore --from gateway.tar.age --identity-file key.txt --data-dir data",
      description: "On another machine"
    }
  ])
)

/** The `backup` command. */
export const command = backup

/** The `restore` command. */
export const restore = restoreCommand
