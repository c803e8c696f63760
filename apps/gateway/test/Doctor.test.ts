import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { Redacted, Schema } from "effect"
import { chmodSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, it, onTestFinished } from "vitest"
import * as Database from "../src/Database.ts"
import { run } from "./Commands.ts"
import { folder } from "./Executable.ts"
import { query, startServer } from "./PostgresServer.ts"

const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      status: Schema.String,
      findings: Schema.Array(
        Schema.Struct({
          check: Schema.String,
          status: Schema.String,
          message: Schema.String,
          command: Schema.optionalKey(Schema.String)
        })
      )
    })
  )
)

/** The problems by their checks, each with its command. */
const problemsOf = async (dataDir: string, environment: Record<string, string> = {}, ...args: Array<string>) => {
  const { code, stderr, stdout } = await run(["doctor", "--json", "--data-dir", dataDir, ...args], environment)
  expect(stderr).toBe("")
  const { findings, status } = decode(stdout)
  const problems = findings.filter((finding) => finding.status === "problem")
  expect([code, status]).toEqual(problems.length === 0 ? [0, "ok"] : [1, "problem"])
  return Object.fromEntries(problems.map(({ check, command, message }) => [check, `${message} | ${command ?? ""}`]))
}

it("doctor finds no problem with a new gateway, and does not create a missing data folder", async () => {
  const missing = join(folder(), "data")
  expect(await problemsOf(missing)).toEqual({})
  const { stdout: first } = await run(["doctor", "--data-dir", missing])
  expect(first).toContain(
    `\n-        database          There is no database in ${missing}. The first \`serve\` creates it.\n`
  )
  expect(await problemsOf(missing, { MODEL_GATEWAY_MIGRATE: "never" })).toEqual({
    database: `There is no database in ${missing}, and \`serve\` does not create it with --migrate never. Choose its folder with --data-dir, or create it. | model-gateway migrate`
  })
  await problemsOf(missing, { OBJECT_STORE_URL: "s3://bucket?endpoint=http://127.0.0.1:1&region=a" })
  expect(existsSync(missing)).toBe(false)
  await run(["migrate", "--data-dir", missing])
  expect(await problemsOf(missing)).toEqual({})
  const { code, stdout } = await run(["doctor", "--data-dir", missing])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ok +software +Model Gateway \S+ on Node \S+\.\n/)
  expect(stdout).toMatch(/\n\nNo problems\.\n$/)
})

it.runIf(hasPostgres())("doctor finds no problem with an empty Postgres, unless nobody migrates it", async () => {
  const { url } = await startServer()
  const name = Database.nameOf(Redacted.make(url))
  const dataDir = folder()
  const findings = async (environment: Record<string, string>) => {
    const { code, stdout } = await run(["doctor", "--json", "--data-dir", dataDir], {
      DATABASE_URL: url,
      ...environment
    })
    return { code, schema: decode(stdout).findings.find(({ check }) => check === "schema") }
  }
  expect(await findings({})).toEqual({
    code: 0,
    schema: {
      check: "schema",
      status: "skipped",
      message: `${name} has no tables of the gateway. The first \`serve\` creates them.`
    }
  })
  expect(await findings({ MODEL_GATEWAY_MIGRATE: "never" })).toEqual({
    code: 1,
    schema: {
      check: "schema",
      status: "problem",
      message: `${name} has no tables of the gateway, and \`serve\` does not create them with --migrate never.`,
      command: "model-gateway migrate"
    }
  })
  expect(await query(url)("SELECT 1 FROM information_schema.tables WHERE table_schema = 'public'")).toEqual([])
})

