/**
 * What an operator does in a year, in one go, with the packed executable: install, load, lose a
 * provider, fill the disk, rotate keys, back up, upgrade, restore on another machine, and find the
 * failed request of a caller. Each step prints what the operator sees.
 *
 * The clock of the first gateway is an hour behind, so its requests are an hour old for the later
 * ones.
 */
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { run } from "@model-gateway/test-services/Command"
import { clockBehind } from "@model-gateway/test-services/Faketime"
import { type Running, start, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { installGateway } from "@model-gateway/test-services/Packages"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, inject, it, onTestFinished, vi } from "vitest"

/** Credits of one request at the double. */
const rerankPrice = 0.002

const prlimit = "/usr/bin/prlimit"

const anHourAgo = clockBehind(3600)

/** Prints what the operator sees. */
const say = (step: string, seen: string) => console.log(`── ${step}\n${seen.trim().replace(/^/gm, "   ")}`)

const folderFor = (name: string): string => {
  const path = mkdtempSync(join(tmpdir(), `model-gateway-${name}-`))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A file that only its owner can read. */
const write = (folder: string, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, `${text}\n`, { mode: 0o600 })
  return path
}

const field = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((found, name) => Reflect.get(Object(found), name), value)

const credits = (value: unknown): number => Number(field(value, "data", "usage"))

interface Caller {
  readonly origin: string
  readonly key: string
}

const call = async ({ key, origin }: Caller, path: string, body?: object, more: Record<string, string> = {}) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close", ...more }
  const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) }
  const response = await fetch(origin + path, init)
  const text = await response.text()
  const json: unknown = text === "" ? undefined : JSON.parse(text)
  return { status: response.status, json, requestId: response.headers.get("x-request-id") ?? "" }
}

const rerank = (caller: Caller, more?: Record<string, string>) =>
  call(caller, "/api/v1/rerank", { model: "cohere/rerank-v3.5", query: "tea", documents: ["coffee", "tea"] }, more)

