import * as Maintenance from "@model-gateway/server/Maintenance"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Schema } from "effect"
import { packTar } from "modern-tar"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { run } from "./Commands.ts"
import { type AtEnd, folder, serve, type Served, shared } from "./Executable.ts"
import { inParallel, send } from "./Fleet.ts"

const callersKey = "co-of-a-caller"

const decodeId = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

const contents = (dataDir: string) =>
  Effect.runPromise(Effect.provide(Maintenance.contents({ dataDir }), NodeServices.layer))

const keysOf = async (gateway: Served) => {
  const [, ordinary = ""] = await gateway.prints(/ordinary key +(mg_sk_\w{38})/)
  const [, management = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  return { ordinary, management }
}

const rerank = (model: string) => ({ model, query: "tea", documents: ["green tea", "coffee"] })

const upload = async (gateway: Served, key: string, text: string) => {
  const form = new FormData()
  form.set("purpose", "user_data")
  form.set("file", new File([text], "notes.txt"))
  const headers = { authorization: `Bearer ${key}`, connection: "close" }
  const response = await fetch(`${gateway.origin}/api/v1/files`, { method: "POST", headers, body: form })
  return decodeId(await response.text()).id
}

/** A gateway with a stored provider key and a file, and a backup of it taken under load. */
const taken = async (atEnd: AtEnd) => {
  const double = await startCohereDouble({ keys: [callersKey] })
  atEnd(() => double.close())
  const environment = { COHERE_BASE_URL: double.url, COHERE_API_KEY: "co-of-the-gateway" }
  const dataDir = folder(atEnd)
  const gateway = await serve(dataDir, ["--initial-credits", "1000"], environment, { atEnd })
  const keys = await keysOf(gateway)
  await send(gateway, "/api/v1/byok", { key: keys.management, body: { provider: "cohere", key: callersKey } })
  const text = "kept ".repeat(100_000)
  const id = await upload(gateway, keys.ordinary, text)

  const identity = await generateX25519Identity()
  const place = folder(atEnd)
  const file = join(place, "gateway.tar.age")
  const identityFile = join(place, "identity.txt")
  writeFileSync(identityFile, `# a comment\n${identity}\n`)
  let isTaken = false
  const statuses: Array<number | undefined> = []
  const load = inParallel(10_000, 8, async () => {
    if (isTaken) return
    const answer = await send(gateway, "/api/v1/rerank", { key: keys.ordinary, body: rerank("sandbox/bm25") })
    statuses.push(answer?.status)
  })
  const to = ["--to", file, "--recipient", await identityToRecipient(identity)]
  const command = await run(["backup", ...to, "--data-dir", dataDir, "--json"])
  isTaken = true
  await load
  return { command, dataDir, environment, file, gateway, id, identityFile, keys, place, statuses, text }
}

const source = shared(taken)

/** Restores into a new folder. */
const restore = async (from: string, ...args: ReadonlyArray<string>) => {
  const dataDir = join(folder(), "data")
  const { code, stderr, stdout } = await run(["restore", "--from", from, "--data-dir", dataDir, ...args])
  return { code, dataDir, text: stdout + stderr, left: existsSync(dataDir) ? readdirSync(dataDir) : undefined }
}

it("a backup taken under load is restored on another machine with all ledgers, files, keys and secrets", async () => {
  const { command, dataDir, environment, file, id, identityFile, keys, place, statuses, text } = source()
  expect(command).toMatchObject({ code: 0, stderr: "" })
  expect(statuses.length).toBeGreaterThan(20)
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(place).toSorted()).toEqual(["gateway.tar.age", "identity.txt"])
  expect(readdirSync(join(dataDir, "backups"))).toEqual([])
  // Neither the key that encrypts the secrets nor a caller's key is in it.
  expect(readFileSync(file).includes(text.slice(0, 100))).toBe(false)

  const masterKey = join(dataDir, "master.key")
  const restored = await restore(file, "--identity-file", identityFile, "--master-key-from", masterKey)
  expect(restored.text).toContain("All checksums and the sums of all ledgers are those of the backup.")
  expect(restored.left?.toSorted()).toEqual(["files", "gateway.db", "master.key"])
  const [before, after] = [await contents(dataDir), await contents(restored.dataDir)]
  const { sums } = Schema.decodeUnknownSync(
    Schema.fromJsonString(Schema.Struct({ sums: Schema.Record(Schema.String, Schema.String) }))
  )(command.stdout)
  expect(after.sums).toEqual(sums)
  expect(Number(sums["usage_ledger.rows"])).toBeGreaterThan(0)
  // The load went on after the copy.
  expect(Number(before.sums["usage_ledger.rows"])).toBeGreaterThan(Number(sums["usage_ledger.rows"]))
  expect(after).toMatchObject({ damages: [], wrongBalances: [], masterKeyIds: before.masterKeyIds })

  const other = await serve(restored.dataDir, [], environment)
  const content = await send(other, `/api/v1/files/${id}/content`, { key: keys.ordinary })
  expect([content?.status, content?.body === text]).toEqual([200, true])
  const balance = await send(other, "/api/v1/credits", { key: keys.management })
  expect(balance?.status).toBe(200)
  // Only the caller's key, which the restored gateway has to decrypt, is accepted upstream.
  const answer = await send(other, "/api/v1/rerank", { key: keys.ordinary, body: rerank("cohere/rerank-v3.5") })
  expect(answer?.status).toBe(200)
})

