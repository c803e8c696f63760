// The image, built by the documented command, and what runs in it: as a user without rights, with a
// root that cannot be written, as process 1.
import { DtmfTone } from "@model-gateway/sandbox"
import { type Engine, hasContainers, makeNodeImage, startEngine } from "@model-gateway/test-services/Containers"
import { freePort } from "@model-gateway/test-services/FreePort"
import { gateway } from "@model-gateway/test-services/Packages"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest"
import { at } from "./support/Manifest.ts"

const root = join(import.meta.dirname, "..", "..", "..")
const image = "localhost/model-gateway-test"
/** The build of a clone takes minutes. */
const timeout = 1_800_000

describe.skipIf(!hasContainers())("the image", { timeout }, () => {
  let engine: Engine
  let base = ""

  const succeed = async (...args: ReadonlyArray<string>): Promise<string> => {
    const { code, stderr, stdout } = await engine.run(...args)
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`)
    return stdout.trim()
  }

  const buildImage = (context: string, tag: string, ...args: ReadonlyArray<string>) =>
    succeed(
      "build",
      ...engine.build,
      "--file",
      join(context, "deploy/docker/Dockerfile"),
      "--build-arg",
      `NODE=${base}`,
      ...args,
      "--tag",
      tag,
      context
    )

  beforeAll(async () => {
    engine = startEngine()
    const dockerfile = readFileSync(join(root, "deploy/docker/Dockerfile"), "utf8")
    const official = /^ARG NODE=(.*)$/m.exec(dockerfile)?.[1] ?? ""
    const pulled = await engine.run("pull", "--quiet", `docker.io/library/${official}`)
    base = pulled.code === 0 ? `docker.io/library/${official}` : await makeNodeImage(engine)
    const context = mkdtempSync("/var/tmp/model-gateway-context-")
    try {
      cpSync(join(root, "deploy"), join(context, "deploy"), { recursive: true })
      cpSync(inject("gatewayTarball"), join(context, "gateway.tgz"))
      await buildImage(context, image, "--build-arg", "PACKAGE=./gateway.tgz")
    } finally {
      rmSync(context, { recursive: true })
    }
  }, timeout)

  afterAll(() => engine?.dispose())

  /** A container as the Compose file has it. */
  const start = async (options: ReadonlyArray<string> = [], command: ReadonlyArray<string> = []) => {
    const port = await freePort()
    const hardened = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    const settings = ["MODEL_GATEWAY_HOST=127.0.0.1", `MODEL_GATEWAY_PORT=${port}`].flatMap((each) => ["--env", each])
    const id = await succeed(
      "run",
      "--detach",
      ...engine.start,
      ...hardened,
      ...settings,
      ...options,
      image,
      ...command
    )
    const origin = `http://127.0.0.1:${port}`
    onTestFinished(async () => void (await engine.run("rm", "--force", "--volumes", id)))
    const logs = async () => {
      const { stderr, stdout } = await engine.run("logs", id)
      return stdout + stderr
    }
    await expect
      .poll(
        () =>
          fetch(`${origin}/readyz`).then(
            ({ status }) => status,
            () => logs()
          ),
        { timeout: 120_000, interval: 500 }
      )
      .toBe(200)
    return {
      id,
      origin,
      logs,
      exec: (...args: ReadonlyArray<string>) => engine.run("exec", id, ...args),
      statusAfter: async (...args: ReadonlyArray<string>) => {
        await succeed(...args, id)
        await engine.run("wait", id)
        return Number(await succeed("inspect", "--format", "{{.State.ExitCode}}", id))
      }
    }
  }

  it("serves a rerank, a transcription and a video, and what operators and browsers read", async () => {
    const { exec, origin } = await start()
    const made = await exec("model-gateway", "keys", "create", "--name", "test", "--json")
    expect(made.code).toBe(0)
    const key = at(JSON.parse(made.stdout), "key")
    const headers = { authorization: `Bearer ${String(key)}`, "content-type": "application/json" }
    const call = async (path: string, body?: unknown): Promise<unknown> => {
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
      const response = await fetch(`${origin}/api/v1${path}`, { ...init, headers })
      const answer: unknown = await response.json()
      expect([path, response.ok, answer]).toEqual([path, true, answer])
      return answer
    }
    const rerank = await call("/rerank", { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
    expect(at(rerank, "results.0.index")).toBe(1)
    const audio = Buffer.from(DtmfTone.wav("555 0199")).toString("base64")
    const transcription = await call("/audio/transcriptions", {
      model: "sandbox/tones",
      input_audio: { data: audio, format: "wav" }
    })
    expect(at(transcription, "text")).toBe("555 0199")
    const job = await call("/videos", { model: "sandbox/title-card", prompt: "Dawn", duration: 1, size: "320x240" })
    const id = String(at(job, "id"))
    await expect
      .poll(async () => at(await call(`/videos/${id}?wait=20`), "status"), { timeout: 120_000 })
      .toBe("completed")
    const video = await fetch(`${origin}/api/v1/videos/${id}/content`, { headers })
    expect(Buffer.from(await video.arrayBuffer()).toString("latin1", 4, 8)).toBe("ftyp")
    for (const path of ["/", "/docs", "/openapi.json"]) expect((await fetch(origin + path)).status).toBe(200)
  })

  it("runs as a user without rights, can write only to its data, and brings no package manager", async () => {
    const { exec } = await start()
    expect((await exec("id", "-u")).stdout.trim()).toBe("1000")
    expect((await exec("cat", "/proc/1/cmdline")).stdout).toContain("model-gateway")
    expect((await exec("grep", "CapEff", "/proc/1/status")).stdout).toMatch(/\t0+\n/)
    expect((await exec("touch", "/app/a")).code).not.toBe(0)
    expect((await exec("touch", "/data/a")).code).toBe(0)
    for (const name of ["npm", "npx", "yarn", "corepack"]) expect((await exec("which", name)).code).not.toBe(0)
  })

  it("is healthy while it answers, without curl", async () => {
    const { exec, id } = await start()
    const command: unknown = JSON.parse(await succeed("inspect", "--format", "{{json .Config.Healthcheck.Test}}", id))
    if (!Array.isArray(command)) throw new Error(`no health check: ${String(command)}`)
    expect(command[0]).toBe("CMD")
    const args = command.slice(1).map(String)
    expect((await exec(...args)).code).toBe(0)
    const other = await exec("env", "MODEL_GATEWAY_PORT=1", ...args)
    expect(other).toMatchObject({ code: 1 })
    expect(other.stderr).toContain("ECONNREFUSED")
  })

  it("stops on SIGTERM with status 0 as process 1, and with an init before it", async () => {
    const alone = await start()
    expect(await alone.statusAfter("stop", "--time", "60")).toBe(0)
    expect(await alone.logs()).toContain("Stopping.")
    if (engine.name === "docker") {
      const behind = await start(["--init"])
      expect(await behind.statusAfter("stop", "--time", "60")).toBe(0)
    }
  })

  it("keeps its data in a volume", async () => {
    const volume = "model-gateway-test-data"
    onTestFinished(async () => void (await engine.run("volume", "rm", "--force", volume)))
    const first = await start(["--volume", `${volume}:/data`])
    const before = await first.exec("model-gateway", "keys", "list", "--json")
    await succeed("stop", "--time", "60", first.id)
    const second = await start(["--volume", `${volume}:/data`])
    expect(JSON.parse((await second.exec("model-gateway", "keys", "list", "--json")).stdout)).toEqual(
      JSON.parse(before.stdout)
    )
  })

  it("reads settings and secrets from files, and says which one is missing", async () => {
    const folder = mkdtempSync("/var/tmp/model-gateway-settings-")
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const token = "a-token-for-the-metrics"
    writeFileSync(join(folder, "metrics_token"), `${token}\n`)
    writeFileSync(
      join(folder, "settings.json"),
      JSON.stringify({ metricsToken: { file: "/run/secrets/metrics_token" } })
    )
    const options = [
      "--volume",
      `${folder}/settings.json:/etc/model-gateway/settings.json:ro`,
      "--env",
      "MODEL_GATEWAY_CONFIG=/etc/model-gateway/settings.json"
    ]
    const { exec, logs, origin } = await start([
      ...options,
      "--volume",
      `${folder}/metrics_token:/run/secrets/metrics_token:ro`
    ])
    const metrics = (headers: Record<string, string>) => fetch(`${origin}/metrics`, { headers })
    expect((await metrics({})).status).toBe(401)
    expect((await metrics({ authorization: `Bearer ${token}` })).status).toBe(200)
    expect(await logs()).not.toContain(token)
    const missing = await engine.run("run", "--rm", ...engine.start, "--read-only", ...options, image)
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain("/run/secrets/metrics_token")
    expect((await exec("ls", "/run/secrets")).code).toBe(0)
  })

  it("is built from a clone by the documented command, without what belongs to this machine", async () => {
    const tag = `${image}-clone`
    await buildImage(root, tag)
    const { stdout } = await engine.run("run", "--rm", ...engine.start, tag, "--version")
    expect(stdout).toContain(gateway.manifest.version)
  })
})
