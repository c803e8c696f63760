// The libraries as they would be published, and the projects that install them, in a folder outside
// this repository: inside it they would find the packages' sources by looking upward.
import { root, succeed } from "@model-gateway/test-services/Command"
import { libraries, pack, readManifest } from "@model-gateway/test-services/Packages"
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const projects = ["node", "promise", "ai-sdk", "page", "runtimes"] as const

export type Project = (typeof projects)[number]

/**
 * Packs every library, and installs the tarballs into copies of the projects; returns their folder.
 */
export const install = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-consumers-"))
  try {
    cpSync(join(root, "tests/consumers/projects"), folder, {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules") && !path.endsWith("dist")
    })
    mkdirSync(tarballs(folder))
    await Promise.all(libraries.map((library) => pack(library, tarballs(folder))))
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