/** How many of so many requests, 8 at a time, had each status. */
const load = async (caller: Caller, requests: number) => {
  const statuses: Record<number, number> = {}
  let left = requests
  const worker = async () => {
    while (left-- > 0) {
      const { status } = await rerank(caller)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return statuses
}

const usageOf = async (caller: Caller) => credits((await call(caller, "/api/v1/key")).json)

/** That the time which a command shows is an hour ago, give or take what the test has taken. */
const expectAnHourAgo = (shown: string): void => {
  const [, time = ""] = /^ *time +(\S+)$/m.exec(shown) ?? []
  const minutes = (Date.now() - Date.parse(time)) / 60_000
  expect(minutes).toBeGreaterThan(60)
  expect(minutes).toBeLessThan(75)
}

it.skipIf(!existsSync(prlimit) || anHourAgo === undefined)("an operator runs a gateway for a year", async () => {
  const provider = { first: "provider-key-1", second: "provider-key-2" }
  const upstream = await startCohereDouble({ keys: Object.values(provider) })
  onTestFinished(() => upstream.close())
  const providerKey = () => upstream.state.requests.at(-1)?.headers["authorization"]

  const folder = folderFor("exercise")
  const installed = join(folder, "installed")
  const { main, node } = await installGateway({
    tarball: inject("gatewayTarball"),
    prefix: installed,
    node: process.execPath,
    home: folderFor("home")
  })

  const keyFile = write(folder, "cohere", provider.first)
  const configure = (byok: object) =>
    write(
      folder,
      "gateway.json",
      JSON.stringify({
        upstreams: { cohere: { apiKey: { file: keyFile }, baseUrl: upstream.url } },
        byok,
        circuits: { failures: 3, openFor: "2 seconds" }
      })
    )
  const masterKey = (name: string) => write(folder, name, randomBytes(32).toString("base64"))
  const firstMasterKey = masterKey("master-1")
  const config = configure({ masterKey: { file: firstMasterKey } })
  const here = join(folder, "data")

  /** Runs a command and prints what it says. */
  const command = async (args: ReadonlyArray<string>, dataDir = here) => {
    const all = [main, ...args, "--config", config, "--data-dir", dataDir]
    const { code, stderr, stdout } = await run(node, all, { cwd: folder })
    const text = `${stdout}${stderr}`.trim()
    say(`model-gateway ${args.join(" ").replaceAll(folder, "…")}`, text.replaceAll(folder, "…"))
    expect([args, code, code === 0 ? "" : text]).toEqual([args, 0, ""])
    return text
  }

  /** Serves, after the first start. */
  const serve = async (dataDir = here) => {
    const args = [main, "serve", "--config", config, "--port", "0", "--data-dir", dataDir]
    const running = start(node, args, { cwd: folder })
    onTestFinished(running.stop)
    const [, origin = ""] = await running.prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/api\/v1/)
    return { ...running, origin }
  }

  const stop = async (gateway: Running) => {
    gateway.signal("SIGTERM")
    expect(await gateway.ended).toBe(0)
  }

  // Install and load.
  mkdirSync(here)
  const first = await startGateway(here, { MODEL_GATEWAY_CONFIG: config, ...anHourAgo }, { main, node })
  onTestFinished(first.stop)
  const { key, managementKey } = first
  const by = ({ origin }: { readonly origin: string }) => ({ origin, key })
  expect(await load(by(first), 100)).toEqual({ 200: 100 })
  say("100 paid requests", `${await usageOf(by(first))} credits`)

  // Lose an upstream: callers fail until it is back, and are not charged.
  upstream.always({ status: 503 })
  const failed = await rerank(by(first))
  expect(failed.status).toBeGreaterThanOrEqual(500)
  await load(by(first), 8)
  const health = async () => {
    const { json } = await call({ origin: first.origin, key: managementKey }, "/api/v1/providers/health")
    return field(json, "data", "0")
  }
  expect(field(await health(), "circuit", "state")).toBe("open")
  say("GET /providers/health while the provider is down", JSON.stringify(await health()))
  upstream.always(undefined)
  await vi.waitFor(async () => expect((await rerank(by(first))).status).toBe(200), { timeout: 20_000, interval: 500 })
  expect(field(await health(), "circuit", "state")).toBe("closed")
  expect(await usageOf(by(first))).toBeCloseTo(101 * rerankPrice, 9)

  // What is an hour old later: an answer that is kept, a request with a wrong key, a key of ten
  // minutes.
  const repeatable = { "idempotency-key": "an-hour-ago" }
  const answer = await rerank(by(first), repeatable)
  expect(answer.status).toBe(200)
  const wrongKey = await rerank({ origin: first.origin, key: `${key.slice(0, -4)}0000` })
  expect(wrongKey.status).toBe(401)
  const ephemeral = await call(by(first), "/api/v1/keys/ephemeral", { expires_in: 600 })
  expect(ephemeral.status).toBe(201)
  const byEphemeral = ({ origin }: { readonly origin: string }) => ({
    origin,
    key: String(field(ephemeral.json, "key"))
  })
  expect((await rerank(byEphemeral(first))).status).toBe(200)

  // Fill the disk: no file of the process can grow.
  const limit = (bytes: string) => execFileSync(prlimit, [`--pid=${first.pid}`, `--fsize=${bytes}:`])
  const ready = async () => (await call(by(first), "/readyz")).status
  limit("1")
  expect((await rerank(by(first))).status).toBe(503)
  await vi.waitFor(async () => expect(await ready()).toBe(503), { timeout: 20_000, interval: 200 })
  say("GET /readyz while the disk is full", JSON.stringify((await call(by(first), "/readyz")).json))
  limit("unlimited")
  await vi.waitFor(async () => expect(await ready()).toBe(200), { timeout: 20_000, interval: 200 })
  expect((await rerank(by(first))).status).toBe(200)

  // Rotate the key of the provider under load, without a restart.
  const rotating = load(by(first), 200)
  write(folder, "cohere", provider.second)
  first.signal("SIGHUP")
  expect(await rotating).toEqual({ 200: 200 })
  await vi.waitFor(async () => {
    await rerank(by(first))
    expect(providerKey()).toBe(`Bearer ${provider.second}`)
  })
  say("SIGHUP with a new provider key under load", "200 of 200 requests succeeded")

  // Rotate the master key: the stored secret of a caller is used before and after.
  const byok = { name: "own", provider: "cohere", key: "provider-key-1" }
  const stored = await call({ origin: first.origin, key: managementKey }, "/api/v1/byok", byok)
  expect(stored).toMatchObject({ status: 201 })
  await stop(first)
  configure({ masterKey: { file: masterKey("master-2") }, formerMasterKeys: { file: firstMasterKey } })
  const second = await serve()
  await command(["byok", "rewrap"])
  await stop(second)
  configure({ masterKey: { file: join(folder, "master-2") } })
  const third = await serve()
  expect((await rerank(by(third))).status).toBe(200)
  expect(providerKey()).toBe(`Bearer ${byok.key}`)
  const usage = await usageOf(by(third))

  // Back up while it serves, then upgrade.
  const passphrase = write(folder, "passphrase", "correct horse battery staple")
  const loading = load(by(third), 100)
  await command(["backup", "--to", join(folder, "gateway.tar.age"), "--passphrase-file", passphrase])
  expect(await loading).toEqual({ 200: 100 })
  await stop(third)
  // Until a release has been published, the later version is this one with another number.
  const manifest = join(installed, "lib/node_modules/@model-gateway/gateway/package.json")
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/"version": "[^"]+"/, '"version": "99.0.0"'))
  await command(["migrate"])
  const upgraded = await serve()
  expect((await rerank(by(upgraded))).status).toBe(200)
  expect(await usageOf(by(upgraded))).toBeGreaterThanOrEqual(usage)
  await stop(upgraded)

  // The machine is lost. Restore on another one.
  rmSync(here, { recursive: true })
  const there = join(folder, "elsewhere")
  await command(["restore", "--from", join(folder, "gateway.tar.age"), "--passphrase-file", passphrase], there)
  await command(["doctor"], there)
  const restored = await serve(there)
  expect((await rerank(by(restored))).status).toBe(200)
  expect(providerKey()).toBe(`Bearer ${byok.key}`)
  expect(await usageOf(by(restored))).toBeGreaterThanOrEqual(usage)

  // A caller asks what became of a request that failed an hour ago.
  const found = await command(["requests", "show", failed.requestId], there)
  expect(found).toContain(failed.requestId)
  expect(found).toContain("cohere")
  expect(found).toContain("503")
  expectAnHourAgo(found)
  const now = Date.now()
  const [from = "", to = ""] = [90, 50].map((minutes) => new Date(now - minutes * 60_000).toISOString())
  expect(await command(["requests", "list", "--status", "failed", "--from", from, "--to", to], there)).toContain(
    failed.requestId
  )
  expect(await command(["requests", "list", "--status", "failed", "--from", to], there)).toBe(
    "There are no such requests."
  )

  // An hour has not deleted what is kept for longer, and has ended what was not to last.
  const rejected = await command(["requests", "show", wrongKey.requestId], there)
  expect(rejected).toContain("rejected (401)")
  expectAnHourAgo(rejected)
  const spent = await usageOf(by(restored))
  expect((await rerank(by(restored), repeatable)).json).toEqual(answer.json)
  expect(await usageOf(by(restored))).toBe(spent)
  expect((await rerank(byEphemeral(restored))).status).toBe(401)
})
