// The unit of deploy/systemd: as systemd-analyze reads it, and as a systemd runs it that was booted
// for the test, installed by the commands of its page.
import { DtmfTone } from "@model-gateway/sandbox"
import { agePrograms } from "@model-gateway/test-services/Age"
import { root } from "@model-gateway/test-services/Command"
import { freePort } from "@model-gateway/test-services/FreePort"
import { systemdAnalyze } from "@model-gateway/test-services/Systemd"
import { hasMachines, type Machine, startMachine } from "@model-gateway/test-services/SystemdMachine"
import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest"
import { at } from "./support/Manifest.ts"

const text = readFileSync(join(root, "deploy/systemd/model-gateway.service"), "utf8")

describe.skipIf(systemdAnalyze() === undefined)("the unit", () => {
  const analyze = (unit: string, ...args: ReadonlyArray<string>) => {
    const folder = mkdtempSync(join(tmpdir(), "unit-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "model-gateway.service")
    // The gateway need not be installed here: any program is one that can be started.
    writeFileSync(file, unit.replace("/usr/bin/model-gateway", process.execPath))
    return spawnSync(systemdAnalyze() ?? "", [...args, file], { encoding: "utf8" })
  }

  it("is what systemd-analyze verify accepts", () => {
    expect(analyze(text, "verify", "--man=no")).toMatchObject({ status: 0, stdout: "", stderr: "" })
    expect(analyze(text.replace("DynamicUser=", "DynamicUsr="), "verify", "--man=no").stderr).toContain("DynamicUsr")
  })

  it("has an exposure below 2.5", () => {
    const security = (unit: string) => analyze(unit, "security", "--offline=true", "--threshold=25", "--no-pager")
    const { status, stdout } = security(text)
    expect(stdout).toMatch(/Overall exposure level for model-gateway.service: [01]\.\d/)
    expect(status).toBe(0)
    expect(security(text.replace(/^(?:Protect|Private|Restrict|SystemCall|Dynamic|Capab).*$/gm, "")).status).not.toBe(0)
  })
})

it("gives the gateway longer to stop than it takes by default", () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
  expect(seconds).toBeGreaterThan(30 + 15)
})

/** The blocks of code of a page. */
const blocksOf = (page: string): ReadonlyArray<string> =>
  Array.from(
    readFileSync(join(root, "docs/operate", page), "utf8").matchAll(/^```\w+\n([^]*?)^```$/gm),
    ([, block = ""]) => block
  )

const blockWith = (page: string, word: string): string => {
  const block = blocksOf(page).find((block) => block.includes(word))
  if (block === undefined) throw new Error(`docs/operate/${page} has no code with ${word}`)
  return block
}

/** As root types it in the test. */
const asRoot = (commands: string): string => commands.replaceAll("sudo ", "")

const startTimeout = 60_000

describe.skipIf(!hasMachines())("a systemd with the unit", { timeout: 300_000 }, () => {
  let machine: Machine
  let port = 0
  let key = ""

  const succeed = async (command: string, ...args: ReadonlyArray<string>): Promise<string> => {
    const { code, stderr, stdout } = await machine.run(command, ...args)
    if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`)
    return stdout
  }
  const shell = (script: string) => succeed("sh", "-ec", `cd /root\n${script}`)
  const file = (path: string) => join(machine.root, path)
  const settings = (more: object = {}) => {
    const secret = (name: string) => ({ file: `/run/credentials/model-gateway.service/secret_${name}` })
    const own = { port, byok: { masterKey: secret("master-key") }, bootstrapManagementKey: secret("management-key") }
    writeFileSync(file("etc/model-gateway/settings.json"), JSON.stringify({ ...own, ...more }))
  }
  const property = async (name: string) =>
    (await succeed("systemctl", "show", "--value", `--property=${name}`, "model-gateway")).trim()
  // Also before the tests, where `expect.poll` cannot be used.
  const isReady = () =>
    vi.waitFor(
      async () => {
        const headers = { connection: "close" }
        const response = await fetch(`http://127.0.0.1:${port}/readyz`, { headers }).catch(() => undefined)
        if (response?.status === 200) return
        const { stdout } = await machine.run("journalctl", "--unit=model-gateway", "--lines=5")
        throw new Error(`/readyz is not 200 (${response?.status ?? "no answer"}):\n${stdout}`)
      },
      { timeout: startTimeout, interval: 200 }
    )
  const call = async (path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" }
    const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) }
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, init)
    const answer: unknown = await response.json()
    expect([path, response.ok, answer]).toEqual([path, true, answer])
    return answer
  }
  const rerank = () => call("/rerank", { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
  const models = async () => JSON.stringify(await call("/models"))
  const spent = async () => at(await call("/key"), "data.usage")
  /**
   * The events of the lines of the gateway in the journal, each of which must be one of its log.
   */
  const events = async (): Promise<ReadonlyArray<string>> => {
    const lines = await succeed("journalctl", "--unit=model-gateway", "--output=json", "_TRANSPORT=stdout")
    return lines
      .trim()
      .split("\n")
      .map((line) => String(at(JSON.parse(String(at(JSON.parse(line), "MESSAGE"))), "event")))
  }
  const workers = async () => {
    const children = `/proc/${await property("MainPID")}/task/${await property("MainPID")}/children`
    return (await succeed("cat", children)).trim().split(" ")
  }

  beforeAll(async () => {
    machine = await startMachine()
    port = await freePort()
    cpSync(inject("gatewayTarball"), file("root/gateway.tgz"))
    const install = asRoot(blockWith("systemd.md", "npm install")).replace(
      /@model-gateway\/gateway@\S+/,
      "./gateway.tgz"
    )
    const commands = install.trim().split("\n")
    await shell(commands.slice(0, -1).join("\n"))
    settings()
    writeFileSync(file("etc/model-gateway/secrets/cohere"), "a-key\n", { mode: 0o600 })
    await shell(commands.at(-1) ?? "")
    await isReady()
    const keys = asRoot(blockWith("systemd.md", "keys list"))
    expect(await shell(keys)).toMatch(/mg_mk_\S+ .*management/)
    key = String(at(JSON.parse(await shell(keys.replace("keys list", "keys create --name test --json"))), "key"))
  }, 1_800_000)

  afterAll(() => machine?.remove(), 120_000)

  it("runs it as a user without rights, whose files and secrets nobody else can read", async () => {
    const status = await succeed("cat", `/proc/${await property("MainPID")}/status`)
    expect(status).toMatch(/^CapEff:\s+0+$/m)
    const [, user = "0"] = /^Uid:\s+(\d+)/m.exec(status) ?? []
    expect(Number(user)).toBeGreaterThan(60_000)
    expect((await succeed("stat", "--format=%U %a", "/var/lib/model-gateway/")).trim()).toBe("model-gateway 700")
    expect((await succeed("stat", "--format=%U %a", "/etc/model-gateway/secrets")).trim()).toBe("root 700")
    const credentials = "/run/credentials/model-gateway.service/secret_master-key"
    const other = await machine.run("setpriv", "--reuid=nobody", "--clear-groups", "cat", credentials)
    expect(other.stderr).toContain("Permission denied")
    const exposure = await succeed("systemd-analyze", "security", "--no-pager", "model-gateway")
    expect(exposure).toMatch(/Overall exposure level for model-gateway.service: [01]\.\d/)
  })

  it("serves a rerank, a transcription and a video", async () => {
    expect(at(await rerank(), "results.0.index")).toBe(1)
    const input_audio = { data: Buffer.from(DtmfTone.wav("555 0199")).toString("base64"), format: "wav" }
    const transcription = await call("/audio/transcriptions", { model: "sandbox/tones", input_audio })
    expect(at(transcription, "text")).toBe("555 0199")
    const video = { model: "sandbox/title-card", prompt: "Dawn", duration: 1, size: "320x240" }
    const job = await call("/videos", video)
    await expect
      .poll(async () => at(await call(`/videos/${String(at(job, "id"))}?wait=20`), "status"), { timeout: 120_000 })
      .toBe("completed")
  })

  it("reloads its settings", async () => {
    const process = await property("MainPID")
    expect(await models()).not.toContain("cohere/rerank-v3.5")
    settings({ upstreams: { cohere: { apiKey: { file: "/run/credentials/model-gateway.service/secret_cohere" } } } })
    await succeed("systemctl", "reload", "model-gateway")
    await expect.poll(models).toContain("cohere/rerank-v3.5")
    expect(await property("MainPID")).toBe(process)
  })

  it("keeps its data over a restart, and restarts workers one by one", async () => {
    const before = await spent()
    expect(Number(before)).toBeGreaterThan(0)
    settings({ workers: 2 })
    await succeed("systemctl", "restart", "model-gateway")
    await isReady()
    expect(await spent()).toBe(before)
    await expect.poll(async () => (await workers()).length).toBe(2)
    const process = await property("MainPID")
    const first = await workers()
    await expect.poll(events).toContain("started")
    const restarted = async () =>
      (await succeed("journalctl", "--unit=model-gateway", "--output=cat")).includes("All workers were restarted")
    // The command that docs/operate/workers.md names.
    await succeed("systemctl", "kill", "--kill-whom=main", "--signal=SIGUSR2", "model-gateway")
    await expect.poll(restarted, { timeout: startTimeout }).toBe(true)
    expect((await workers()).filter((pid) => first.includes(pid))).toEqual([])
    expect(await property("MainPID")).toBe(process)
    await rerank()
  })

  it("starts it again after a crash", async () => {
    const restarts = Number(await property("NRestarts"))
    await succeed("systemctl", "kill", "--kill-whom=main", "--signal=SIGKILL", "model-gateway")
    await expect.poll(async () => Number(await property("NRestarts")), { timeout: startTimeout }).toBe(restarts + 1)
    await isReady()
    await rerank()
  })

  it("tells by OnFailure= when it gives up", async () => {
    mkdirSync(file("etc/systemd/system/model-gateway.service.d"))
    const dropIn = file("etc/systemd/system/model-gateway.service.d/failure.conf")
    const example = blockWith("systemd.md", "OnFailure=")
    writeFileSync(dropIn, example.replace(/^StartLimitBurst=.*$/m, "StartLimitBurst=3"))
    const [, unit = ""] = /^OnFailure=(.*)$/m.exec(example) ?? []
    writeFileSync(file(`etc/systemd/system/${unit}`), "[Service]\nType=oneshot\nExecStart=touch /root/told\n")
    settings({ circuits: { failures: 0 } })
    await shell("systemctl daemon-reload; systemctl restart model-gateway || true")
    await expect.poll(() => readdirSync(file("root")), { timeout: startTimeout }).toContain("told")
    expect(await property("ActiveState")).toBe("failed")
    expect(Number(await property("NRestarts"))).toBeGreaterThan(1)
    expect((await machine.run("systemctl", "status", "model-gateway")).stdout).toContain("Active: failed")
    expect(await succeed("journalctl", "--unit=model-gateway", "--output=cat")).toContain("circuits.failures")
    rmSync(dropIn)
    settings()
    await shell("systemctl daemon-reload; systemctl reset-failed model-gateway; systemctl start model-gateway")
    await isReady()
  })

  it("takes a backup by the timer of its page", async ({ skip }) => {
    const age = agePrograms()
    if (age === undefined) return skip()
    const folder = mkdtempSync(join(tmpdir(), "identity-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const identity = join(folder, "identity.txt")
    execFileSync(age.keygen, ["-o", identity], { stdio: "ignore" })
    const [, recipient = ""] = /public key: (age1\w+)/.exec(readFileSync(identity, "utf8")) ?? []
    const units = blockWith("backup.md", "OnCalendar").replaceAll("age1…", recipient)
    for (const [, path = "", unit = ""] of units.matchAll(/^# (\/\S+)\n([^]*?)(?=^# |$(?![^]))/gm)) {
      writeFileSync(file(path), unit)
    }
    await shell("systemctl daemon-reload; systemctl enable --now model-gateway-backup.timer")
    expect(await succeed("systemctl", "list-timers", "--all")).toContain("model-gateway-backup.timer")
    await succeed("systemctl", "start", "model-gateway-backup.service")
    const [backup = ""] = (await shell("ls /var/lib/model-gateway-backup/")).trim().split("\n")
    expect(backup).toMatch(/^\d{4}-\d{2}-\d{2}\.tar\.age$/)
    const tar = join(folder, "backup.tar")
    const stored = file(`var/lib/private/model-gateway-backup/${backup}`)
    execFileSync(age.age, ["--decrypt", "--identity", identity, "--output", tar, stored])
    chmodSync(tar, 0o600)
    expect(execFileSync("tar", ["--list", "--file", tar], { encoding: "utf8" })).toContain("gateway.db")
  })

  it("stops it, and every line of its log is JSON in the journal", async () => {
    await succeed("systemctl", "stop", "model-gateway")
    expect([await property("ActiveState"), await property("Result")]).toEqual(["inactive", "success"])
    const seen = await events()
    expect(seen).toEqual(
      expect.arrayContaining(["started", "first_run", "settings_reloaded", "worker_started", "not_started", "stopping"])
    )
    await succeed("systemctl", "start", "model-gateway")
    await isReady()
    await rerank()
  })
})