it("what cannot be restored is refused with a sentence, and leaves nothing", async () => {
  const { dataDir, file, identityFile } = source()
  const place = folder()
  const identity = ["--identity-file", identityFile]
  const refusal = async (from: string, ...args: ReadonlyArray<string>) => {
    const { code, left, text } = await restore(from, ...args)
    expect([code, left]).toEqual([1, undefined])
    return text
  }
  const whole = readFileSync(file)
  const changed = (name: string, bytes: Uint8Array) => {
    writeFileSync(join(place, name), bytes)
    return join(place, name)
  }
  const flipped = Buffer.from(whole)
  flipped.writeUInt8(flipped.readUInt8(flipped.length >> 1) ^ 1, flipped.length >> 1)
  const damaged = /is damaged, is not complete, or was changed\. Nothing was restored\.\n$/
  expect(await refusal(changed("flipped", flipped), ...identity)).toMatch(damaged)
  expect(await refusal(changed("short", whole.subarray(0, -1)), ...identity)).toMatch(damaged)
  expect(await refusal(changed("shorter", whole.subarray(0, whole.length >> 1)), ...identity)).toMatch(damaged)
  expect(await refusal(file)).toContain("is encrypted. Give --passphrase-file or --identity-file.")
  const other = changed("other", Buffer.from(`${await generateX25519Identity()}\n`))
  expect(await refusal(file, "--identity-file", other)).toContain("None of the identities can decrypt")
  expect(await refusal(identityFile)).toContain("is not a backup of Model Gateway")
  expect(await refusal(join(place, "nowhere"))).toContain("There is no file")

  // An archive that was not encrypted, and that someone else has written.
  const plain = join(place, "plain.tar")
  expect((await run(["backup", "--to", plain, "--data-dir", dataDir])).stdout).toContain("not encrypted")
  expect((await restore(plain)).code).toBe(0)
  expect(await refusal(plain, ...identity)).toContain("is not encrypted, although")
  const tar = readFileSync(plain)
  const inFile = tar.indexOf("kept kept")
  expect(inFile).toBeGreaterThan(0)
  expect(await refusal(changed("edited", Buffer.from(tar).fill("kepT", inFile, inFile + 4)))).toMatch(damaged)
  expect(await refusal(changed("cut", tar.subarray(0, inFile + 4)))).toMatch(damaged)
  const manifest = /^\{\n {2}"format": 1[^]*?\n\}\n/.exec(tar.toString("latin1", 512, 4096))?.[0] ?? ""
  const archive = async (first: string, name: string) =>
    changed(
      "written",
      await packTar([
        { header: { name: "manifest.json", size: first.length, type: "file" }, body: first },
        { header: { name, size: 4, type: "file" }, body: "evil" }
      ])
    )
  for (const name of ["../evil", "/tmp/evil", "files/../../evil", "files/files/ab/../../../../evil"]) {
    expect(await refusal(await archive(manifest, name))).toContain("which no backup of Model Gateway contains")
  }
  const newer = manifest.replace('"format": 1', '"format": 2').replace(/"version": "[^"]*"/, '"version": "9.1.0"')
  expect(await refusal(await archive(newer, "new"))).toContain("was written by Model Gateway 9.1.0, in a format")
})

