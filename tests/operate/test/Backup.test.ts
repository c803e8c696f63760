/**
 * Backups of the executable: with the real age, killed at any moment, on a full disk, and of a
 * Postgres by its own programs.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Maintenance from "@model-gateway/server/Maintenance"
import { agePrograms } from "@model-gateway/test-services/Age"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { run as runCommand } from "@model-gateway/test-services/Command"
import { executable, start, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { startPostgres } from "@model-gateway/test-services/Postgres"
import { postgresPrograms } from "@model-gateway/test-services/PostgresPrograms"
import { Effect, Redacted } from "effect"
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest"

const exec = promisify(execFile)

/** Runs a command to its end. */
const run = async (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await new Promise<{
    readonly status: number | null
    readonly stdout: string
    readonly stderr: string
  }>((resolve) => {
    const child = spawn(process.execPath, [executable, ...args], {
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
    child.once("close", (status) => resolve({ status, stdout, stderr }))
  })
  return { status, text: stdout + stderr }
}

/** Runs a command and kills it as soon as something is true, which must be before it ends. */
const killWhen = async (isTrue: () => boolean, ...args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [executable, ...args], { env: childEnvironment(), stdio: "ignore" })
  const closed = once(child, "close")
  while (!isTrue()) {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode} before it could be killed`)
    await sleep(5)
  }
  child.kill("SIGKILL")
  await closed
}

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "backup-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A data folder with an empty database, a small file and one of 20 MB. */
const dataDir = mkdtempSync(join(tmpdir(), "backup-data-"))
const small = join("files", "files", "aa", "file_aa")
const large = join("files", "files", "bb", "file_bb")

beforeAll(async () => {
  expect(await run("migrate", "--data-dir", dataDir)).toMatchObject({ status: 0 })
  for (const name of [small, large]) {
    mkdirSync(dirname(join(dataDir, name)), { recursive: true })
    writeFileSync(join(dataDir, name), `content of ${name}`)
  }
  truncateSync(join(dataDir, large), 20_000_000)
})

afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const age = agePrograms()

it.skipIf(age === undefined)("age decrypts what backup encrypts, and restore reads what age encrypts", async () => {
  if (age === undefined) return
  const folder = newFolder()
  const identity = join(folder, "identity.txt")
  await exec(age.keygen, ["-o", identity])
  const [, recipient = ""] = /public key: (age1\w+)/.exec(readFileSync(identity, "utf8")) ?? []
  const [file, tar, again] = [join(folder, "b.tar.age"), join(folder, "b.tar"), join(folder, "again.age")]
  expect(await run("backup", "--to", file, "--recipient", recipient, "--data-dir", dataDir)).toMatchObject({
    status: 0
  })
  await exec(age.age, ["--decrypt", "--identity", identity, "--output", tar, file])
  const { stdout } = await exec("tar", ["--list", "--file", tar])
  expect(stdout.trim().split("\n").toSorted()).toEqual(
    ["end.json", small, large, "gateway.db", "manifest.json"].toSorted()
  )
  await exec("tar", ["--extract", "--file", tar, "--directory", folder, small])
  expect(readFileSync(join(folder, small), "utf8")).toBe(`content of ${small}`)

  await exec(age.age, ["--encrypt", "--recipient", recipient, "--output", again, tar])
  const restored = join(folder, "restored")
  const { status, text } = await run("restore", "--from", again, "--identity-file", identity, "--data-dir", restored)
  expect(text).toContain("the sums of all ledgers are those of the backup")
  expect(status).toBe(0)
  expect(readFileSync(join(restored, small), "utf8")).toBe(`content of ${small}`)
})

it("a passphrase encrypts, and another one is refused with a sentence", async () => {
  const folder = newFolder()
  const [right, wrong, file] = [join(folder, "right"), join(folder, "wrong"), join(folder, "b.tar.age")]
  writeFileSync(right, "correct horse battery staple\nsecond line\n")
  writeFileSync(wrong, "correct horse\n")
  expect(await run("backup", "--to", file, "--passphrase-file", right, "--data-dir", dataDir)).toMatchObject({
    status: 0
  })
  const target = join(folder, "restored")
  const restore = ["restore", "--from", file, "--data-dir", target, "--passphrase-file"] as const
  expect(await run(...restore, wrong)).toEqual({
    status: 1,
    text: `The passphrase is not the one that ${file} was encrypted with.\n`
  })
  expect(existsSync(target)).toBe(false)
  expect(await run(...restore, right)).toMatchObject({ status: 0 })
  expect(existsSync(join(target, "gateway.db"))).toBe(true)
})

it("a killed backup leaves no file under its name, a killed restore no database, and the next ones clean up", async () => {
  const folder = newFolder()
  const file = join(folder, "b.tar")
  // It takes a while to read.
  truncateSync(join(dataDir, large), 200_000_000)
  onTestFinished(() => truncateSync(join(dataDir, large), 20_000_000))
  const isPartial = (name: string) => name.endsWith(".partial")
  await killWhen(() => readdirSync(folder).some(isPartial), "backup", "--to", file, "--data-dir", dataDir)
  expect(existsSync(file)).toBe(false)
  expect(readdirSync(folder).filter(isPartial)).toHaveLength(1)
  expect(await run("backup", "--to", file, "--data-dir", dataDir)).toMatchObject({ status: 0 })
  expect(readdirSync(folder)).toEqual(["b.tar"])

  const target = join(folder, "restored")
  const restore = ["restore", "--from", file, "--data-dir", target] as const
  const isUnpacking = () =>
    existsSync(join(target, ".restoring")) &&
    readdirSync(join(target, ".restoring"), { recursive: true, encoding: "utf8" }).some((name) =>
      name.endsWith("file_bb")
    )
  await killWhen(isUnpacking, ...restore)
  expect(readdirSync(target)).toEqual([".restoring"])
  expect(await run(...restore)).toMatchObject({ status: 0 })
  expect(readdirSync(target).toSorted()).toEqual(["files", "gateway.db"])
})

it("a full disk ends a backup and a restore with a sentence, and leaves nothing", async ({ skip }) => {
  const folder = newFolder()
  const disk = join(folder, "disk")
  mkdirSync(disk)
  // Needs root, and a container that allows it.
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=8m", "none", disk]).status !== 0) skip()
  onTestFinished(() => void spawnSync("umount", [disk]))
  const full = await run("backup", "--to", join(disk, "b.tar"), "--data-dir", dataDir)
  expect(full.status).toBe(1)
  expect(full.text).toContain("because the disk is full")
  expect(readdirSync(disk)).toEqual([])

  const file = join(folder, "b.tar")
  expect(await run("backup", "--to", file, "--data-dir", dataDir)).toMatchObject({ status: 0 })
  const target = join(disk, "restored")
  const restored = await run("restore", "--from", file, "--data-dir", target)
  expect(restored.status).toBe(1)
  expect(restored.text).toContain("because the disk is full")
  expect(existsSync(target)).toBe(false)
})

/** The blocks of commands below the heading of Postgres on the page: to back up, and to restore. */
const commandsOfPostgres = (): ReadonlyArray<string> => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/operate/backup.md"), "utf8")
  const [, section = ""] = /^## Postgres$([^]*?)^## /m.exec(page) ?? []
  return Array.from(section.matchAll(/^```bash\n([^]*?)^```$/gm), ([, block = ""]) => block)
}

const contentsOf = (databaseUrl: string) =>
  Effect.runPromise(
    Maintenance.contents({ dataDir: newFolder(), databaseUrl: Redacted.make(databaseUrl) }).pipe(
      Effect.provide(NodeServices.layer)
    )
  )

const programs = postgresPrograms()

it.skipIf(programs === undefined || age === undefined)(
  "the commands of the page back up a Postgres and its files under load, and restore them on another server",
  async () => {
    if (programs === undefined || age === undefined) return
    const folder = newFolder()
    const server = async () => {
      const postgres = await startPostgres({ programs })
      onTestFinished(postgres.remove)
      return postgres.url
    }
    const [from, to, end] = [await server(), await server(), await server()]
    const bin = join(folder, "bin")
    mkdirSync(bin)
    writeFileSync(join(bin, "model-gateway"), `#!/bin/sh\nexec "${process.execPath}" "${executable}" "$@"\n`, {
      mode: 0o755
    })
    const PATH = [bin, join(programs, "bin"), process.env["PATH"]].join(delimiter)
    await exec(age.keygen, ["-o", join(folder, "identity.txt")])
    const identity = readFileSync(join(folder, "identity.txt"), "utf8")
    const [, recipient = ""] = /public key: (age1\w+)/.exec(identity) ?? []
    const [backUp = "", restore = ""] = commandsOfPostgres().map((block) => block.replaceAll("age1…", recipient))
    expect([backUp, restore]).toEqual([
      expect.stringMatching(/pg_dump[^]*model-gateway backup/),
      expect.stringMatching(/pg_restore[^]*model-gateway restore/)
    ])
    /** Runs commands as an operator with these settings types them. */
    const shell = async (commands: string, databaseUrl: string, dataDir: string) => {
      const env = { ...childEnvironment(), PATH, DATABASE_URL: databaseUrl, MODEL_GATEWAY_DATA_DIR: dataDir }
      const ended = await runCommand("sh", ["-ec", commands], { cwd: folder, env: { ...env, NODE_COMPILE_CACHE: "" } })
      expect([ended.code, ended.code === 0 ? "" : ended.stderr]).toEqual([0, ""])
      return ended.stdout
    }

    // A gateway with keys, a stored secret, a file, and paid requests all the time.
    const here = join(folder, "here")
    mkdirSync(here)
    const serve = (databaseUrl: string, dataDir: string) =>
      startGateway(dataDir, { DATABASE_URL: databaseUrl, MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "1000000" })
    const gateway = await serve(from, here)
    onTestFinished(gateway.stop)
    const { key, managementKey } = gateway
    const call = async (origin: string, path: string, init: RequestInit = {}, as = key) => {
      const headers = new Headers(init.headers)
      headers.set("authorization", `Bearer ${as}`)
      headers.set("connection", "close")
      const response = await fetch(`${origin}/api/v1${path}`, { ...init, headers })
      const body = await response.text()
      expect([path, response.ok, response.ok ? "" : body]).toEqual([path, true, ""])
      return body
    }
    const post = (body: object): RequestInit => ({
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    const rerank = (origin: string) =>
      call(origin, "/rerank", post({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }))
    const form = new FormData()
    form.append("file", new File(["the content of a file"], "a.txt", { type: "text/plain" }))
    const uploaded: unknown = JSON.parse(await call(gateway.origin, "/files", { method: "POST", body: form }))
    const content = `/files/${String(Reflect.get(Object(uploaded), "id"))}/content`
    await call(gateway.origin, "/byok", post({ name: "own", provider: "cohere", key: "a-secret" }), managementKey)
    let isOver = false
    let paid = 0
    const client = async () => {
      for (; !isOver; paid++) await rerank(gateway.origin)
    }
    const clients = Array.from({ length: 8 }, client)
    const over = async () => {
      isOver = true
      await Promise.all(clients)
    }
    onTestFinished(over)
    await expect.poll(() => paid, { timeout: 60_000 }).toBeGreaterThan(50)

    // Under load.
    const before = paid
    await shell(backUp, from, here)
    expect(paid).toBeGreaterThan(before)
    const there = join(folder, "there")
    await shell(restore, to, there)
    const restored = await contentsOf(to)
    expect(restored).toMatchObject({ damages: [], wrongBalances: [] })
    expect(Number(restored.sums["usage_ledger.rows"])).toBeGreaterThanOrEqual(before)

    // At rest, every sum is the same.
    await over()
    gateway.signal("SIGTERM")
    expect(await gateway.ended).toBe(0)
    rmSync(join(folder, "gateway.dump"))
    rmSync(join(folder, "gateway-files.tar.age"))
    await shell(backUp, from, here)
    const last = join(folder, "last")
    await shell(restore, end, last)
    const expected = await contentsOf(from)
    expect({ ...(await contentsOf(end)), now: 0 }).toEqual({ ...expected, now: 0 })
    expect(expected.sums).toMatchObject({ "usage_ledger.rows": String(paid), "reservations.rows": "0" })

    expect(await shell("model-gateway doctor", end, last)).toContain("No problems.")
    // It would end with status 3 if there were an abandoned reservation.
    await shell("model-gateway reconcile", end, last)

    // A gateway there serves the keys and the file, and charges.
    for (const [databaseUrl, dataDir] of [
      [to, there],
      [end, last]
    ] as const) {
      const rows = Number((await contentsOf(databaseUrl)).sums["usage_ledger.rows"])
      const again = start(process.execPath, [executable, "serve", "--port", "0", "--data-dir", dataDir], {
        cwd: folder,
        env: { DATABASE_URL: databaseUrl }
      })
      onTestFinished(again.stop)
      const [, origin = ""] = await again.prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/api\/v1/)
      await rerank(origin)
      expect(await call(origin, content)).toBe("the content of a file")
      const served = await contentsOf(databaseUrl)
      expect(Number(served.sums["usage_ledger.rows"])).toBeGreaterThan(rows)
      expect(served.wrongBalances).toEqual([])
    }
  }
)
