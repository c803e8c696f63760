/** The executable from its packed package, in an empty folder with an empty home. */
import { DtmfTone } from "@model-gateway/sandbox"
import { succeed } from "@model-gateway/test-services/Command"
import { type Executable, type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { environmentOf, nodes } from "@model-gateway/test-services/Nodes"
import { gateway as gatewayPackage, installGateway } from "@model-gateway/test-services/Packages"
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"

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
const startTimed = async (executable: Executable) => {
  const begun = performance.now()
  const gateway = await startGateway(mkdtempSync(join(folder, "data-")), {}, executable)
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

it("npx runs it", async () => {
  const env = environmentOf(process.execPath, emptyFolder("npx-home"))
  const args = ["--yes", `--package=${tarball}`, "--", "model-gateway", "--version"]
  expect(await succeed("npx", args, { cwd: emptyFolder("npx"), env })).toBe(`${gatewayPackage.manifest.version}\n`)
})