it("a backup or restore where something is already, or without a disk, says so", async () => {
  const { dataDir, file, identityFile } = source()
  const identity = ["--identity-file", identityFile]
  const onto = async (folder: string) => run(["restore", "--from", file, ...identity, "--data-dir", folder])
  expect((await onto(dataDir)).stderr).toContain("A gateway is running in")
  const used = folder()
  writeFileSync(join(used, "notes"), "")
  expect((await onto(used)).stderr).toContain("is not empty")
  expect(readdirSync(used)).toEqual(["notes"])

  // A killed restore leaves its folder, and what it has moved.
  rmSync(join(used, "notes"))
  mkdirSync(join(used, ".restoring", "dead"), { recursive: true })
  writeFileSync(join(used, ".restoring", "dead", "lock"), "")
  mkdirSync(join(used, ".restoring", "new-dead"))
  utimesSync(join(used, ".restoring", "new-dead"), 0, 0)
  mkdirSync(join(used, "files", "files"), { recursive: true })
  expect(await onto(used)).toMatchObject({ code: 0 })
  expect(readdirSync(used).toSorted()).toEqual(["files", "gateway.db"])

  // A killed backup leaves its folder, and beside its target what it has written.
  const partial = join(folder(), "gateway.tar.1.partial")
  writeFileSync(partial, "half of it")
  mkdirSync(join(dataDir, "backups", "dead"))
  writeFileSync(join(dataDir, "backups", "dead", "partial"), partial)
  const again = await run(["backup", "--to", file, "--data-dir", dataDir])
  expect([again.code, again.stderr]).toEqual([
    1,
    `${file} exists already. Choose another name: a backup replaces no file.\n`
  ])
  expect((await run(["backup", "--to", join(folder(), "b.tar"), "--data-dir", dataDir])).code).toBe(0)
  expect([existsSync(partial), readdirSync(join(dataDir, "backups"))]).toEqual([false, []])
  const full = await run(["backup", "--to", join(folder(), "b.tar"), "--data-dir", dataDir], {
    MODEL_GATEWAY_DISK_RESERVE: "1000000GiB"
  })
  expect(full.stderr).toContain("are reserved for the service")
  const nowhere = join(folder(), "data")
  const postgres = await run(["backup", "--to", join(folder(), "b.tar"), "--data-dir", nowhere], {
    DATABASE_URL: "postgres://127.0.0.1:1/gateway"
  })
  expect([postgres.code, postgres.stderr]).toEqual([
    1,
    `There is no data folder ${nowhere}. Choose it with --data-dir.\n`
  ])
  const none = await run(["backup", "--to", join(folder(), "b.tar"), "--data-dir", folder()])
  expect(none.stderr).toContain("There is no database in")
})

it("a backup follows links to folders, and every entry of it is checked", async () => {
  const { dataDir } = source()
  const masterKey = join(dataDir, "master.key")
  const key = readFileSync(masterKey, "utf8")
  const take = async (name: string) => {
    const to = join(folder(), name)
    const args = ["backup", "--to", to, "--data-dir", dataDir, "--include-master-key", "--json"]
    expect(await run(args)).toMatchObject({ code: 0 })
    return to
  }
  const elsewhere = folder()
  mkdirSync(join(elsewhere, "ab"))
  writeFileSync(join(elsewhere, "ab", "abc"), "linked")
  symlinkSync(elsewhere, join(dataDir, "files", "linked"))
  const plain = await take("plain.tar")
  rmSync(join(dataDir, "files", "linked"))
  const restored = await restore(plain)
  expect(restored.code).toBe(0)
  expect(readFileSync(join(restored.dataDir, "files", "linked", "ab", "abc"), "utf8")).toBe("linked")
  expect(readFileSync(join(restored.dataDir, "master.key"), "utf8")).toBe(key)

  const tar = readFileSync(plain)
  const at = tar.indexOf(key)
  tar.writeUInt8(tar.readUInt8(at) ^ 1, at)
  const edited = join(folder(), "edited.tar")
  writeFileSync(edited, tar)
  expect((await restore(edited)).text).toContain("is damaged, is not complete, or was changed")

  // A key that encrypted nothing.
  writeFileSync(masterKey, `${Buffer.alloc(32, 1).toString("base64")}\n`)
  const foreign = await take("foreign.tar")
  writeFileSync(masterKey, key)
  const other = Maintenance.masterKeyId(Buffer.alloc(32, 1).toString("base64"))
  expect((await restore(foreign)).text).toContain(
    `Stored secrets need the master key ${Maintenance.masterKeyId(key)}, and the one that was restored is ${other}.`
  )
})
