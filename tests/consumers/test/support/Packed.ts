// The packages as they would be published, and the projects that install them, in a folder outside
// this repository: inside it they would find the packages' sources by looking upward.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root, succeed } from "./Command.ts"

/** The manifest's fields that are looked at. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly private?: boolean
  readonly homepage?: string
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string }
  readonly engines?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** A package that is published. */
export interface Package {
  /** Its folder's name, and that of its tarball. */
  readonly name: string
  readonly folder: string
  readonly manifest: Manifest
}

const isManifest = (value: unknown): value is Manifest =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"

export const parseManifest = (text: string): Manifest => {
  const value: unknown = JSON.parse(text)
  if (!isManifest(value)) throw new Error("a package.json without a name")
  return value
}

export const readManifest = (folder: string) => parseManifest(readFileSync(join(folder, "package.json"), "utf8"))

export const packages: ReadonlyArray<Package> = [
  ...readdirSync(join(root, "packages")).map((name) => ({ name, folder: join(root, "packages", name) })),
  { name: "gateway", folder: join(root, "apps/gateway") }
]
  .map((entry) => ({ ...entry, manifest: readManifest(entry.folder) }))
  .filter(({ manifest }) => manifest.private !== true)

export const projects = ["node", "promise", "ai-sdk", "page", "runtimes"] as const

export type Project = (typeof projects)[number]

/**
 * Packs every package, and installs the tarballs into copies of the projects; returns their folder.
 */
export const install = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-consumers-"))
  try {
    cpSync(join(root, "tests/consumers/projects"), folder, {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules") && !path.endsWith("dist")
    })
    mkdirSync(tarballs(folder))
    await Promise.all(
      packages.map(({ folder: cwd, name }) =>
        succeed("pnpm", ["pack", "--out", join(tarballs(folder), `${name}.tgz`)], { cwd })
      )
    )
    // This repository's lock file makes the versions those that everything else here is tested
    // with, down to the last dependency, and pnpm's store has them already.
    cpSync(join(root, "pnpm-lock.yaml"), join(folder, "pnpm-lock.yaml"))
    const store = (await succeed("pnpm", ["store", "path"], { cwd: root })).trim()
    await succeed(
      "pnpm",
      ["install", "--no-frozen-lockfile", "--prefer-offline", "--trust-lockfile", "--store-dir", store],
      { cwd: folder }
    )
    return folder
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

export const tarballs = (folder: string) => join(folder, "tarballs")

export const manifestOf = (folder: string, project: Project) => readManifest(join(folder, project))
