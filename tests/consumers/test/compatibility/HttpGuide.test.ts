/**
 * Runs every command of docs/start/http.md, and compares what it prints with what the guide shows.
 */
import { DtmfTone } from "@model-gateway/sandbox"
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"

const guide = readFileSync(join(import.meta.dirname, "../../../../docs/start/http.md"), "utf8")

interface Step {
  readonly title: string
  readonly command: string
  /** What the guide shows of the output. */
  readonly shown?: { readonly language: string; readonly text: string }
  /**
   * Variables for later commands: the name, and the path to the value in the JSON of the output.
   */
  readonly variables: ReadonlyArray<readonly [name: string, path: string]>
}

const steps: ReadonlyArray<Step> = Array.from(
  guide.matchAll(/```sh\n([^]*?)```\n(?:\n```(json|http|text)\n([^]*?)```\n)?(?:<!-- (.*) -->)?/g),
  ([, command = "", language, text, variables]) => ({
    title: command.split("\n")[0] ?? "",
    command,
    ...(language === undefined || text === undefined ? {} : { shown: { language, text } }),
    variables: (variables ?? "").split(" ").flatMap((each) => {
      const [name, path] = each.split("=")
      return name === undefined || path === undefined ? [] : [[name, path] as const]
    })
  })
)

/** `…` stands for any text. */
const pattern = (shown: string): RegExp =>
  new RegExp(`^${shown.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`).replaceAll("…", "[^]*")}$`)

/** What differs: a field that is missing, of another type, or another value. */
const differences = (shown: unknown, actual: unknown, path = ""): ReadonlyArray<string> => {
  if (Array.isArray(shown)) {
    if (!Array.isArray(actual)) return [`${path} is no list`]
    return shown.flatMap((item, index) => differences(item, actual[index], `${path}[${index}]`))
  }
  if (typeof shown === "object" && shown !== null) {
    if (typeof actual !== "object" || actual === null) return [`${path} is no object`]
    const fields = new Map(Object.entries(actual))
    return Object.entries(shown).flatMap(([name, value]) => differences(value, fields.get(name), `${path}.${name}`))
  }
  const isSame =
    typeof shown === "string" && typeof actual === "string"
      ? /^\d{4}-/.test(shown)
        ? /^\d{4}-/.test(actual)
        : pattern(shown).test(actual)
      : shown === actual
  return isSame ? [] : [`${path} is ${JSON.stringify(actual)} instead of ${JSON.stringify(shown)}`]
}

const valueAt = (value: unknown, path: string): string => {
  let found = value
  for (const name of path.split(".")) {
    found = typeof found === "object" && found !== null ? new Map(Object.entries(found)).get(name) : undefined
  }
  if (typeof found !== "string") throw new Error(`${path} is not in ${JSON.stringify(value)}`)
  return found
}

describe("the guide to HTTP", () => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const variables: Record<string, string> = {}
  let gateway: Gateway | undefined
  beforeAll(async () => {
    gateway = await startGateway(folder)
    // Like the guide's command of SoX, which few machines have.
    const audio = DtmfTone.wav("555", { tone: 0.2, gap: 0.1 })
    writeFileSync(join(folder, "call.wav"), audio)
    variables["MODEL_GATEWAY_BASE_URL"] = `${gateway.origin}/api/v1`
    variables["MODEL_GATEWAY_API_KEY"] = gateway.key
    variables["MODEL_GATEWAY_MANAGEMENT_KEY"] = gateway.managementKey
  })
  afterAll(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it("has a command for each topic", () => {
    expect(steps.length).toBeGreaterThan(12)
  })

  it.each(steps)("prints what it shows: $title", async ({ command, shown, variables: named }) => {
    const { stdout } = await promisify(execFile)("bash", ["--norc", "-euo", "pipefail", "-c", command], {
      cwd: folder,
      env: { PATH: process.env["PATH"], ...variables }
    })
    if (shown?.language === "json") {
      const actual: unknown = JSON.parse(stdout)
      expect(differences(JSON.parse(shown.text), actual)).toEqual([])
      for (const [name, path] of named) variables[name] = valueAt(actual, path)
    } else if (shown?.language === "http") {
      const [status = "", ...headers] = shown.text.trim().split("\n")
      expect(stdout).toContain(status)
      for (const header of headers) {
        const [name = "", value = ""] = header.split(": ")
        expect(stdout.toLowerCase()).toContain(`\n${name.toLowerCase()}: `)
        if (value === "true") expect(stdout.toLowerCase()).toContain(`${name}: true`)
      }
    } else expect(stdout).toContain(shown?.text.trim() ?? "")
  })
})
