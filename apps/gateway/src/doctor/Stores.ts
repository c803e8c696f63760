/** Checks of the database, the files, Redis and the stored secrets. They change nothing. */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as Maintenance from "@model-gateway/server/Maintenance"
import { Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as Database from "../Database.ts"
import type { Ready } from "../LoadSettings.ts"
import { type Finding, ok, problem, skipped } from "./Finding.ts"
import * as Machine from "./Machine.ts"

/** Releases of Postgres before this one get no more fixes. */
const oldestPostgres = 14

type Limits = GatewayServerConfig.Settings

const software = (databaseUrl: Ready["databaseUrl"], version: string): Finding => {
  if (databaseUrl === undefined) return ok("database_version", `The database is SQLite ${version}.`)
  return Number.parseInt(version, 10) < oldestPostgres
    ? problem("database_version", `The database is Postgres ${version}, which gets no more fixes. Upgrade it.`)
    : ok("database_version", `The database is Postgres ${version}.`)
}

const schemaFinding = (
  name: string,
  { current, newest, pending }: Maintenance.Schema,
  migrate: Ready["migrate"]
): Finding => {
  if (current === 0) {
    return migrate === "auto"
      ? skipped("schema", `${name} has no tables of the gateway. The first \`serve\` creates them.`)
      : problem(
          "schema",
          `${name} has no tables of the gateway, and \`serve\` does not create them with --migrate never.`,
          "model-gateway migrate"
        )
  }
  if (pending.length > 0) {
    return problem(
      "schema",
      `${name} has schema ${current}, and this version needs schema ${newest}: ${pending.join(", ")} did not run.`,
      "model-gateway migrate"
    )
  }
  return ok(
    "schema",
    `${name} has schema ${current}${current > newest ? ", of a newer version that this one can use" : ""}.`
  )
}

/** What the rows say: damage, balances, what a crash left, secrets. */
const rows = Effect.fnUntraced(function* (
  contents: Maintenance.Contents,
  options: Parameters<typeof Maintenance.contents>[0],
  limits: Limits
) {
  const { abandoned, damages, masterKeyIds, wrongBalances } = contents
  const missing = yield* Maintenance.missingMasterKeys(options, masterKeyIds).pipe(
    Effect.provide(GatewayServerConfig.layer(limits)),
    Effect.result
  )
  const findings: Array<Finding> = [
    damages.length === 0
      ? ok("integrity", "The database is not damaged.")
      : problem(
          "integrity",
          `The database is damaged: ${damages.join("; ")}. Restore a backup.`,
          "model-gateway restore --from <file> --data-dir <empty folder>"
        ),
    wrongBalances.length === 0
      ? ok("ledger", "Every balance is what was added less what was charged.")
      : problem(
          "ledger",
          `The balance of ${wrongBalances.length} ${wrongBalances.length === 1 ? "workspace" : "workspaces"} is not what was added less what was charged: ${wrongBalances.slice(0, 5).join(", ")}. Someone changed the database.`,
          "model-gateway credits show --workspace <id>"
        ),
    abandoned === 0
      ? ok("reservations", "There are no abandoned reservations.")
      : problem(
          "reservations",
          `There ${abandoned === 1 ? "is 1 abandoned reservation" : `are ${abandoned} abandoned reservations`}: a process died, and a provider may have billed the request.`,
          "model-gateway reconcile"
        )
  ]
  if (missing._tag === "Failure") findings.push(problem("master_key", missing.failure.message))
  else if (missing.success.length > 0) {
    findings.push(
      problem(
        "master_key",
        `Stored secrets are encrypted with the master key ${missing.success.join(", ")}, which this gateway does not have. Restore master.key, or set MODEL_GATEWAY_MASTER_KEY or MODEL_GATEWAY_FORMER_MASTER_KEYS.`
      )
    )
  } else {
    findings.push(
      ok("master_key", masterKeyIds.length === 0 ? "No secrets are stored." : "The master key fits all stored secrets.")
    )
  }
  return findings
})

/** Checks of the database. Stops at the first one without which the others make no sense. */
export const database = Effect.fnUntraced(function* (settings: Ready, limits: Limits, now: number) {
  const { databaseConnections, databaseUrl, dataDir, migrate } = settings
  const name = databaseUrl === undefined ? Database.fileIn(dataDir) : Database.nameOf(databaseUrl)
  if (!Database.exists(settings)) {
    const nothing = `There is no database in ${dataDir}`
    return [
      migrate === "auto"
        ? skipped("database", `${nothing}. The first \`serve\` creates it.`)
        : problem(
            "database",
            `${nothing}, and \`serve\` does not create it with --migrate never. Choose its folder with --data-dir, or create it.`,
            "model-gateway migrate"
          )
    ]
  }
  const options = { databaseConnections, databaseUrl, dataDir }
  // Before this check writes.
  const written = Machine.lastWrite(dataDir)
  const schema = yield* Effect.result(Maintenance.schema(options))
  if (schema._tag === "Failure") {
    return [problem("database", `${name} cannot be used: ${schema.failure.message}`)]
  }
  const found = schemaFinding(name, schema.success, migrate)
  // The tables of a migration that did not run cannot be read.
  if (found.status !== "ok") return [ok("database", `${name} answers.`), found]
  const contents = yield* Effect.result(Maintenance.contents(options))
  if (contents._tag === "Failure") {
    return [found, problem("database", `${name} cannot be read: ${contents.failure.message}`)]
  }
  const probe = yield* Effect.result(Maintenance.probeDatabase(options))
  return [
    probe._tag === "Failure"
      ? problem("database", `${name} cannot be written to: ${probe.failure.message}`)
      : ok("database", `${name} answers and can be written to.`),
    software(databaseUrl, contents.success.software),
    found,
    Machine.clock(written, contents.success.now, now),
    ...(yield* rows(contents.success, options, limits))
  ]
})

/** Stores, reads and deletes a small object. */
export const files = Effect.fnUntraced(function* ({ dataDir, objectStoreUrl }: Ready, limits: Limits) {
  const place = objectStoreUrl === undefined ? join(dataDir, "files") : (objectStoreUrl.split("?")[0] ?? "the bucket")
  // The probe would create it: an upload is there first.
  if (!existsSync(dataDir)) {
    return skipped("files", `There is no data folder ${dataDir} yet, so no file was stored in ${place}.`)
  }
  if (objectStoreUrl === undefined && !existsSync(place)) {
    return skipped("files", `There is no folder ${place} yet. The gateway creates it.`)
  }
  const probe = yield* Maintenance.probeObjects({ dataDir, objectStoreUrl }).pipe(
    Effect.provide(GatewayServerConfig.layer(limits)),
    Effect.result
  )
  return probe._tag === "Failure"
    ? problem("files", `Files cannot be stored in ${place}: ${probe.failure.message}`)
    : ok("files", `A file was stored in ${place}, read and deleted.`)
})

/** Connects to Redis and writes. */
export const redis = Effect.fnUntraced(function* ({ redisUrl }: Ready, { redisPrefix }: Limits) {
  if (redisUrl === undefined)
    return skipped("redis", "Rate limits and circuits are counted per process, without Redis.")
  const { hostname, port } = new URL(Redacted.value(redisUrl))
  const address = `${hostname}:${port === "" ? 6379 : port}`
  const reason = yield* Maintenance.redisProblem({ url: redisUrl, prefix: redisPrefix })
  return reason === undefined
    ? ok("redis", `Redis at ${address} answers and can be written to.`)
    : problem(
        "redis",
        `Redis at ${address} cannot count, so each process counts by itself: ${reason}`,
        `redis-cli -h ${hostname} -p ${port === "" ? 6379 : port} ping`
      )
})