it("doctor reports each problem with a sentence and a command, and changes nothing", async () => {
  const dataDir = folder()
  const file = join(dataDir, "gateway.db")
  await run(["migrate", "--data-dir", dataDir])
  const sql = (statement: string) => {
    const database = new DatabaseSync(file)
    database.exec(statement)
    database.close()
  }
  sql(`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0);
    INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
      VALUES ('w', 'o', 'w', 1, 'native', 5, 0, 0, 0);
    INSERT INTO reservations (id, state, key_hash, workspace_id, operation, model, amount_micro, is_byok, day_start, reserved_at)
      VALUES ('r', 'abandoned', 'k', 'w', 'rerank', 'm', 1, 0, 0, 0);
    INSERT INTO webhook_secrets (workspace_id, secrets, updated_at)
      SELECT id, '{"masterKeyId":"0123456789abcdef","dataKey":"a","secret":"b"}', 0 FROM workspaces`)
  mkdirSync(join(dataDir, "files"))
  writeFileSync(join(dataDir, "first-keys.env"), "")
  chmodSync(join(dataDir, "first-keys.env"), 0o644)
  chmodSync(dataDir, 0o755)
  const future = Date.now() / 1000 + 3600
  utimesSync(file, future, future)
  const problems = await problemsOf(dataDir, {
    MODEL_GATEWAY_DISK_RESERVE: "1000000GiB",
    REDIS_URL: "redis://127.0.0.1:1"
  })
  expect(Object.keys(problems).toSorted()).toEqual(
    ["clock", "disk", "files", "ledger", "master_key", "permissions", "redis", "reservations"].toSorted()
  )
  expect(problems["reservations"]).toMatch(/^There is 1 abandoned reservation: .* \| model-gateway reconcile$/)
  expect(problems["master_key"]).toContain("encrypted with the master key 0123456789abcdef")
  expect(problems["clock"]).toContain("the clock of this machine was set back")
  expect(problems["files"]).toContain("Files cannot be stored")

  sql("DELETE FROM schema_migrations WHERE migration_id > 1")
  expect((await problemsOf(dataDir))["schema"]).toMatch(
    /: 0002_failed_requests.* did not run\. \| model-gateway migrate$/
  )
  sql("INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later_needs_9000')")
  expect((await problemsOf(dataDir))["database"]).toContain("A newer version has upgraded the database")
  writeFileSync(file, "no database".repeat(1000))
  rmSync(`${file}-wal`, { force: true })
  expect((await problemsOf(dataDir))["database"]).toContain("cannot be used")

  const { settings } = await problemsOf(dataDir, { MODEL_GATEWAY_PORT: "many" })
  expect(settings).toMatch(/^MODEL_GATEWAY_PORT in the environment .* \| model-gateway settings check$/)
})

it("doctor accepts a volume of Kubernetes, whose group is the gateway's own, and what a file system has", async () => {
  const dataDir = folder()
  await run(["migrate", "--data-dir", dataDir])
  writeFileSync(join(dataDir, "master.key"), "")
  mkdirSync(join(dataDir, "lost+found"), { mode: 0 })
  chmodSync(join(dataDir, "master.key"), 0o660)
  chmodSync(dataDir, 0o2770)
  expect((await problemsOf(dataDir))["permissions"]).toBeUndefined()
  chmodSync(dataDir, 0o2775)
  expect((await problemsOf(dataDir))["permissions"]).toContain("Other users of this machine can open the data folder")
  chmodSync(dataDir, 0o770)
  expect((await problemsOf(dataDir))["permissions"]).toContain("Other users of this machine can")
})

it("doctor --upstreams says which upstream refuses the key of the gateway", async () => {
  const double = await startCohereDouble({ keys: ["co-right"] })
  onTestFinished(() => double.close())
  const dataDir = folder()
  await run(["migrate", "--data-dir", dataDir])
  const environment = (key: string) => ({ COHERE_BASE_URL: double.url, COHERE_API_KEY: key })
  expect(await problemsOf(dataDir, environment("co-wrong"))).toEqual({})
  const { upstreams } = await problemsOf(dataDir, environment("co-wrong"), "--upstreams")
  expect(upstreams).toMatch(/^cohere refuses the key of the gateway: /)
  expect(upstreams).not.toContain("co-wrong")
  expect(await problemsOf(dataDir, environment("co-right"), "--upstreams")).toEqual({})
})
