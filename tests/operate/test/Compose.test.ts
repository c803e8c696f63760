// The Compose files and the Dockerfile of deploy/: linted, checked against the published schema of
// Compose files, and without secrets. No engine is needed.
import { validate } from "dockerfile-utils"
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { parse } from "yaml"
import { at } from "./support/Manifest.ts"

const root = join(import.meta.dirname, "..", "..", "..")
const folder = join(root, "deploy", "compose")
const names = ["compose.yaml", "compose.full.yaml"]

const dclint = join(import.meta.dirname, "../node_modules/.bin/dclint")

/** What is about taste. */
const ignored = [
  "no-build-and-image",
  "no-quotes-in-volumes",
  "require-quotes-in-ports",
  "service-dependencies-alphabetical-order",
  "service-keys-order",
  "services-alphabetical-order"
]

const lint = (...files: ReadonlyArray<string>) =>
  spawnSync(dclint, [...files, "--max-warnings", "0", ...ignored.flatMap((rule) => ["--disable-rule", rule])], {
    encoding: "utf8",
    cwd: folder
  })

const entriesOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> =>
  typeof value === "object" && value !== null ? Object.entries(value) : []

const valueOf = (name: string): unknown => parse(readFileSync(join(folder, name), "utf8"), { merge: true })

it("are valid Compose files", () => {
  expect(lint(...names)).toMatchObject({ status: 0, stderr: "" })
})

it("would be refused with an unknown key", () => {
  const copy = mkdtempSync(join(tmpdir(), "compose-"))
  onTestFinished(() => rmSync(copy, { recursive: true }))
  cpSync(join(folder, "compose.yaml"), join(copy, "compose.yaml"))
  execFileSync("sed", ["-i", "s/read_only:/readonly:/", join(copy, "compose.yaml")])
  expect(lint(join(copy, "compose.yaml")).stdout).toContain("must NOT have additional properties")
})

describe.each(names)("%s", (name) => {
  const compose = valueOf(name)
  const services = entriesOf(at(compose, "services"))

  it("pins each image by its version", () => {
    for (const [, service] of services) {
      const image = at(service, "image") ?? "model-gateway:0.1.0"
      expect(image).toMatch(/:v?\d+\.\d+(?:\.\d+)?(?:-\w+)?$/)
    }
  })

  it("publishes ports on this machine only", () => {
    const ports = services.flatMap(([, service]) => entriesOf(at(service, "ports")).map(([, port]) => port))
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
  })

  it("has no password, and declares each secret that a service reads", () => {
    const declared = entriesOf(at(compose, "secrets")).map(([secret]) => secret)
    for (const [, service] of services) {
      for (const [, secret] of entriesOf(at(service, "secrets"))) {
        expect(declared).toContain(typeof secret === "string" ? secret : at(secret, "source"))
      }
      for (const [variable, value] of entriesOf(at(service, "environment"))) {
        if (/PASSWORD|SECRET|TOKEN|KEY/.test(variable)) expect(value).toMatch(/^\/run\/secrets\//)
      }
    }
  })

  it("limits each log", () => {
    const limits = services.map(([, each]) => at(each, "logging.options.max-size") ?? at(each, "extends.service"))
    expect(limits).toEqual(services.map(([each]) => (each === "gateway" && name !== names[0] ? "gateway" : "20m")))
  })
})

describe("secrets.sh", () => {
  const made = () => {
    const copy = mkdtempSync(join(tmpdir(), "compose-"))
    onTestFinished(() => rmSync(copy, { recursive: true }))
    cpSync(join(folder, "secrets.sh"), join(copy, "secrets.sh"))
    execFileSync("sh", [join(copy, "secrets.sh")])
    const read = () =>
      Object.fromEntries(
        readdirSync(join(copy, "secrets")).map((name) => [name, readFileSync(join(copy, "secrets", name), "utf8")])
      )
    return { copy, read }
  }

  it("makes every file that the Compose files mount, in a folder that only its owner may enter", () => {
    const { copy, read } = made()
    const files = Object.keys(read()).map((name) => `./secrets/${name}`)
    const mounted = names.flatMap((name) => {
      const compose = valueOf(name)
      const secrets = entriesOf(at(compose, "secrets")).map(([, secret]) => at(secret, "file"))
      return [...secrets, ...entriesOf(at(compose, "services")).flatMap(([, each]) => at(each, "env_file") ?? [])]
    })
    expect(mounted.length).toBeGreaterThan(8)
    for (const file of mounted) expect(files).toContain(file)
    expect(statSync(join(copy, "secrets")).mode & 0o777).toBe(0o700)
  })

  it("keeps what is there, and makes others elsewhere", () => {
    const { copy, read } = made()
    const before = read()
    execFileSync("sh", [join(copy, "secrets.sh")])
    expect(read()).toEqual(before)
    expect(made().read()["master_key"]).not.toBe(before["master_key"])
    expect(before["database_url"]).toContain(before["postgres_password"]?.trim())
  })

  it("makes nothing without openssl, and again what is empty", () => {
    const { copy, read } = made()
    writeFileSync(join(copy, "secrets", "metrics_token"), "")
    execFileSync("sh", [join(copy, "secrets.sh")])
    expect(read()["metrics_token"]).toMatch(/^[0-9a-f]{64}\n$/)
    rmSync(join(copy, "secrets"), { recursive: true })
    const { status, stderr } = spawnSync("/bin/sh", [join(copy, "secrets.sh")], {
      encoding: "utf8",
      env: { PATH: copy }
    })
    expect([status, stderr]).toEqual([1, "secrets.sh needs openssl. Install it and run this again.\n"])
    expect(existsSync(join(copy, "secrets"))).toBe(false)
  })
})

describe("the Dockerfile", () => {
  const dockerfile = readFileSync(join(root, "deploy/docker/Dockerfile"), "utf8")

  it("passes a lint", () => {
    expect(validate(dockerfile)).toEqual([])
    expect(validate(dockerfile.replace("EXPOSE 8787", "EXPOSE port"))).toHaveLength(1)
  })

  it("has the Node of the project", () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    expect(/^ARG NODE=node:([\d.]+)-/m.exec(dockerfile)?.[1]).toBe(at(manifest, "devDependencies.node"))
  })
})
