/**
 * The packages that are published, and their tarballs, as a release makes them.
 *
 * Tests of `tests/operate` need not pack: their set-up packs the executable once for a run of
 * vitest, and `inject("gatewayTarball")` is its path. It contains all libraries but one with native
 * code, which npm fetches: {@link installGateway} installs it as an operator does, and says what to
 * start.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { root, succeed } from "./Command.ts"
import type { Executable } from "./GatewayProcess.ts"
import { npm } from "./Nodes.ts"

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
  readonly optionalDependencies?: Readonly<Record<string, string>>
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

const read = (name: string, folder: string): Package => ({ name, folder, manifest: readManifest(folder) })

/** The packages that programs import. */
export const libraries: ReadonlyArray<Package> = readdirSync(join(root, "packages"))
  .map((name) => read(name, join(root, "packages", name)))
  .filter(({ manifest }) => manifest.private !== true)

/** The package of the executable. */
export const gateway: Package = read("gateway", join(root, "apps/gateway"))

/** Packs a package into a folder, and returns the tarball's path. It must be built. */
export const pack = async ({ folder, name }: Package, to: string): Promise<string> => {
  const tarball = join(to, `${name}.tgz`)
  await succeed("pnpm", ["pack", "--out", tarball], { cwd: folder })
  return tarball
}

/** How {@link installGateway} installs. */
export interface InstallOptions {
  readonly tarball: string
  /** Where to install: the executable will be in `bin` of it. */
  readonly prefix: string
  /** The Node that runs npm and the executable. */
  readonly node: string
  /** An empty home, so that nothing of this machine's is used. */
  readonly home: string
  readonly arguments?: ReadonlyArray<string>
}

/** `npm install --global`, as an operator does it. */
export const installGateway = async (options: InstallOptions): Promise<Executable> => {
  const { home, node, prefix, tarball } = options
  const args = ["install", "--global", "--prefix", prefix, ...(options.arguments ?? []), tarball]
  await npm(node, args, { cwd: dirname(tarball), home })
  return { main: join(prefix, "bin/model-gateway"), node }
}
